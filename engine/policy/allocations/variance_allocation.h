// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/allocations/allocation.h"

namespace kvscope {

/// Shares of the layers, mean c: softmax(-u_l) * n_layers * c, where u_l is the mean over the heads of layer l of the population variance
/// of the head's column sums, scaled to [0, 1] between the heads of the layer (0 where they are all equal). columns:
/// [n_layers][n_kv_heads].
std::vector<double> variance_shares(std::span<const std::vector<std::span<const double>>> columns, int c);

/// Layers whose heads spread their attention evenly get more (D2O): C everywhere until the prompt was seen, then the shares above.
class VarianceAllocation final : public Allocation {
 public:
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override { return UniformAllocation().budgets(shape); }
  std::vector<std::optional<int>> after_prompt(const BudgetShape& shape, std::span<const HeadView> heads) const override;
  void require(StatNeeds& needs) const override { needs.sum = true; }
  bool needs_prompt() const override { return true; }
};

}  // namespace kvscope
