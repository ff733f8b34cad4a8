// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <algorithm>

namespace kvscope {

std::vector<int> ids_of(std::span<const TextToken> tokens) {
  std::vector<int> ids(tokens.size());
  std::ranges::transform(tokens, ids.begin(), &TextToken::id);
  return ids;
}

std::vector<int> Tokenizer::encode(std::string_view text, SpecialNames names) const { return ids_of(tokens_of(text, names)); }

std::string Tokenizer::decode(const std::vector<int>& ids, SpecialNames names) const {
  std::string text;
  for (const int id : ids) text += names == SpecialNames::tokens && is_special(id) ? piece(id) : bytes_of(id);
  if (adds_leading_space() && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::vector<TextToken> Tokenizer::places_of(std::span<const int> ids, std::size_t n_bytes) const {
  std::vector<TextToken> out;
  std::size_t at = 0;
  bool first = true;
  for (const int id : ids) {
    const std::string bytes = bytes_of(id);
    const bool own_space = first && adds_leading_space() && bytes.starts_with(' ');
    first = first && bytes.empty();  // control tokens before the text
    const std::size_t end = std::min(at + bytes.size() - (own_space ? 1 : 0), n_bytes);
    out.push_back({id, at, end});
    at = end;
  }
  return out;
}

std::vector<TextToken> Tokenizer::tokens_up_to(std::string_view text, std::size_t most, SpecialNames names, bool* whole,
                                               std::span<const TextRange> typed) const {
  if (whole) *whole = false;
  constexpr std::size_t kBytesPerToken = 16, kAtCut = 64;  // ids that may come out differently where a beginning ends
  for (std::size_t bytes = std::max<std::size_t>(4096, kBytesPerToken * most); bytes < text.size(); bytes *= 2) {
    std::size_t end = bytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80 && bytes - end < 4) --end;  // no half characters
    std::vector<TextToken> tokens = tokens_of(text.substr(0, end), names, typed);
    if (tokens.size() > most + kAtCut) return tokens;
  }
  if (whole) *whole = true;
  return tokens_of(text, names, typed);
}

}  // namespace kvscope
