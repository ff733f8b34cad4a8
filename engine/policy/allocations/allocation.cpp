// SPDX-License-Identifier: Apache-2.0
#include "policy/allocations/allocation.h"

namespace kvscope {
namespace {

std::size_t heads_of(const BudgetShape& shape) {
  return static_cast<std::size_t>(shape.n_layers) * static_cast<std::size_t>(shape.n_kv_heads);
}

}  // namespace

std::vector<std::optional<int>> UniformAllocation::budgets(const BudgetShape& shape) const {
  return std::vector<std::optional<int>>(heads_of(shape), shape.slots);
}

std::vector<std::optional<int>> UnlimitedAllocation::budgets(const BudgetShape& shape) const {
  return std::vector<std::optional<int>>(heads_of(shape), std::nullopt);
}

}  // namespace kvscope
