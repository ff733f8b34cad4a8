// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/weighted_neighbour.h"

namespace kvscope {

void WeightedNeighbourMerger::merge(HeadDecision& head) {
  const int n = head.slots().size();
  const SlotState& slots = head.slots();
  const auto W = [&](int i) { return slots.sum[static_cast<std::size_t>(i)] / slots.times[static_cast<std::size_t>(i)]; };
  // next[i]: the next slot of higher pos that is still there; a removed slot points on, paths are halved on the way
  std::vector<int> next(static_cast<std::size_t>(n) + 1);
  for (int i = 0; i <= n; ++i) next[static_cast<std::size_t>(i)] = i;
  const auto alive = [&](int i) {
    while (next[static_cast<std::size_t>(i)] != i) {
      int& step = next[static_cast<std::size_t>(i)];
      step = next[static_cast<std::size_t>(step)];
      i = step;
    }
    return i;
  };
  for (const int i : head.gone) {
    next[static_cast<std::size_t>(i)] = i + 1;
    const int j = alive(i);
    Removal removal = removal_of(head, i);
    if (j < n) {
      const double total = W(i) + W(j);
      removal.target = j;
      removal.w_removed = total > 0 ? W(i) / total : 0.0;
      removal.w_target = total > 0 ? W(j) / total : 1.0;
      Merge merge;
      merge.target = j;
      merge.members = {j, i};
      merge.value_weights = {removal.w_target, removal.w_removed};
      if (total > 0) head.plan.merges.push_back(std::move(merge));
    }
    head.plan.removals.push_back(removal);
  }
}

}  // namespace kvscope
