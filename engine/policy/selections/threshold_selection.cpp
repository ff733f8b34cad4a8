// SPDX-License-Identifier: Apache-2.0
#include "policy/selections/threshold_selection.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace kvscope {

std::string ThresholdSelection::equation() const { return fmt::format("what is below {:g} goes", threshold_); }

void ThresholdSelection::select(HeadDecision& head, int step) const {
  const auto stays = [&](std::size_t i) { return head.is_protected[i] || head.score[i] >= threshold_; };  // what is not a number does not
  int n_stay = 0;
  for (std::size_t i = 0; i < head.score.size(); ++i) n_stay += stays(i);
  const std::optional<int> budget = std::exchange(head.budget, head.budget ? std::min(*head.budget, n_stay) : n_stay);
  // of what does not reach the threshold nothing ranks above what does
  TopSelection(RemovalOrder::by_pos).select(head, step);
  head.budget = budget;
  head.due = !head.gone.empty();
}

}  // namespace kvscope
