// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "snapshot/fates.h"

namespace kvscope::viz {

/// How many tokens are represented (by an own slot or a merged one) at one step of a lane, summed so that any zoom is cheap.
class RepresentedCounts {
 public:
  static constexpr int kBlock = 8;  // tokens per precounted block

  RepresentedCounts() = default;
  RepresentedCounts(const LaneFates& fates, const StepRecord& step);

  int n_tokens() const { return n_tokens_; }  // seen at the step
  /// [n_tokens] heads that represent each token.
  const std::vector<int>& heads_per_token() const { return heads_per_token_; }
  /// Tokens of [first, last] that a head represents; first and last are cut to the tokens seen.
  int count(const LaneFates& fates, int step, int head, int first, int last) const;

 private:
  int n_tokens_ = 0;
  int n_blocks_ = 0;
  std::vector<int> heads_per_token_;
  std::vector<std::uint8_t> blocks_;  // [head][block]
};

/// Tokens per texel at `px` pixels per token: 1 from 3 px on, else the smallest power of two, from 2 on, that is at least 2 px wide, so
/// that shades can be told apart.
int tokens_per_bin(float px);

}  // namespace kvscope::viz
