// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/format.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace kvscope::viz {
namespace {

constexpr char32_t kBroken = 0xFFFD;

// Characters that draw nothing or turn the text around: shown by their number, so that no text can hide or scramble what stands beside it.
bool is_invisible(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x61C || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFC) || (c >= 0xE0000 && c <= 0xE007F);
}

void append_visible(std::string& out, char32_t c) {
  if (c == '\n') {
    out += "↵";
  } else if (c == '\t') {
    out += "⇥";
  } else if (is_invisible(c)) {
    out += fmt::format("⟨U+{:04X}⟩", static_cast<unsigned>(c));
  } else {
    utf8_append(out, c);
  }
}

// Length of the UTF-8 sequence at `at`, 0 if there is none.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  const std::size_t n = lead < 0x80                   ? 1
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (n == 0 || at + n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  if (n == 3 && ((lead == 0xE0 && byte(at + 1) < 0xA0) || (lead == 0xED && byte(at + 1) > 0x9F))) return 0;  // overlong, surrogate
  if (n == 4 && ((lead == 0xF0 && byte(at + 1) < 0x90) || (lead == 0xF4 && byte(at + 1) > 0x8F))) return 0;
  return n;
}

std::string visible(std::string_view bytes) {
  std::string out;
  bool leading = true;
  for (std::size_t at = 0; at < bytes.size();) {
    if (sequence_length(bytes, at) == 0) {
      out += fmt::format("⟨{:02X}⟩", static_cast<unsigned char>(bytes[at]));
      ++at;
      leading = false;
      continue;
    }
    const char32_t c = utf8_next(bytes, at);
    if (c == ' ' && leading) {
      out += "·";
    } else {
      leading = false;
      append_visible(out, c);
    }
  }
  return out;
}

}  // namespace

std::string format_plain(double v) { return std::isfinite(v) ? fmt::format("{}", v) : std::string(kNotAvailableText); }

std::string head_name(int layer, int kv_head) { return kv_head < 0 ? fmt::format("L{}", layer) : fmt::format("L{} · H{}", layer, kv_head); }

std::string place_name(int layer, int kv_head, int token) { return fmt::format("L{} · H{} · token {}", layer, kv_head, token); }

std::string nats_for_people(double kl) { return kl < kSameNats ? "less than 0.001" : format_number(kl); }

std::string token_text(const TokenInfo& token) {
  if (token.special || token.bytes.empty()) {
    std::string_view piece = token.piece;
    if (piece.size() > 2 && piece.front() == '<' && piece.back() == '>') piece = piece.substr(1, piece.size() - 2);
    return piece.empty() ? fmt::format("⟨{}⟩", token.id) : "⟨" + visible(piece) + "⟩";
  }
  return visible(token.bytes);
}

std::string token_text(std::span<const TokenInfo> tokens, int pos) {
  if (pos < 0 || pos >= static_cast<int>(tokens.size())) return fmt::format("token {}", pos);
  return token_text(tokens[static_cast<std::size_t>(pos)]);
}

std::string token_range_text(std::span<const TokenInfo> tokens, int first, int last, int max_chars) {
  first = std::max(first, 0);
  last = std::min(last, static_cast<int>(tokens.size()) - 1);
  std::string out, pending;  // pending: bytes of ordinary tokens, joined before they are decoded
  const auto flush = [&] {
    out += visible(pending);
    pending.clear();
  };
  for (int t = first; t <= last; ++t) {
    const TokenInfo& token = tokens[static_cast<std::size_t>(t)];
    if (token.special || token.bytes.empty()) {
      flush();
      out += token_text(token);
    } else {
      pending += token.bytes;
    }
    if (utf8_length(out) + utf8_length(pending) > static_cast<std::size_t>(max_chars) + 8) break;
  }
  flush();
  if (utf8_length(out) <= static_cast<std::size_t>(max_chars)) return out;
  std::size_t at = 0;
  for (int i = 0; i < max_chars; ++i) utf8_next(out, at);
  return out.substr(0, at) + "…";
}

std::string quoted(std::string_view text) { return "«" + std::string(text) + "»"; }

std::size_t utf8_length(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t at = 0; at < text.size(); ++n) utf8_next(text, at);
  return n;
}

char32_t utf8_next(std::string_view text, std::size_t& at) {
  const std::size_t n = sequence_length(text, at);
  if (n == 0) {
    ++at;
    return kBroken;
  }
  const auto lead = static_cast<unsigned char>(text[at]);
  char32_t c = n == 1 ? lead : lead & (0xFFu >> (n + 1));
  for (std::size_t i = 1; i < n; ++i) c = c << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
  at += n;
  return c;
}

void utf8_append(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

}  // namespace kvscope::viz
