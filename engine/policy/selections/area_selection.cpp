// SPDX-License-Identifier: Apache-2.0
#include "policy/selections/area_selection.h"

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

/// TopSelection, as if the budget were n_keep and these slots protected.
void select_top(HeadDecision& head, int n_keep, std::vector<char> stays, int step) {
  const std::optional<int> budget = std::exchange(head.budget, n_keep);
  head.is_protected.swap(stays);
  TopSelection(RemovalOrder::by_pos).select(head, step);
  head.is_protected.swap(stays);
  head.budget = budget;
}

}  // namespace

void HeavySelection::select(HeadDecision& head, int step) const {
  const auto n_protected = static_cast<int>(std::ranges::count(head.is_protected, 1));
  select_top(head, n_protected + heavy_, head.is_protected, step);
}

void ContextSelection::select(HeadDecision& head, int step) const {
  const std::vector<char>& residual = head.slots().residual;
  const auto n_protected = static_cast<int>(std::ranges::count(head.is_protected, 1));
  std::vector<char> stays(head.is_protected);
  for (std::size_t i = 0; i < stays.size(); ++i) stays[i] = stays[i] || residual[i];
  const auto n_stay = static_cast<int>(std::ranges::count(stays, 1));
  select_top(head, n_stay + share(head.budget.value_or(0), n_protected), std::move(stays), step);
}

}  // namespace kvscope
