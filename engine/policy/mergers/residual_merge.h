// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/mergers/merger.h"

namespace kvscope {

/// ZeroMerge: a slot that the selection sends away goes to the residual area, in ascending pos. While that holds fewer than `places` slots
/// it stays there as it is; then it is fused into the residual slot r of largest dot product k_r . k_c: key and value become means weighted
/// by votes, the decayed sum (where it ranks) the larger of the two. Sequential: a later slot sees the keys that earlier ones left behind.
class ResidualMerger final : public Merger {
 public:
  /// decayed: the ranking reads decayed sums, of which a fused slot gets the larger one.
  ResidualMerger(int places, bool decayed) : places_(places), decayed_(decayed) {}

  std::unique_ptr<Merger> clone() const override { return std::make_unique<ResidualMerger>(*this); }
  void require(StatNeeds& needs) const override {
    needs.residual = true;
    needs.decayed = needs.decayed || decayed_;
  }
  std::vector<int> collectors(const SlotState& slots) const override;
  void expect(HeadDecision& head) const override;
  void merge(HeadDecision& head) override;

 private:
  struct Area {
    std::vector<int> residual;         // its slots, those that join it in this compression among them, ascending
    std::span<const int> free, fused;  // of `gone`: those that join it, those that are fused into it
    std::vector<int> all() const;      // residual, then fused
  };
  Area area(const HeadDecision& head) const;

  int places_;
  bool decayed_;
};

}  // namespace kvscope
