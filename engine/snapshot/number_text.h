// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvscope {

// How a number is written for people, on the command line as in the window: thin-space thousands, a true minus, "n/a" for what is not a
// number. One figure, one function: KL, nll and errors format_number, shares format_percent, attention on a token format_attention, p
// format_probability, bytes format_bytes, mean slots format_mean.

inline constexpr std::string_view kMinus = "\u2212";
inline constexpr std::string_view kNotAvailableText = "n/a";

/// 33554432 -> "33 554 432", 4056 -> "4 056", with thin spaces.
std::string format_count(std::int64_t n);
/// "1 token", "2 tokens"
std::string count_of(std::int64_t n, std::string_view one, std::string_view many);
/// Three significant digits by default, trailing zeros kept: 24 -> "24.0", 729.4 -> "729", 0.00144, 12345.6 -> "12 346", 1e-7 -> "1.00e−7".
/// 0 -> "0"; infinity -> "∞".
std::string format_number(double v, int digits = 3);
/// The same for tables that programs may read: however small, it is a number. 4e-13 -> "4.00000e−13".
std::string format_precise(double v, int digits = 6);
/// Of a fraction: 0.251 -> "25.1 %", 0.0003 -> "<0.1 %", 0.9997 -> ">99.9 %", 0 -> "0 %", 1 -> "100 %", 1.135 -> "113.5 %".
std::string format_percent(double fraction);
/// Of the attention on one token, which may be far below a percent: as format_percent, below 1 % three significant digits:
/// 0.974 -> "97.4 %", 0.000123 -> "0.0123 %", 2e-8 -> "<0.0001 %".
std::string format_attention(double fraction);
/// Three decimals: 0.0336 -> "0.034", 0.00004 -> "<.001", 0.99996 -> ">.999", 0 -> "0", 1 -> "1".
std::string format_probability(double p);
/// Two characters and a point for narrow cells: 0.94 -> ".94", 0.996 -> ">.99", 0.001 -> "<.01", 0 -> "0", 1 -> "1".
std::string format_probability_short(double p);
/// With sign: "+0.622", "−0.965"; 0 -> "0". `decimals` after the point; what they cannot show: "−4e−5".
std::string format_delta(double v, int decimals = 3);
/// With sign, three significant digits: "+0.622", "−0.000457"; 0 -> "0".
std::string format_change(double v);
/// Mean of whole numbers: "42" where it is whole, else one decimal "42.3".
std::string format_mean(double v);
/// "512 B", "252.0 KiB", "1014.0 KiB", "24.0 MiB".
std::string format_bytes(double bytes);
/// Of milliseconds, three significant digits: "850 µs", "12.3 ms", "1.79 s".
std::string format_ms(double ms);

/// What one of the above wrote, for a program to read: "−4.95e−5" -> "-4.95e-5", "12 346" -> "12346", "∞" -> "inf"; units stay. Any other
/// text as it is.
std::string plain_number(std::string text);
/// Its value in bytes, seconds, or a fraction where it has a unit; of "<0.1 %" 0.001. nullopt: any other text, "n/a" too.
std::optional<double> number_of(const std::string& text);

}  // namespace kvscope
