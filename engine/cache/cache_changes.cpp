// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_changes.h"

#include <algorithm>
#include <utility>

namespace kvscope {

void CacheChanges::add(HeadCache& cache, const Plan& plan) {
  for (const Merge& merge : plan.merges) {
    if (!merge.value.empty()) {
      values_.push_back({&cache.kv, merge.target, merge.value});
      continue;
    }
    combines_.push_back({.kv = &cache.kv,
                         .target = merge.target,
                         .members = merge.members,
                         .key_weights = merge.key_weights,
                         .key_scale = merge.key_scale,
                         .value_weights = merge.value_weights});
  }
  std::vector<int>& gone = slots_.emplace_back();
  gone.reserve(plan.removals.size());
  for (const Removal& removal : plan.removals) {
    gone.push_back(removal.slot);
    if (!removal.spread.empty()) spread(cache, removal);
  }
  std::ranges::sort(gone);
  removals_.push_back({.kv = &cache.kv, .gone = gone});
}

/// v_t += v_i / |T| for every t, one job for each.
void CacheChanges::spread(HeadCache& cache, const Removal& removal) {
  const std::vector<double>& weights = weights_.emplace_back(std::vector{1.0, 1.0 / static_cast<double>(removal.spread.size())});
  for (const int t : removal.spread) {
    const std::vector<int>& members = slots_.emplace_back(std::vector{t, removal.slot});
    combines_.push_back({.kv = &cache.kv, .target = t, .members = members, .key_weights = {}, .value_weights = weights});
  }
}

void CacheChanges::make(Backend& backend, std::span<CacheChanges* const> all) {
  std::vector<CombineJob> combines;
  std::vector<RemovalJob> removals;
  for (const CacheChanges* changes : all) {
    combines.insert(combines.end(), changes->combines_.begin(), changes->combines_.end());
    removals.insert(removals.end(), changes->removals_.begin(), changes->removals_.end());
  }
  if (!combines.empty()) backend.combine(combines);
  for (const CacheChanges* changes : all)
    for (const NewValue& v : changes->values_) {
      const std::size_t row = v.row.size() * size_of(backend.dtype());
      backend.from_double(v.kv->v.as<std::byte>() + row * static_cast<std::size_t>(v.kv->row(v.slot)), v.row);
    }
  if (!removals.empty()) backend.remove_slots(removals);
}

}  // namespace kvscope
