// SPDX-License-Identifier: Apache-2.0
#include "policy/lowest_goes.h"

#include <algorithm>
#include <utility>

#include "policy/allocations/allocation.h"
#include "policy/rankings/ranking.h"
#include "policy/selections/selection.h"

namespace kvscope {

std::optional<LowestGoes> lowest_goes(const Policy& policy, int layer, int kv_head, const SlotState& slots) {
  const std::optional<StatId> by = policy.ranking().plain_statistic();
  const std::optional<int> budget = policy.budget(layer, kv_head);
  if (!by || !budget || slots.size() != *budget || !policy.ranks_heads_alone() || policy.reload() > 0) return {};
  std::vector<int> into = policy.collectors(slots);
  if (into.empty() ? !policy.evict_only() : policy.storage() || policy.reading() || policy.maps()) return {};
  const int c = *budget;
  if (policy.positions() != Positions::original || policy.selection().n_lowest(c + 1, c) != 1) return {};
  const StatNeeds& needs = policy.needs(layer);
  bool more = needs.reads_z() || needs.hits > 0 || needs.rows > 0 || needs.coming_queries > 0;
  for_each_statistic([&]<class S>(S) {
    more |= wants<S>(needs) && ColumnOf<S>::id != *by && ColumnOf<S>::id != StatId::residual;  // a mark of those that collect
  });
  if (more || policy.allocation().protects_by_mean()) return {};
  const int sinks = c - policy.ceiling(layer, kv_head), recent = policy.recent(layer, kv_head);
  LowestGoes out{*by, static_cast<int>(std::ranges::lower_bound(slots.pos, sinks) - slots.pos.begin()), c + 1 - recent, std::move(into)};
  const bool collects_inside = out.into.empty() || (out.first <= out.into.front() && out.into.back() < out.end);
  if (!collects_inside || out.end - out.first <= static_cast<int>(out.into.size())) return {};
  return out;
}

}  // namespace kvscope
