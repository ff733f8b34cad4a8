// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "policy/mergers/merger.h"

namespace kvscope {

/// Probability that the value of a removed slot is spread: clamp(A_i / mean(A_T), 0, 1) with A the accumulated attention (CaM, Eq. 14).
/// 0/0 = 0, x/0 = 1.
double spread_probability(double removed, double mean_of_targets);

/// CaM (Cache Merging): before a slot i is evicted, its value is perhaps added to the kept slots after it. T = the next (up to m) kept
/// slots of higher pos; with the probability above v_t += v_i / |T| for t in T. Keys stay, the token counts as evicted. Removals in
/// ascending pos; draw e of a step belongs to its removal e, spread or not (POLICIES.md section 2).
class ValueSpreadMerger final : public Merger {
 public:
  ValueSpreadMerger(int m, std::uint64_t seed) : m_(m), seed_(seed) {}

  std::unique_ptr<Merger> clone() const override { return std::make_unique<ValueSpreadMerger>(*this); }
  void require(StatNeeds& needs) const override { needs.sum = true; }
  void merge(HeadDecision& head) override { spread(head, 0); }
  void merge_layer(std::span<HeadDecision> heads, int step) override;
  std::vector<double> statistic(const SlotState& slots) const override { return slots.sum; }

 private:
  void spread(HeadDecision& head, int step) const;

  int m_;
  std::uint64_t seed_;
};

}  // namespace kvscope
