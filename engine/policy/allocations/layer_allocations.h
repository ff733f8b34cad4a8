// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "policy/allocations/allocation.h"

namespace kvscope {

/// Slots beside the observation window per layer: linear and decreasing from 2 b - b/beta to b/beta, with mean b; the first layer never
/// gets more than `limit`, the last then less difference. (PyramidKV).
std::vector<double> pyramid_shares(int n_layers, int b, double beta, int limit);

/// The unobserved part of the budget falls linearly with the layer.
class PyramidAllocation final : public Allocation {
 public:
  /// observes: an observation window is all that is protected (PolicyRow::observes); every share has room for it.
  explicit PyramidAllocation(double beta, bool observes = true) : beta_(beta), observes_(observes) {}
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
  bool raises_small_shares() const override { return !observes_; }

 private:
  double beta_;
  bool observes_;
};

/// Slots per layer, proportional to the product over the layers so far of rho_l = (1 - decay) (cos(pi l / n_layers) + 1) / 2 + decay, with
/// mean c.
std::vector<double> decaying_shares(int n_layers, int c, double decay);

/// The budget falls with the layer, first slowly, then faster.
class DecayingAllocation final : public Allocation {
 public:
  explicit DecayingAllocation(double decay) : decay_(decay) {}
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;

 private:
  double decay_;
};

}  // namespace kvscope
