// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "policy/allocations/allocation.h"

namespace kvscope {

/// Slots beside the observation window per layer: linear and decreasing from 2 b - b/beta to b/beta, with mean b; the first layer never
/// gets more than `limit`, the last then less difference. (PyramidKV).
std::vector<double> pyramid_shares(int n_layers, int b, double beta, int limit);

/// The budget, or its unobserved part, falls linearly with the layer.
class PyramidAllocation final : public Allocation {
 public:
  enum class Splits : std::uint8_t {
    beside,  // what is beside the observation window, so that the sum holds (the authors' code)
    all      // the window among it, every layer rounded by itself; equal shares where the window would not fit into all (kvpress)
  };
  /// observes: an observation window is all that is protected (PolicyRow::observes); every share has room for it. ratio: the share of the
  /// prompt that was asked for; 0: slots were.
  explicit PyramidAllocation(double beta, bool observes = true, Splits splits = Splits::beside, double ratio = 0)
      : beta_(beta), observes_(observes), splits_(splits), ratio_(ratio) {}
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
  bool raises_small_shares() const override { return !observes_; }

 private:
  std::vector<int> all_split(const BudgetShape& shape) const;

  double beta_;
  bool observes_;
  Splits splits_;
  double ratio_;
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
