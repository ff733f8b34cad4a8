// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/cache_rows.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/slot_runs.h"

namespace kvscope::cuda {

namespace {

/// True: it had none before. What the backend has of it is still to be written.
bool begin_order(Device& device, HeadKv& kv) {
  if (!kv.order.empty()) return false;
  kv.order.resize(static_cast<std::size_t>(kv.capacity));
  std::iota(kv.order.begin(), kv.order.end(), 0);
  kv.order_in_backend = device.allocate(kv.order.size() * sizeof(int), "the order of a KV cache");
  return true;
}

/// Slots that go leave their rows to the next that come: nothing but the order changes. True: there was none before.
bool retire(Device& device, HeadKv& kv, std::span<const int> gone) {
  const bool was_in_order = begin_order(device, kv);
  std::vector<int> rows;
  for (const int slot : gone) rows.push_back(kv.row(slot));
  const auto order = kv.order.begin();
  for (const SlotRun& r : runs_without(gone, kv.n_slots)) std::copy(order + r.from, order + r.from + r.n, order + r.to);
  std::ranges::copy(rows, order + kv.n_slots - std::ssize(gone));
  return was_in_order;
}

void add_steps(const CombineJob& job, bool begins_cache, SlotChanges& changes) {
  HeadKv& kv = *job.kv;
  const auto row_of = [&kv](int slot) {
    KVSCOPE_ASSERT(slot >= 0 && slot < kv.n_slots);
    return kv.row(slot);
  };
  const auto add = [&](void* rows, std::span<const double> weights, double scale) {
    if (weights.empty()) return;
    KVSCOPE_ASSERT(weights.size() == job.members.size());
    changes.combine(std::exchange(begins_cache, false), rows, row_of(job.target), job.members, row_of, weights, scale);
  };
  add(kv.k.data(), job.key_weights, job.key_scale);
  add(kv.v.data(), job.value_weights, 1.0);
}

}  // namespace

HeadKv make_kv(Device& device, int capacity) {
  KVSCOPE_ASSERT(capacity >= 0);
  HeadKv kv;
  kv.capacity = std::max(capacity, 1);
  const std::size_t size = device.row_bytes() * static_cast<std::size_t>(kv.capacity);
  kv.k = device.allocate(size, "a KV cache");
  kv.v = device.allocate(size, "a KV cache");
  return kv;
}

void give_order(Device& device, std::span<HeadKv* const> caches) {
  SlotChanges changes;
  bool any = false;
  for (HeadKv* const kv : caches) {
    if (!begin_order(device, *kv)) continue;
    changes.set(kv->order_in_backend.data(), std::as_bytes(std::span(kv->order)));
    any = true;
  }
  if (any) device.change(changes);
}

HeadKv copy_kv(Device& device, const HeadKv& kv, int capacity) {
  HeadKv out = make_kv(device, std::max(capacity, kv.n_slots));
  out.n_slots = kv.n_slots;
  const auto held = device.lock();
  if (kv.order.empty()) {
    const std::size_t used = device.row_bytes() * static_cast<std::size_t>(kv.n_slots);
    device.copy(out.k.data(), kv.k.data(), used);
    device.copy(out.v.data(), kv.v.data(), used);
  } else {
    device.gather(out.k, kv.k, device.row_bytes(), kv.order_in_backend, kv.n_slots);
    device.gather(out.v, kv.v, device.row_bytes(), kv.order_in_backend, kv.n_slots);
  }
  return out;
}

void append_kv(Device& device, HeadKv& kv, const void* k, const void* v, int n) {
  if (n <= 0) return;
  const auto held = device.lock();
  if (kv.n_slots + n > kv.capacity) kv = copy_kv(device, kv, grown_capacity(kv.capacity, kv.n_slots + n));
  const auto *from_k = static_cast<const std::byte*>(k), *from_v = static_cast<const std::byte*>(v);
  for (const int end = kv.n_slots + n; kv.n_slots < end;) {
    const int row = kv.row(kv.n_slots);
    int run = 1;  // slots to come whose rows are neighbours
    while (kv.n_slots + run < end && kv.row(kv.n_slots + run) == row + run) ++run;
    const std::size_t at = device.row_bytes() * static_cast<std::size_t>(row), size = device.row_bytes() * static_cast<std::size_t>(run);
    device.copy(kv.k.as<std::byte>() + at, from_k, size);
    device.copy(kv.v.as<std::byte>() + at, from_v, size);
    from_k += size;
    from_v += size;
    kv.n_slots += run;
  }
}

void append_rows(Device& device, std::span<HeadKv* const> heads, const void* k, const void* v) {
  std::vector<CopyJob> copies;
  copies.reserve(2 * heads.size());
  const auto *from_k = static_cast<const std::byte*>(k), *from_v = static_cast<const std::byte*>(v);
  for (HeadKv* const kv : heads) {
    if (kv->n_slots == kv->capacity) *kv = copy_kv(device, *kv, grown_capacity(kv->capacity, kv->n_slots + 1));
    const std::size_t at = device.row_bytes() * static_cast<std::size_t>(kv->row(kv->n_slots));
    copies.push_back({kv->k.as<std::byte>() + at, from_k, device.row_bytes()});
    copies.push_back({kv->v.as<std::byte>() + at, from_v, device.row_bytes()});
    from_k += device.row_bytes();
    from_v += device.row_bytes();
    ++kv->n_slots;
  }
  const auto held = device.lock();
  device.append(copies);
}

void remove_slots(Device& device, ThreadPool& pool, std::span<const RemovalJob> jobs) {
  struct Removal {
    bool few_stay = false;  // moving them costs less than rows that nobody uses
    bool moves = false, new_order = false;
  };
  std::vector<Removal> removals(jobs.size());
  constexpr int kAtOnce = 16;
  pool.parallel_for(static_cast<int>(jobs.size()), kAtOnce, [&](int begin, int end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const std::span<const int> gone = jobs[i].gone;
      HeadKv& kv = *jobs[i].kv;
      for (std::size_t g = 0; g < gone.size(); ++g)
        KVSCOPE_ASSERT(gone[g] >= 0 && gone[g] < kv.n_slots && (g == 0 || gone[g - 1] < gone[g]));
      Removal& r = removals[i];
      r.few_stay = 2 * std::ssize(gone) > kv.n_slots;
      r.moves = kv.order.empty() && r.few_stay;
      if (!gone.empty() && !r.moves) r.new_order = retire(device, kv, gone);
    }
  });
  const auto held = device.lock();
  SlotChanges changes;
  bool any = false;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::span<const int> gone = jobs[i].gone;
    if (gone.empty()) continue;
    any = true;
    HeadKv& kv = *jobs[i].kv;
    const std::size_t stay = static_cast<std::size_t>(kv.n_slots) - gone.size();
    if (removals[i].moves)
      changes.remove(kv.k.data(), kv.v.data(), device.row_bytes(), gone, kv.n_slots);
    else if (removals[i].new_order)
      changes.set(kv.order_in_backend.data(), std::as_bytes(std::span(kv.order)));
    else
      changes.move_back(kv.order_in_backend.as<int>(), gone, std::span(kv.order).subspan(stay, gone.size()), kv.n_slots);
    kv.n_slots = static_cast<int>(stay);
  }
  if (any) device.change(changes);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (HeadKv& kv = *jobs[i].kv; removals[i].few_stay && !jobs[i].gone.empty() && !kv.order.empty()) kv = copy_kv(device, kv, kv.capacity);
}

void combine(Device& device, std::span<const CombineJob> jobs) {
  if (jobs.empty()) return;
  std::vector<const CombineJob*> by_cache;
  for (const CombineJob& job : jobs) by_cache.push_back(&job);
  const auto cache_of = [](const CombineJob* job) { return job->kv; };
  if (!std::ranges::is_sorted(by_cache, std::less<>(), cache_of)) std::ranges::stable_sort(by_cache, std::less<>(), cache_of);
  SlotChanges changes;
  const HeadKv* last = nullptr;
  for (const CombineJob* job : by_cache) {
    if (job->key_weights.empty() && job->value_weights.empty()) continue;
    add_steps(*job, std::exchange(last, job->kv) != job->kv, changes);
  }
  const auto held = device.lock();
  device.change(changes);
}

}  // namespace kvscope::cuda
