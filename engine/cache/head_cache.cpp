// SPDX-License-Identifier: Apache-2.0
#include "cache/head_cache.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cache/cache_changes.h"
#include "cache/key_lookups.h"
#include "cache/value_norms.h"
#include "core/not_available.h"
#include "core/slot_runs.h"
#include "policy/apply_plan.h"

namespace kvscope {

HeadCache clone(Backend& backend, const HeadCache& cache) {
  HeadCache copy = clone_without_rows(cache);
  copy.kv = backend.clone_kv(cache.kv);
  return copy;
}

HeadCache clone_without_rows(const HeadCache& cache) {
  return {.kv = {},
          .slots = cache.slots,
          .unrotated = cache.unrotated,
          .ever_changed = cache.ever_changed,
          .value_norm = cache.value_norm,
          .pages = cache.pages,
          .learned = cache.learned,
          .pooled = cache.pooled,
          .rope = cache.rope};
}

std::vector<double> CacheGeometry::cosines(std::span<const int> from, std::span<const int> to) const {
  std::vector<double> out(from.size() * to.size());
  backend_->cosines(*kv_, from, to, out);
  return out;
}

void CacheGeometry::expect_nearest_kept(std::span<const int> gone) const {
  if (lookups_) lookups_->expect_nearest(cache(), gone, {});
}

Nearest CacheGeometry::largest_product(int from, std::span<const int> to) const {
  return lookups_ ? lookups_->nearest(cache(), {&from, 1}, to, KeyLookups::By::product).front() : KeyGeometry::largest_product(from, to);
}

void CacheGeometry::expect_largest_product(int from, std::span<const int> to) const {
  if (lookups_) lookups_->expect_nearest(cache(), {&from, 1}, to, KeyLookups::By::product);
}

void CacheGeometry::expect_keys(std::span<const int> slots) const {
  if (lookups_) lookups_->expect_keys(cache(), slots);
}

std::vector<Nearest> CacheGeometry::nearest_kept(std::span<const int> gone) const {
  if (lookups_) return lookups_->nearest(cache(), gone, {});
  std::vector<int> places(gone.size());
  std::vector<double> cosines(gone.size());
  const NearestJob job{.kv = kv_, .from = gone, .to = {}, .places = places, .cosines = cosines};
  backend_->nearest({&job, 1});
  return kvscope::nearest({}, places, cosines);
}

void CacheGeometry::keys(std::span<const int> slots, std::vector<double>& rows) const {
  if (lookups_) return lookups_->keys(cache(), slots, rows);
  rows.resize(slots.size() * static_cast<std::size_t>(head_dim_));
  const KeyRowsJob job{.kv = kv_, .slots = slots, .out = rows};
  backend_->key_rows({&job, 1});
}

std::vector<double> CacheGeometry::values() const {
  const HeadKv ordered = backend_->clone_kv(*kv_);
  std::vector<double> rows(static_cast<std::size_t>(kv_->n_slots) * static_cast<std::size_t>(head_dim_));
  backend_->to_double(rows, ordered.v.data());
  return rows;
}

std::vector<double> CacheGeometry::unrotated_keys() const {
  HeadKv ordered = backend_->clone_kv(*kv_);
  if (!cache().unrotated && cache().rope >= 0) {
    std::vector<int> back(cache().slots.pos);
    for (int& pos : back) pos = -pos;
    backend_->rope(ordered.k.data(), ordered.n_slots, /*n_heads=*/1, back, cache().rope);
  }
  std::vector<double> rows(static_cast<std::size_t>(kv_->n_slots) * static_cast<std::size_t>(head_dim_));
  backend_->to_double(rows, ordered.k.data());
  return rows;
}

std::vector<double> CacheGeometry::value_l2() const {
  const auto width = static_cast<std::size_t>(head_dim_), row_bytes = width * size_of(backend_->dtype());
  std::vector<double> out(static_cast<std::size_t>(kv_->n_slots)), v(width);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto row = static_cast<std::size_t>(kv_->row(static_cast<int>(i)));
    backend_->to_double(v, static_cast<const std::byte*>(kv_->v.data()) + row_bytes * row);
    out[i] = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  }
  return out;
}

