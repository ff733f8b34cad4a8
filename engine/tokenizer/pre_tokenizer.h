// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tokenizer/normalizer.h"

namespace kvscope {

/// A text cut into words, inside which tokens are joined.
struct Words {
  MappedText text;
  std::vector<Span> spans;
  bool letters = false;  // the text is written in letters of bytes
};

/// The steps of a tokenizer's pre-tokenizer, made ready.
class PreTokenizerChain {
 public:
  /// Throws Error: a regular expression, or two byte-level steps.
  PreTokenizerChain(const std::vector<PreTokenizer>& steps, const std::string& where);

  /// `at_start`: nothing of the whole text stands before this part.
  Words apply(MappedText text, bool at_start) const;
  bool byte_level() const { return byte_level_; }

 private:
  std::vector<std::function<void(Words&, bool)>> steps_;
  bool byte_level_ = false;
};

}  // namespace kvscope
