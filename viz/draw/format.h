// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "snapshot/number_text.h"
#include "snapshot/snapshot.h"

namespace kvscope::viz {

// Numbers as people read them (viz/README.md section 4 "Numbers"): of the command line as of the window.
using kvscope::count_of;
using kvscope::format_attention;
using kvscope::format_bytes;
using kvscope::format_change;
using kvscope::format_count;
using kvscope::format_delta;
using kvscope::format_mean;
using kvscope::format_ms;
using kvscope::format_number;
using kvscope::format_percent;
using kvscope::format_probability;
using kvscope::format_probability_short;
using kvscope::kMinus;
using kvscope::kNotAvailableText;

/// Below it two distributions are the same for an audience, nats.
inline constexpr double kSameNats = 0.001;
/// A distance for people who have not met nats: what is too small to matter is not spelled out in powers of ten.
std::string nats_for_people(double kl);

/// For files: as many digits as the number needs to be read back exactly, a point, no unit; "n/a".
std::string format_plain(double v);

/// "L2 · H5"; "L2" of a whole layer, kv_head < 0.
std::string head_name(int layer, int kv_head);
/// "L2 · H5 · token 417"
std::string place_name(int layer, int kv_head, int token);

/// What stands for a token on screen: leading spaces as ·, newline ↵, tab ⇥, bytes that are no whole character ⟨E4⟩, control and direction
/// marks ⟨U+202E⟩, a special token its piece in ⟨⟩ (draw it as a pill). Never empty.
std::string token_text(const TokenInfo& token);
/// token_text of the token at `pos` of what a run has read (tokens_of); "token 417" where it has none there.
std::string token_text(std::span<const TokenInfo> tokens, int pos);
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
