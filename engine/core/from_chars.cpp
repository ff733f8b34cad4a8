// SPDX-License-Identifier: Apache-2.0
#include "core/from_chars.h"

#include <locale.h>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

namespace kvscope {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The end of the digits from `at` on.
const char* digits(const char* at, const char* last) {
  while (at != last && is_digit(*at)) ++at;
  return at;
}

/// Whether the text begins with the word, in lower or upper case.
bool begins_with(const char* at, const char* last, std::string_view word) {
  if (static_cast<std::size_t>(last - at) < word.size()) return false;
  for (const char c : word)
    if ((*at++ | 0x20) != c) return false;
  return true;
}

/// The end of digits with a point and an exponent; `at` where there are no digits.
const char* decimal(const char* at, const char* last) {
  const char* end = digits(at, last);
  auto n = end - at;
  if (end != last && *end == '.') {
    const char* const fraction = end + 1;
    end = digits(fraction, last);
    n += end - fraction;
  }
  if (n == 0) return at;
  if (end != last && (*end == 'e' || *end == 'E')) {
    const char* exponent = end + 1;
    if (exponent != last && (*exponent == '+' || *exponent == '-')) ++exponent;
    if (exponent != last && is_digit(*exponent)) end = digits(exponent, last);
  }
  return end;
}

}  // namespace

std::from_chars_result read_double(const char* first, const char* last, double& value) {
  const bool is_negative = first != last && *first == '-';
  const char* const start = first + is_negative;
  const double sign = is_negative ? -1 : 1;
  for (const std::string_view word : {"infinity", "inf", "nan"}) {
    if (!begins_with(start, last, word)) continue;
    value = std::copysign(word == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity(), sign);
    return {start + word.size(), std::errc()};
  }
  const char* const end = decimal(start, last);
  if (end == start) return {first, std::errc::invalid_argument};
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);  // a point is a point, whatever the user's language
  const std::string text(first, end);
  const double read = strtod_l(text.c_str(), nullptr, plain);
  const std::string_view mantissa = std::string_view(text).substr(0, text.find_first_of("eE"));
  const bool is_lost = std::isinf(read) || (read == 0 && mantissa.find_first_of("123456789") != std::string_view::npos);
  if (is_lost) return {end, std::errc::result_out_of_range};
  value = read;
  return {end, std::errc()};
}

}  // namespace kvscope
