// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvscope {

/// One word of a shell, whatever stands in it.
inline std::string quoted_for_shell(std::string_view word) {
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + '\'';
}

/// Words as a shell reads them again: those that hold more than letters, digits and a few signs in single quotes.
inline std::string shell_line(std::span<const std::string> words) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += word.empty() || word.find_first_not_of(kPlain) != std::string::npos ? quoted_for_shell(word) : word;
  }
  return out;
}

}  // namespace kvscope
