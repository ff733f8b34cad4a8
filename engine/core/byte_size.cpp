// SPDX-License-Identifier: Apache-2.0
#include "core/byte_size.h"

#include <charconv>
#include <cmath>

#include <fmt/core.h>

namespace kvscope {

namespace {

constexpr std::string_view kUnits = "BKMGT";

}  // namespace

std::string size_text(double bytes) {
  std::size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{:.{}f} {}iB", bytes, bytes < 9.95 ? 1 : 0, kUnits[unit]);
}

std::optional<std::size_t> parse_size(std::string_view text) {
  std::size_t whole = 0;  // digits and a point: no sign, no exponent, and no reading of doubles that a library may lack
  while (whole < text.size() && (text[whole] == '.' || (text[whole] >= '0' && text[whole] <= '9'))) ++whole;
  if (whole == 0 || whole > 18) return std::nullopt;
  double bytes = 0, place = 0;
  for (const char c : text.substr(0, whole)) {
    if (c == '.') {
      if (place > 0) return std::nullopt;
      place = 1;
      continue;
    }
    if (place > 0) place /= 10;
    bytes = place > 0 ? bytes + place * (c - '0') : 10 * bytes + (c - '0');
  }
  std::string_view unit = text.substr(whole);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (!unit.empty()) {
    const char letter = unit.front() >= 'a' ? static_cast<char>(unit.front() - 'a' + 'A') : unit.front();
    const std::size_t power = kUnits.find(letter);
    if (power == std::string_view::npos) return std::nullopt;
    const std::string_view rest = unit.substr(1);
    if (!rest.empty() && (power == 0 || (rest != "iB" && rest != "B" && rest != "ib" && rest != "b"))) return std::nullopt;
    bytes *= std::pow(1024.0, static_cast<double>(power));
  }
  if (bytes < 1 || bytes > 9e18) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

}  // namespace kvscope
