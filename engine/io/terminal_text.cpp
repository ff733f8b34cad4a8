// SPDX-License-Identifier: Apache-2.0
#include "io/terminal_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace kvscope {
namespace {

/// Bytes of the character that text begins with; 0: it is no UTF-8. Sets its number.
std::size_t character_of(std::string_view text, std::uint32_t& number) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t n = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (n == 0 || text.size() < n) return 0;
  number = n == 1 ? first : first & (0x7fu >> n);
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    number = number << 6 | (byte(i) & 0x3f);
  }
  const bool shorter = (n == 3 && number < 0x800) || (n == 4 && number < 0x10000);
  return shorter || number > 0x10ffff || (number >= 0xd800 && number < 0xe000) ? 0 : n;
}

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t number = 0;
    const std::size_t n = character_of(text, number);
    const bool control = (number < 0x20 && number != '\n' && number != '\t') || (number >= 0x7f && number < 0xa0);
    // Marks of direction show a text in another order than it has.
    const bool turns = (number >= 0x202a && number <= 0x202e) || (number >= 0x2066 && number <= 0x2069);
    if (n > 0 && !control && !turns) {
      out += text.substr(0, n);
    } else {
      for (const char c : text.substr(0, n == 0 ? 1 : n))
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace kvscope
