// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace kvscope {

/// A name out of a file, for a message: in single quotes, control bytes as '?', at most 120 bytes.
inline std::string quote_name(std::string_view name) {
  constexpr std::size_t longest = 120;
  std::string out = "'";
  for (const char c : name.substr(0, longest)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (name.size() > longest) {
    while (out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();  // no half characters
    if (static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
    out += "...";
  }
  return out + "'";
}

}  // namespace kvscope
