// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

struct Span {
  std::size_t begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};

/// A text that was changed on its way to the tokens, and where each of its bytes was before.
struct MappedText {
  std::string text;
  std::size_t base = 0;               // place of the first byte where `origin` is empty: nothing was changed
  std::vector<std::uint32_t> origin;  // place of the boundary before each byte and after the last

  std::size_t place(std::size_t byte) const { return origin.empty() ? base + byte : origin[byte]; }
  MappedText part(Span span) const;
};

/// Builds a changed copy of a text piece by piece.
class Rewriter {
 public:
  explicit Rewriter(const MappedText& source) : source_(source) {}
  void keep(Span span);
  /// `text` instead of the span; a boundary inside it counts as the end of the span.
  void put(std::string_view text, Span instead_of);
  MappedText finish();

 private:
  const MappedText& source_;
  MappedText out_;
};

/// Code point at text[at] of valid UTF-8; `at` moves behind it.
char32_t next_character(std::string_view text, std::size_t& at);
std::size_t character_bytes(char first);  // of the character that starts with this byte
void append_character(std::string& text, char32_t c);

/// The text with U+FFFD for every byte run that is no UTF-8 (as many as other programs write).
MappedText valid_utf8(std::string_view text);

}  // namespace kvscope
