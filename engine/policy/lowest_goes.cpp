// SPDX-License-Identifier: Apache-2.0
#include "policy/lowest_goes.h"

#include <algorithm>

#include "policy/allocations/allocation.h"
#include "policy/rankings/ranking.h"
#include "policy/selections/selection.h"

namespace kvscope {

std::optional<LowestGoes> lowest_goes(const Policy& policy, int layer, int kv_head, const SlotState& slots) {
  const std::optional<StatId> by = policy.ranking().plain_statistic();
  const bool by_rows = policy.ranking().plain_rows();
  const std::optional<int> budget = policy.budget(layer, kv_head);
  if ((!by && !by_rows) || !budget || slots.size() != *budget || !policy.ranks_heads_alone() || policy.reload() > 0) return {};
  const Merger& merger = policy.merger(layer, kv_head);
  LowestGoes out{.by = by, .collectors = merger.collectors(slots), .into_nearest = merger.into_nearest()};
  const bool joins = !out.collectors.empty() || out.into_nearest;
  if (joins ? policy.storage() || policy.reading() || policy.maps() : !policy.evict_only()) return {};
  const int c = *budget;
  if (policy.positions() != Positions::original || policy.selection().n_lowest(c + 1, c) != 1) return {};
  const StatNeeds& needs = policy.needs(layer);
  bool more = needs.hits > 0 || needs.coming_queries > 0 || (needs.rows > 0) != by_rows || needs.rows != policy.needs().rows;
  more |= out.into_nearest ? !needs.ema || needs.keep_z_rows || needs.z_now : needs.reads_z();
  for_each_statistic([&]<class S>(S) {
    more |= wants<S>(needs) && ColumnOf<S>::id != by && ColumnOf<S>::id != StatId::residual;  // a mark of those that collect
  });
  if (more || policy.allocation().protects_by_mean()) return {};
  const int sinks = c - policy.ceiling(layer, kv_head), recent = policy.recent(layer, kv_head);
  out.first = static_cast<int>(std::ranges::lower_bound(slots.pos, sinks) - slots.pos.begin());
  out.end = c + 1 - recent;
  const std::vector<int>& into = out.collectors;
  const bool collects_inside = into.empty() || (out.first <= into.front() && into.back() < out.end);
  if (!collects_inside || out.end - out.first <= static_cast<int>(into.size())) return {};
  return out;
}

}  // namespace kvscope
