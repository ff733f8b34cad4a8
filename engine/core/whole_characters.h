// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvscope {

/// The longest beginning of a UTF-8 text of at most `most` bytes that ends between characters.
constexpr std::string_view whole_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

/// The same, with dots where something is missing.
inline std::string shortened(std::string_view text, std::size_t most) {
  return std::string(whole_characters(text, most)) + (text.size() > most ? "…" : "");
}

}  // namespace kvscope
