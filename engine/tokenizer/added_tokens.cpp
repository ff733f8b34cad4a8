// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens.h"

#include <algorithm>

namespace kvscope {
namespace {

std::size_t begin_of_last_character(std::string_view text, std::size_t end) {
  do --end;
  while (end > 0 && (text[end] & 0xc0) == 0x80);
  return end;
}

bool stands_alone(std::string_view text, Span span) {
  if (span.begin > 0) {
    std::size_t at = begin_of_last_character(text, span.begin);
    if (is_word(next_character(text, at))) return false;
  }
  std::size_t at = span.end;
  return at == text.size() || !is_word(next_character(text, at));
}

/// The span with the white space before and after it, as the token wants.
Span stretched(std::string_view text, Span span, const AddedToken& token, std::size_t from) {
  while (token.lstrip && span.begin > from) {
    const std::size_t begin = begin_of_last_character(text, span.begin);
    std::size_t at = begin;
    if (!is_white_space(next_character(text, at))) break;
    span.begin = begin;
  }
  while (token.rstrip && span.end < text.size()) {
    std::size_t at = span.end;
    if (!is_white_space(next_character(text, at))) break;
    span.end = at;
  }
  return span;
}

}  // namespace

// Sorted names take the memory of the names; a tree of their bytes takes forty times as much, which a file of 27 MB made 1.1 GB.
AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens, const std::vector<std::string>& names) : tokens_(tokens) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    names_.push_back({names[i], static_cast<int>(i)});
    starts_[static_cast<unsigned char>(names[i][0])] = true;
  }
  std::ranges::stable_sort(names_, {}, &Name::text);  // of two tokens of one name the first one is found
  names_.erase(std::unique(names_.begin(), names_.end(), [](const Name& a, const Name& b) { return a.text == b.text; }), names_.end());
}

int AddedTokenFinder::longest_at(std::string_view text, std::size_t at, std::size_t& end) const {
  int longest = -1;
  auto first = names_.begin(), last = names_.end();  // those that begin like the text
  for (std::size_t n = 0; first != last; ++n) {
    if (first->text.size() == n) {  // the shortest of them comes first
      longest = first->token;
      end = at + n;
      ++first;
    }
    if (at + n == text.size()) break;
    const auto byte = [n](const Name& name) { return static_cast<unsigned char>(name.text[n]); };
    const auto wanted = static_cast<unsigned char>(text[at + n]);
    first = std::ranges::lower_bound(first, last, wanted, {}, byte), last = std::ranges::upper_bound(first, last, wanted, {}, byte);
  }
  return longest;
}

std::vector<Stretch> AddedTokenFinder::find(std::string_view text, const std::function<bool(Span)>& is_text) const {
  std::vector<Stretch> out;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    const int index = starts_[static_cast<unsigned char>(text[at])] ? longest_at(text, at, end) : -1;
    if (index < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
    const Span found{at, end};
    at = end;  // what is found and not wanted is passed over whole, with all names inside it
    if ((token.special && is_text(found)) || (token.single_word && !stands_alone(text, found))) continue;
    const Span span = stretched(text, found, token, done);
    if (span.begin < done) out.back().span.end = span.begin;  // white space that the token before has taken is found all the same
    if (done < span.begin) out.push_back({{done, span.begin}});
    out.push_back({span, index});
    done = span.end;
  }
  if (done < text.size()) out.push_back({{done, text.size()}});
  return out;
}

}  // namespace kvscope
