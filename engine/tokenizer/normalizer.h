// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "tokenizer/parts.h"

namespace kvscope {

/// Finds the next match of a pattern at or behind a place.
using Finder = std::function<std::optional<Span>(std::string_view, std::size_t)>;
Finder finder_of(const Pattern& pattern, const std::string& where);

/// The steps of a tokenizer's normalizer, made ready.
class NormalizerChain {
 public:
  NormalizerChain(const std::vector<Normalizer>& steps, const std::string& where);
  /// Throws Error where the steps make much more of a text than it is: what they are comes out of a file.
  MappedText apply(MappedText text) const;

 private:
  std::string where_;
  std::vector<std::function<MappedText(MappedText, std::size_t most)>> steps_;  // bytes; more is cut, and refused by apply()
};

}  // namespace kvscope
