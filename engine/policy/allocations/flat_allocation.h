// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/allocations/allocation.h"

namespace kvscope {

/// One budget over all layers and heads: after the prompt every head gets as many slots as it has among the best of all of them together,
/// C on average, beside what is protected; at least one. These shares stay. Equal scores: lower pos, then lower layer, then lower head.
/// (KVzip.)
class FlatAllocation final : public Allocation {
 public:
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override { return UniformAllocation().budgets(shape); }
  bool needs_prompt() const override { return true; }
  bool surveys() const override { return true; }
  HeadNotes note(const HeadDecision& head) const override;
  std::vector<std::optional<int>> after_survey(const BudgetShape& shape, std::span<const HeadNotes> heads) const override;
  bool raises_small_shares() const override { return false; }
  bool protects_by_mean() const override { return true; }
};

}  // namespace kvscope
