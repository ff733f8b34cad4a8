// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/mergers/merger.h"

namespace kvscope {

/// WeightedKV: the value of a removed slot i flows into its right neighbour j, the next slot of higher pos at that moment (protected or
/// not): v_j <- (W_i v_i + W_j v_j) / (W_i + W_j) with W the mean attention; k_j and j's statistic stay. One after the other, in order of
/// `gone`, so that a neighbour may be removed later and hand on what it took over. Without a neighbour the slot is evicted. WeightedKV
/// paper, section IV and Algorithm 1, which merges one pair per generated token; after a prefill the same is repeated.
class WeightedNeighbourMerger final : public Merger {
 public:
  std::unique_ptr<Merger> clone() const override { return std::make_unique<WeightedNeighbourMerger>(*this); }
  void require(StatNeeds& needs) const override { needs.sum = true; }
  void merge(HeadDecision& head) override;
};

}  // namespace kvscope
