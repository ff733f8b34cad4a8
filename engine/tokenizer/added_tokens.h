// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>

#include "tokenizer/parts.h"

namespace kvscope {

/// A stretch of a text: a token found by its name (index into the list), or -1.
struct Stretch {
  Span span;
  int token = -1;
};

/// Finds tokens by their names: leftmost, of those the longest.
class AddedTokenFinder {
 public:
  /// `names`: what is looked for, one for each token. Keeps a reference to the tokens. An empty name is never found.
  AddedTokenFinder(const std::vector<AddedToken>& tokens, const std::vector<std::string>& names);

  /// Covers the text. Special tokens stay text where `is_text` says so of the name's place.
  std::vector<Stretch> find(std::string_view text, const std::function<bool(Span)>& is_text) const;

 private:
  struct Name {
    std::string text;
    int token;
  };

  int longest_at(std::string_view text, std::size_t at, std::size_t& end) const;

  const std::vector<AddedToken>& tokens_;
  std::vector<Name> names_;  // by their bytes, each once
  std::array<bool, 256> starts_{};
};

}  // namespace kvscope
