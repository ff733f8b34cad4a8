// SPDX-License-Identifier: Apache-2.0
#include "cache/head_cache.h"

#include "policy/statistics.h"

namespace kvscope {

HeadCache clone(Backend& backend, const HeadCache& cache) {
  return {backend.clone_kv(cache.kv), cache.slots, cache.unrotated, cache.ever_removed};
}

std::vector<double> CacheGeometry::cosines(std::span<const int> from, std::span<const int> to) const {
  std::vector<double> out(from.size() * to.size());
  backend_->cosines(*kv_, from, to, out);
  return out;
}

std::vector<int> apply(Backend& backend, HeadCache& cache, const StatNeeds& needs, const Plan& plan) {
  std::vector<CombineJob> jobs;
  jobs.reserve(plan.merges.size());
  for (const Merge& merge : plan.merges) {
    jobs.push_back({.kv = &cache.kv,
                    .target = merge.target,
                    .members = merge.members,
                    .key_weights = merge.key_weights,
                    .key_scale = merge.key_scale,
                    .value_weights = merge.value_weights});
  }
  if (!jobs.empty()) backend.combine(jobs);
  std::vector<int> kept = apply_plan(cache.slots, needs, plan);
  backend.keep_only(cache.kv, kept);
  cache.ever_removed |= !plan.removals.empty();
  return kept;
}

void unrotate_keys(Backend& backend, HeadCache& cache) {
  if (cache.unrotated) return;
  std::vector<int> back;
  back.reserve(cache.slots.pos.size());
  for (const int pos : cache.slots.pos) back.push_back(-pos);
  backend.rope(cache.kv.k.data(), cache.kv.n_slots, /*n_heads=*/1, back);
  cache.unrotated = true;
}

}  // namespace kvscope
