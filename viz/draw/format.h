// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

// Numbers as people read them (viz/README.md section 4 "Numbers"): thin-space thousands, a true minus, "n/a" for what is not a number.

inline constexpr std::string_view kThinSpace = "\u2009";
inline constexpr std::string_view kMinus = "\u2212";
inline constexpr std::string_view kNotAvailableText = "n/a";

/// 33554432 -> "33 554 432", 4056 -> "4 056", with thin spaces.
std::string format_count(std::int64_t n);
/// "1 token", "2 tokens"
std::string count_of(int n, std::string_view one, std::string_view many);
/// Three significant digits by default, trailing zeros kept: 24 -> "24.0", 729.4 -> "729", 0.00144, 12345.6 -> "12 346", 1e-7 -> "1.00e−7".
/// 0 -> "0"; infinity -> "∞".
std::string format_number(double v, int digits = 3);
/// Below it two distributions are the same for an audience, nats.
inline constexpr double kSameNats = 0.001;
/// A distance for people who have not met nats: what is too small to matter is not spelled out in powers of ten.
std::string nats_for_people(double kl);
/// Of a fraction: 0.251 -> "25.1 %", 0.0003 -> "<0.1 %", 0.9997 -> ">99.9 %", 0 -> "0 %", 1 -> "100 %", 1.135 -> "113.5 %".
std::string format_percent(double fraction);
/// Three decimals: 0.0336 -> "0.034", 0.00004 -> "<.001", 0.99996 -> ">.999", 0 -> "0", 1 -> "1".
std::string format_probability(double p);
/// Two characters and a point for narrow cells: 0.94 -> ".94", 0.996 -> "1", 0.001 -> "<.01", 0 -> "0".
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

/// For files: as many digits as the number needs to be read back exactly, a point, no unit; "n/a".
std::string format_plain(double v);

/// "L2 · H5"
std::string head_name(int layer, int kv_head);
/// "L2 · H5 · token 417"
std::string place_name(int layer, int kv_head, int token);

/// What stands for a token on screen: leading spaces as ·, newline ↵, tab ⇥, bytes that are no whole character ⟨E4⟩, control and direction
/// marks ⟨U+202E⟩, a special token its piece in ⟨⟩ (draw it as a pill). Never empty.
std::string token_text(const TokenInfo& token);
/// token_text of the token at `pos`; "token 417" where the snapshot has no text for it.
std::string token_text(const Snapshot& snapshot, int pos);
/// Tokens [first, last] as one text: pieces of one character are joined; at most `max_chars` characters, then "…".
std::string token_range_text(std::span<const TokenInfo> tokens, int first, int last, int max_chars = 60);
/// "«·be»"
std::string quoted(std::string_view text);

/// Characters (code points) of UTF-8; a broken byte counts as one.
std::size_t utf8_length(std::string_view text);
/// Code point at `at`, which moves past it; a broken byte gives U+FFFD and moves by one.
char32_t utf8_next(std::string_view text, std::size_t& at);
void utf8_append(std::string& out, char32_t c);

}  // namespace kvscope::viz
