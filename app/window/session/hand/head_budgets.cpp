// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/hand/head_budgets.h"

#include <algorithm>

namespace kvscope {

HeadChoice headOrLayer(int layer, int kvHead) { return {{layer}, kvHead < 0 ? std::vector<int>{} : std::vector<int>{kvHead}}; }

bool covers(const BudgetOverride& budget, const HeadChoice& place) {
  const auto all = [](const std::vector<int>& of, const std::vector<int>& these) {
    return of.empty() || (!these.empty() && std::ranges::includes(of, these));
  };
  return budget.on && all(budget.heads.layers, place.layers) && all(budget.heads.kv_heads, place.kv_heads);
}

LaneEdits withBudget(LaneEdits now, int layer, int kvHead, std::optional<int> slots) {
  // What was set for this head alone goes; sets of heads stay below the new one. A layer takes the place of its heads.
  const HeadChoice head = headOrLayer(layer, kvHead);
  const auto gone =
      std::erase_if(now.budgets, [&](const BudgetOverride& b) { return b.heads == head || (kvHead < 0 && b.heads.layers == head.layers); });
  // A head that has its budget from its layer gives up that one.
  if (!slots && gone == 0) std::erase_if(now.budgets, [&](const BudgetOverride& b) { return b.heads.has(layer, std::max(0, kvHead)); });
  if (slots) now.budgets.push_back({.heads = head, .slots = slots});
  return now;
}

}  // namespace kvscope
