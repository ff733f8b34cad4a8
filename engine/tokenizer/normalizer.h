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
  MappedText apply(MappedText text) const;

 private:
  std::vector<std::function<MappedText(MappedText)>> steps_;
};

}  // namespace kvscope