std::vector<double> CacheGeometry::value_norms() const {
  complete_value_norms(*backend_, *wo_, head_dim_, heads_);
  return heads_[static_cast<std::size_t>(head_)].value_norm;
}

std::vector<int> apply_to_slots(HeadCache& cache, const StatNeeds& needs, const Plan& plan) {
  std::vector<int> gone = apply_plan(cache.slots, needs, plan);
  const auto spreads = [](const Removal& r) { return !r.spread.empty(); };
  if (!plan.merges.empty() || std::ranges::any_of(plan.removals, spreads)) cache.value_norm.clear();
  const auto known =
      std::ranges::lower_bound(gone, static_cast<int>(cache.value_norm.size()));  // it may have norms of the first slots only
  remove_entries(cache.value_norm, std::span(gone.begin(), known));
  cache.ever_changed |= !plan.removals.empty();
  if (!gone.empty()) cache.pages = {};
  return gone;
}

std::vector<int> apply(Backend& backend, HeadCache& cache, const StatNeeds& needs, const Plan& plan, const HeadMaps& maps) {
  if (maps.maps) pool_evicted(backend, cache.kv, plan, maps, cache.pooled);
  CacheChanges changes;
  changes.add(cache, plan);
  changes.make(backend);
  return apply_to_slots(cache, needs, plan);
}

int restore(Backend& backend, HeadCache& cache, const StatNeeds& needs, int group, int head_dim, int pos, const void* k, const void* v,
            const HeadMaps& maps) {
  const std::size_t row = static_cast<std::size_t>(head_dim) * size_of(backend.dtype());
  Buffer key = backend.allocate(row);
  backend.copy(key.data(), k, row);
  if (cache.unrotated) {
    const int back[] = {-pos};
    backend.rope(key.data(), 1, /*n_heads=*/1, back, cache.rope);
  }
  double norm = kNotAvailable;
  if (needs.key_norm) {  // a rotation does not change it
    std::vector<double> numbers(static_cast<std::size_t>(head_dim));
    backend.to_double(numbers, k);
    norm = std::sqrt(std::inner_product(numbers.begin(), numbers.end(), numbers.begin(), 0.0));
  }
  if (maps.maps && std::ranges::find(cache.slots.evicted, pos) != cache.slots.evicted.end())
    take_out(backend, {k, v, 1}, maps, cache.pooled);
  take_back(cache.slots, pos);
  const int place = insert_slot(cache.slots, needs, group, pos, norm);
  if (needs.learned && static_cast<std::size_t>(pos) < cache.learned.size())
    cache.slots.learned[static_cast<std::size_t>(place)] = cache.learned[static_cast<std::size_t>(pos)];
  const int n = cache.kv.n_slots;
  backend.in_order(cache.kv);
  HeadKv wider = backend.make_kv(n + 1);
  const auto from = [&](const Buffer& b) { return static_cast<const std::byte*>(b.data()) + row * static_cast<std::size_t>(place); };
  backend.append_kv(wider, cache.kv.k.data(), cache.kv.v.data(), place);
  backend.append_kv(wider, key.data(), v, 1);
  backend.append_kv(wider, from(cache.kv.k), from(cache.kv.v), n - place);
  cache.kv = std::move(wider);
  cache.value_norm.clear();
  cache.pages = {};
  return place;
}

void unrotate_keys(Backend& backend, HeadCache& cache) {
  if (cache.unrotated || cache.rope < 0) return;
  std::vector<int> back;
  back.reserve(cache.slots.pos.size());
  for (const int pos : cache.slots.pos) back.push_back(-pos);
  backend.in_order(cache.kv);
  backend.rope(cache.kv.k.data(), cache.kv.n_slots, /*n_heads=*/1, back, cache.rope);
  cache.kv.key_norms.clear();
  cache.unrotated = true;
}

}  // namespace kvscope
