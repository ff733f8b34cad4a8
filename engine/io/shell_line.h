// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvscope {

/// Words as a shell reads them again: those that hold more than letters, digits and a few signs in single quotes.
inline std::string shell_line(std::span<const std::string> words) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word)
      if (c == '\'')
        out += "'\\''";
      else
        out += c;
    out += '\'';
  }
  return out;
}

}  // namespace kvscope
