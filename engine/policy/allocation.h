// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "policy/decision.h"

namespace kvscope {

/// What an allocator distributes, and over what.
struct BudgetShape {
  int n_layers = 0;
  int n_kv_heads = 0;
  int slots = 0;     // C
  int observed = 0;  // w: part of C that goes to the observation window
  int n_prompt = 0;  // L
};

/// The part that says how many slots every (layer, KV head) gets.
class Allocation {
 public:
  virtual ~Allocation() = default;
  /// [n_layers * n_kv_heads], layer-major; nullopt: unlimited. Not asked when C >= L (nothing to distribute), unless limits() is false.
  virtual std::vector<std::optional<int>> budgets(const BudgetShape& shape) const = 0;
  /// False: nothing is ever compressed.
  virtual bool limits() const { return true; }
  /// Called in every step with the scores of all heads of one layer, before the selection. An allocator that looks at the heads together
  /// sets their budget and due here; what it sets stays the budget of the head.
  virtual void revise(std::span<HeadDecision>) const {}
};

/// C everywhere.
class UniformAllocation final : public Allocation {
 public:
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
};

/// No budget at all.
class UnlimitedAllocation final : public Allocation {
 public:
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
  bool limits() const override { return false; }
};

}  // namespace kvscope
