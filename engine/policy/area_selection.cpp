// SPDX-License-Identifier: Apache-2.0
#include "policy/area_selection.h"

#include <algorithm>

namespace kvscope {
namespace {

/// TopSelection with other numbers than the head's own.
void select_top(HeadDecision& head, int n_keep, const std::vector<char>& stays, int step) {
  HeadDecision other;
  other.view = head.view;
  other.budget = n_keep;
  other.is_protected = stays;
  other.score = head.score;
  other.tie_break = head.tie_break;
  TopSelection(RemovalOrder::by_pos).select(other, step);
  head.keep = std::move(other.keep);
  head.gone = std::move(other.gone);
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
  const int share = std::max(0, head.budget.value_or(0) - n_protected - places_);
  select_top(head, n_stay + share, stays, step);
}

}  // namespace kvscope
