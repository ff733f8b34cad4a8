// SPDX-License-Identifier: Apache-2.0
#include "snapshot/number_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/from_chars.h"

namespace kvscope {

namespace {

constexpr double kNearZero = 1e-9;  // below it a figure is noise of rounding
constexpr std::string_view kThinSpace = "\u2009";

std::string signed_text(std::string digits, bool negative) { return negative ? std::string(kMinus) + digits : digits; }

std::string grouped(std::string digits) {
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, kThinSpace);
  }
  return digits;
}

// With an exponent: 0.000457 -> "4.57e−4".
std::string tiny(double v, int digits) {
  const std::string text = fmt::format("{:.{}e}", v, digits - 1);
  const std::size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  return fmt::format("{}e{}{}", text.substr(0, e), exponent < 0 ? kMinus : std::string_view(), std::abs(exponent));
}

}  // namespace

std::string format_count(std::int64_t n) {
  const bool negative = n < 0;
  const std::string digits = fmt::format("{}", negative ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n));
  return signed_text(grouped(digits), negative);
}

std::string count_of(std::int64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", format_count(n), n == 1 ? one : many);
}

std::string format_number(double v, int digits) {
  if (v != 0 && std::abs(v) < kNearZero) return v < 0 ? ">−1e−9" : "<1e−9";
  return format_precise(v, digits);
}

std::string format_precise(double v, int digits) {
  if (std::isnan(v)) return std::string(kNotAvailableText);
  if (std::isinf(v)) return signed_text("∞", v < 0);
  if (v == 0) return "0";
  const bool negative = v < 0;
  // Rounded first: 9.996 has one digit before the point and 10.0 two.
  const std::string rounded = fmt::format("{:.{}e}", std::abs(v), digits - 1);
  const std::size_t e = rounded.find('e');
  const int exponent = std::stoi(rounded.substr(e + 1));
  if (exponent < -4 || exponent > 11) {
    const std::string power = fmt::format("{}", std::abs(exponent));
    return signed_text(rounded.substr(0, e) + "e" + (exponent < 0 ? std::string(kMinus) : std::string()) + power, negative);
  }
  if (exponent >= digits - 1) return signed_text(grouped(fmt::format("{:.0f}", std::abs(v))), negative);
  return signed_text(fmt::format("{:.{}f}", std::abs(v), digits - 1 - exponent), negative);
}

std::string format_percent(double fraction) {
  if (std::isnan(fraction)) return std::string(kNotAvailableText);
  if (std::isinf(fraction)) return signed_text("∞ %", fraction < 0);
  if (fraction == 0) return "0 %";
  if (fraction == 1) return "100 %";
  const double size = std::abs(fraction);
  if (size < 0.001) return signed_text("<0.1 %", fraction < 0);
  if (size < 1 && size > 0.999) return signed_text(">99.9 %", fraction < 0);
  return signed_text(fmt::format("{:.1f} %", 100 * size), fraction < 0);
}

std::string format_attention(double fraction) {
  if (!(fraction > 0 && fraction < 0.01)) return format_percent(fraction);
  return fraction < 1e-6 ? "<0.0001 %" : format_number(100 * fraction) + " %";
}

std::string format_probability(double p) {
  if (std::isnan(p)) return std::string(kNotAvailableText);
  if (p == 0) return "0";
  if (p == 1) return "1";
  if (p < 0.0005) return "<.001";
  if (p > 0.9995) return ">.999";
  return fmt::format("{:.3f}", p);
}

std::string format_probability_short(double p) {
  if (std::isnan(p)) return std::string(kNotAvailableText);
  if (p == 0) return "0";
  if (p == 1) return "1";
  if (p >= 0.995) return ">.99";
  if (p < 0.005) return "<.01";
  return fmt::format("{:.2f}", p).substr(1);
}

std::string format_delta(double v, int decimals) {
  if (std::isnan(v)) return std::string(kNotAvailableText);
  const std::string size = std::isinf(v) ? std::string("∞") : fmt::format("{:.{}f}", std::abs(v), decimals);
  if (v == 0) return "0";
  if (size.find_first_not_of("0.") == std::string::npos) return (v < 0 ? std::string(kMinus) : std::string("+")) + tiny(std::abs(v), 1);
  return (v < 0 ? std::string(kMinus) : std::string("+")) + size;
}

std::string format_change(double v) {
  if (std::isnan(v) || v == 0) return format_number(v);
  return (v < 0 ? std::string(kMinus) : std::string("+")) + format_number(std::abs(v));
}

std::string format_mean(double v) {
  if (std::isnan(v)) return std::string(kNotAvailableText);
  const double whole = std::round(v);
  if (std::abs(v - whole) < 0.05) return format_count(static_cast<std::int64_t>(whole));
  return v < 0 ? signed_text(fmt::format("{:.1f}", -v), true) : fmt::format("{:.1f}", v);
}

std::string format_bytes(double bytes) {
  if (std::isnan(bytes)) return std::string(kNotAvailableText);
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  double v = bytes / 1024;
  int unit = 0;
  while (v >= 1023.95 && unit < 3) {
    v /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", v, v < 999.95 ? 1 : 0, kUnits[unit]);
}

std::string format_ms(double ms) {
  if (std::isnan(ms)) return std::string(kNotAvailableText);
  if (ms == 0) return "0 ms";
  if (ms < 0.9995) return format_number(1000 * ms) + " µs";
  if (ms < 999.5) return format_number(ms) + " ms";
  return format_number(ms / 1000) + " s";
}

namespace {

struct Written {
  std::string plain;  // in letters that programs read
  double value;       // without unit; of "<0.1" 0.1
  double factor;      // of its unit
};

/// nullopt: none of the functions above wrote it.
std::optional<Written> read_written(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},          {" %", 0.01},     {" B", 1},        {" KiB", 0x1p10},
                                                            {" MiB", 0x1p20}, {" GiB", 0x1p30}, {" TiB", 0x1p40}, {" µs", 1e-6},
                                                            {" ms", 1e-3},    {" s", 1},        {" nats", 1}};
  std::string plain = text;
  const auto replace = [&plain](std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = plain.find(what, at)) != std::string::npos; at += by.size()) plain.replace(at, what.size(), by);
  };
  replace(kMinus, "-");
  replace(kThinSpace, "");
  replace("∞", "inf");
  std::size_t begin = 0;
  for (const std::string_view before : {"<>", "+"})
    if (begin < plain.size() && before.find(plain[begin]) != std::string_view::npos) ++begin;
  double value = 0;
  const auto [stop, error] = from_chars(plain.data() + begin, plain.data() + plain.size(), value);
  if (error != std::errc() || std::isnan(value)) return std::nullopt;
  const auto unit = std::ranges::find(kUnits, std::string_view(plain).substr(static_cast<std::size_t>(stop - plain.data())),
                                      &std::pair<std::string_view, double>::first);
  if (unit == std::end(kUnits)) return std::nullopt;
  return Written{std::move(plain), value, unit->second};
}

}  // namespace

std::string plain_number(std::string text) {
  std::optional<Written> written = read_written(text);
  return written ? std::move(written->plain) : text;
}

std::optional<double> number_of(const std::string& text) {
  const std::optional<Written> written = read_written(text);
  return written ? std::optional(written->value * written->factor) : std::nullopt;
}

}  // namespace kvscope
