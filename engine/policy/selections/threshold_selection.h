// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/allocations/allocation.h"
#include "policy/selections/selection.h"

namespace kvscope {

/// What scores below a threshold goes as soon as nothing protects it, so that the number of slots is an outcome; a budget, where there is
/// one, is the most that stays: what is over it goes by rank. (As DMS selects, arXiv:2506.05345, and KVzap, arXiv:2601.07891.)
class ThresholdSelection final : public Selection {
 public:
  explicit ThresholdSelection(double threshold) : threshold_(threshold) {}
  void select(HeadDecision& head, int step) const override;
  bool sets_size() const override { return true; }
  std::string equation() const override;

 private:
  double threshold_;
};

/// No budget, and yet something goes: the selection says how much.
class OutcomeAllocation final : public Allocation {
 public:
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override { return UnlimitedAllocation().budgets(shape); }
  bool distributes_always() const override { return true; }
  bool raises_small_shares() const override { return false; }
};

}  // namespace kvscope
