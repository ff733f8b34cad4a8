// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/mapped_text.h"

#include <utility>

#include "core/error.h"

namespace kvscope {
namespace {

/// Bytes of the valid character at text[at], or minus the bytes of the broken one.
int valid_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const int length = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  if (length == 0) return -1;
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80, high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return -1;
  for (int i = 2; i < length; ++i)
    if ((byte(static_cast<std::size_t>(i)) & 0xc0) != 0x80) return -i;
  return length;
}

}  // namespace

MappedText MappedText::part(Span span) const {
  MappedText out{.text = text.substr(span.begin, span.end - span.begin), .base = base + span.begin, .origin = {}};
  if (!origin.empty()) {
    out.origin.assign(origin.begin() + static_cast<std::ptrdiff_t>(span.begin), origin.begin() + static_cast<std::ptrdiff_t>(span.end) + 1);
  }
  return out;
}

void Rewriter::keep(Span span) {
  out_.text.append(source_.text, span.begin, span.end - span.begin);
  for (std::size_t i = span.begin; i < span.end; ++i) out_.origin.push_back(static_cast<std::uint32_t>(source_.place(i)));
}

void Rewriter::put(std::string_view text, Span instead_of) {
  constexpr std::size_t kMostTimes = 64, kAtLeast = 64 << 10;  // steps out of a file may let a text grow without end
  if (out_.text.size() + text.size() > kMostTimes * source_.text.size() + kAtLeast)
    throw Error("the tokenizer's steps make the text more than 64 times as long; its file is damaged");
  out_.text += text;
  for (std::size_t i = 0; i < text.size(); ++i)
    out_.origin.push_back(static_cast<std::uint32_t>(source_.place(i == 0 ? instead_of.begin : instead_of.end)));
}

MappedText Rewriter::finish() {
  out_.origin.push_back(static_cast<std::uint32_t>(source_.place(source_.text.size())));
  return std::move(out_);
}

std::size_t character_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const std::size_t more = character_bytes(static_cast<char>(first)) - 1;
  char32_t c = first & (0x3fu >> more);
  for (std::size_t i = 0; i < more && at < text.size(); ++i) c = c << 6 | (static_cast<unsigned char>(text[at++]) & 0x3f);
  return c;
}

void append_character(std::string& text, char32_t c) {
  const auto put = [&text](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
    }
    put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

MappedText valid_utf8(std::string_view text) {
  MappedText whole{.text = std::string(text), .base = 0, .origin = {}};
  std::size_t at = 0;
  int length = 1;
  for (; at < text.size(); at += static_cast<std::size_t>(length)) {
    length = valid_bytes(text, at);
    if (length < 0) break;
  }
  if (at >= text.size()) return whole;
  Rewriter out(whole);
  std::size_t good = 0;
  for (at = 0; at < text.size();) {
    length = valid_bytes(text, at);
    const std::size_t next = at + static_cast<std::size_t>(length < 0 ? -length : length);
    if (length < 0) {
      out.keep({good, at});
      out.put("\xef\xbf\xbd", {at, next});
      good = next;
    }
    at = next;
  }
  out.keep({good, text.size()});
  return out.finish();
}

}  // namespace kvscope
