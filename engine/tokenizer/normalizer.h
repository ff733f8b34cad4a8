// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "tokenizer/parts.h"

namespace kvscope {

/// Finds the next match of a pattern at or behind a place.
using Finder = std::function<std::optional<Span>(std::string_view, std::size_t)>;
Finder finder_of(const Pattern& pattern, const std::string& where);

/// One step, made ready. What it would make beyond `most` bytes need not be whole: the chain refuses it.
using NormalizerStep = std::function<MappedText(MappedText, std::size_t most)>;

/// The steps of a tokenizer's normalizer.
class NormalizerChain {
 public:
  NormalizerChain(const std::vector<Normalizer>& steps, const std::string& where);
  /// Throws Error where the steps make much more of a text than it is: what they are comes out of a file.
  MappedText apply(MappedText text) const;

 private:
  std::string where_;
  std::vector<NormalizerStep> steps_;
};

}  // namespace kvscope
