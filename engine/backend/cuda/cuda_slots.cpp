// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "core/error.h"
#include "core/slot_runs.h"

namespace kvscope::cuda {

HeadKv CudaBackend::make_kv(int capacity) {
  KVSCOPE_ASSERT(capacity >= 0);
  HeadKv kv;
  kv.capacity = std::max(capacity, 1);
  const std::size_t size = row_bytes() * static_cast<std::size_t>(kv.capacity);
  kv.k = device_->allocate(size, "a KV cache");
  kv.v = device_->allocate(size, "a KV cache");
  return kv;
}

HeadKv CudaBackend::copy_kv(const HeadKv& kv, int capacity) {
  HeadKv out = make_kv(std::max(capacity, kv.n_slots));
  out.n_slots = kv.n_slots;
  const auto held = device_->lock();
  if (kv.order.empty()) {
    const std::size_t used = row_bytes() * static_cast<std::size_t>(kv.n_slots);
    device_->copy(out.k.data(), kv.k.data(), used);
    device_->copy(out.v.data(), kv.v.data(), used);
  } else {
    device_->gather(out.k, kv.k, row_bytes(), kv.order_in_backend, kv.n_slots);
    device_->gather(out.v, kv.v, row_bytes(), kv.order_in_backend, kv.n_slots);
  }
  return out;
}

void CudaBackend::append_kv(HeadKv& kv, const void* k, const void* v, int n) {
  if (n <= 0) return;
  const auto held = device_->lock();
  if (kv.n_slots + n > kv.capacity) kv = copy_kv(kv, grown_capacity(kv.capacity, kv.n_slots + n));
  const auto *from_k = static_cast<const std::byte*>(k), *from_v = static_cast<const std::byte*>(v);
  for (const int end = kv.n_slots + n; kv.n_slots < end;) {
    const int row = kv.row(kv.n_slots);
    int run = 1;  // slots to come whose rows are neighbours
    while (kv.n_slots + run < end && kv.row(kv.n_slots + run) == row + run) ++run;
    const std::size_t at = row_bytes() * static_cast<std::size_t>(row), size = row_bytes() * static_cast<std::size_t>(run);
    device_->copy(kv.k.as<std::byte>() + at, from_k, size);
    device_->copy(kv.v.as<std::byte>() + at, from_v, size);
    from_k += size;
    from_v += size;
    kv.n_slots += run;
  }
}

void CudaBackend::append_rows(std::span<HeadKv* const> heads, const void* k, const void* v) {
  const auto held = device_->lock();
  std::vector<CopyJob> copies;
  copies.reserve(2 * heads.size());
  const auto *from_k = static_cast<const std::byte*>(k), *from_v = static_cast<const std::byte*>(v);
  for (HeadKv* const kv : heads) {
    if (kv->n_slots == kv->capacity) *kv = copy_kv(*kv, grown_capacity(kv->capacity, kv->n_slots + 1));
    const std::size_t at = row_bytes() * static_cast<std::size_t>(kv->row(kv->n_slots));
    copies.push_back({kv->k.as<std::byte>() + at, from_k, row_bytes()});
    copies.push_back({kv->v.as<std::byte>() + at, from_v, row_bytes()});
    from_k += row_bytes();
    from_v += row_bytes();
    ++kv->n_slots;
  }
  device_->append(copies);
}

/// Slots that go leave their rows to the next that come: nothing but the order changes.
void CudaBackend::retire(HeadKv& kv, std::span<const int> gone, SlotChanges& changes) {
  const bool was_in_order = kv.order.empty();
  if (was_in_order) {
    kv.order.resize(static_cast<std::size_t>(kv.capacity));
    std::iota(kv.order.begin(), kv.order.end(), 0);
  }
  std::vector<int> rows;
  for (const int slot : gone) rows.push_back(kv.row(slot));
  const auto order = kv.order.begin();
  for (const SlotRun& r : runs_without(gone, kv.n_slots)) std::copy(order + r.from, order + r.from + r.n, order + r.to);
  std::ranges::copy(rows, order + kv.n_slots - std::ssize(gone));
  if (was_in_order) {
    kv.order_in_backend = device_->allocate(kv.order.size() * sizeof(int), "the order of a KV cache");
    changes.set(kv.order_in_backend.data(), std::as_bytes(std::span(kv.order)));
  } else {
    changes.move_back(kv.order_in_backend.as<int>(), gone, rows, kv.n_slots);
  }
}

void CudaBackend::remove_slots(std::span<const RemovalJob> jobs) {
  const auto held = device_->lock();
  SlotChanges changes;
  std::vector<HeadKv*> small;  // that keep little: moving it costs less than rows that nobody uses
  bool any = false;
  for (const RemovalJob& job : jobs) {
    if (job.gone.empty()) continue;
    any = true;
    const int n_gone = static_cast<int>(job.gone.size());
    HeadKv& kv = *job.kv;
    for (std::size_t i = 0; i < job.gone.size(); ++i)
      KVSCOPE_ASSERT(job.gone[i] >= 0 && job.gone[i] < kv.n_slots && (i == 0 || job.gone[i - 1] < job.gone[i]));
    const bool few_stay = n_gone > kv.n_slots - n_gone;
    if (few_stay) small.push_back(&kv);
    if (kv.order.empty() && few_stay)
      changes.remove(kv.k.data(), kv.v.data(), row_bytes(), job.gone, kv.n_slots);
    else
      retire(kv, job.gone, changes);
    kv.n_slots -= n_gone;
  }
  if (any) device_->change(changes);
  for (HeadKv* const kv : small) in_order(*kv);
}

void CudaBackend::combine(std::span<const CombineJob> jobs) {
  if (jobs.empty()) return;
  std::unordered_map<HeadKv*, std::vector<const CombineJob*>> of_cache;
  std::vector<HeadKv*> caches;
  for (const CombineJob& job : jobs) {
    std::vector<const CombineJob*>& its = of_cache[job.kv];
    if (its.empty()) caches.push_back(job.kv);
    its.push_back(&job);
  }
  const auto held = device_->lock();
  SlotChanges changes;
  for (HeadKv* const kv : caches) add_steps(*kv, of_cache[kv], changes);
  device_->change(changes);
}

void CudaBackend::add_steps(HeadKv& kv, std::span<const CombineJob* const> jobs, SlotChanges& changes) {
  std::vector<CombineStep> steps;
  std::vector<int> members;
  std::vector<double> weights;
  for (const CombineJob* const job : jobs) {
    KVSCOPE_ASSERT(job->target >= 0 && job->target < kv.n_slots);
    const int first_member = static_cast<int>(members.size());
    for (const int i : job->members) {
      KVSCOPE_ASSERT(i >= 0 && i < kv.n_slots);
      members.push_back(kv.row(i));
    }
    const auto add = [&](void* rows, std::span<const double> of_members, double scale) {
      if (of_members.empty()) return;
      KVSCOPE_ASSERT(of_members.size() == job->members.size());
      steps.push_back(
          {rows, kv.row(job->target), first_member, static_cast<int>(job->members.size()), static_cast<int>(weights.size()), scale});
      weights.insert(weights.end(), of_members.begin(), of_members.end());
    };
    add(kv.k.data(), job->key_weights, job->key_scale);
    add(kv.v.data(), job->value_weights, 1.0);
  }
  changes.combine(steps, members, weights);
}

namespace {

void check_slots(const HeadKv& kv, std::span<const int> slots) {
  for (const int slot : slots) KVSCOPE_ASSERT(slot >= 0 && slot < kv.n_slots);
}

/// The usual step: nothing need be listed.
bool all_but_one(const NearestJob& job) { return job.to.empty() && job.from.size() == 1; }

}  // namespace

void CudaBackend::cosines(const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<double> out) {
  KVSCOPE_ASSERT(out.size() == from.size() * to.size());
  check_slots(kv, from);
  check_slots(kv, to);
  if (out.empty()) return;
  const auto held = device_->lock();
  const std::size_t n = static_cast<std::size_t>(kv.n_slots);
  auto* const norms = device_->scratch_of<double>(Device::Use::results, n + out.size());
  Upload slots(*device_);
  const std::size_t at_from = slots.add(from), at_to = slots.add(to);
  slots.send();
  const PairJob job{.k = kv.k.data(),
                    .rows = kv.order_in_backend.as<int>(),
                    .n = kv.n_slots,
                    .n_from = static_cast<int>(from.size()),
                    .n_to = static_cast<int>(to.size()),
                    .from = slots.at<int>(at_from),
                    .to = slots.at<int>(at_to),
                    .norms = norms,
                    .values = norms + n};
  device_->flush();
  Upload up(*device_);
  const std::size_t at_job = up.add(std::span(&job, 1));
  up.send();
  cuda::key_norms(work(), dtype_, up.at<PairJob>(at_job), 1, job.n, config_.head_dim);
  cuda::cosines(work(), dtype_, up.at<PairJob>(at_job), 1, job.n_from, config_.head_dim);
  device_->download(out.data(), job.values, out.size_bytes());
}

void CudaBackend::nearest(std::span<const NearestJob> jobs) {
  std::size_t n_norms = 0, n_results = 0;
  int most_n = 0, most_from = 0;
  for (const NearestJob& job : jobs) {
    KVSCOPE_ASSERT(job.places.size() == job.from.size() && job.cosines.size() == job.from.size());
    KVSCOPE_ASSERT(!job.to.empty() || static_cast<int>(job.from.size()) < job.kv->n_slots);
    check_slots(*job.kv, job.from);
    check_slots(*job.kv, job.to);
    n_norms += static_cast<std::size_t>(job.kv->n_slots);
    n_results += job.from.size();
    most_n = std::max(most_n, job.kv->n_slots);
    most_from = std::max(most_from, static_cast<int>(job.from.size()));
  }
  if (n_results == 0) return;
  const auto held = device_->lock();
  device_->flush();
  // norms, then what comes back: the cosines of all jobs and the places of what was found
  const std::size_t n_back = n_results + (n_results + 1) / 2;
  auto* const norms = device_->scratch_of<double>(Device::Use::results, n_norms + n_back);
  double* const values = norms + n_norms;
  int* const places = reinterpret_cast<int*>(values + n_results);
  std::vector<int> slots, rest;
  for (const NearestJob& job : jobs) {
    slots.insert(slots.end(), job.from.begin(), job.from.end());
    if (!all_but_one(job)) {
      if (job.to.empty()) slots_without(job.from, job.kv->n_slots, rest);
      const std::span<const int> to = job.to.empty() ? rest : job.to;
      slots.insert(slots.end(), to.begin(), to.end());
    }
  }
  Upload slots_up(*device_);
  const std::size_t at_slots = slots_up.add(slots);
  slots_up.send();
  std::vector<PairJob> pairs;
  std::size_t slot = 0, norm = 0, result = 0;
  for (const NearestJob& job : jobs) {
    const int* const from = slots_up.at<int>(at_slots) + slot;
    const int n_to = job.to.empty() ? job.kv->n_slots - static_cast<int>(job.from.size()) : static_cast<int>(job.to.size());
    pairs.push_back({.k = job.kv->k.data(),
                     .rows = job.kv->order_in_backend.as<int>(),
                     .n = job.kv->n_slots,
                     .n_from = static_cast<int>(job.from.size()),
                     .n_to = n_to,
                     .from = from,
                     .to = all_but_one(job) ? nullptr : from + job.from.size(),
                     .norms = norms + norm,
                     .values = values + result,
                     .places = places + result,
                     .places_are_slots = job.to.empty(),
                     .by_product = job.by_product});
    slot += job.from.size() + (all_but_one(job) ? 0 : static_cast<std::size_t>(n_to));
    norm += static_cast<std::size_t>(job.kv->n_slots);
    result += job.from.size();
  }
  Upload up(*device_);
  const std::size_t at_pairs = up.add(pairs);
  up.send();
  const int n_pairs = static_cast<int>(pairs.size());
  if (most_from > 1) cuda::key_norms(work(), dtype_, up.at<PairJob>(at_pairs), n_pairs, most_n, config_.head_dim);
  cuda::nearest(work(), dtype_, up.at<PairJob>(at_pairs), n_pairs, most_from, config_.head_dim);
  std::vector<double> host(n_back);
  device_->download(host.data(), values, n_results * (sizeof(double) + sizeof(int)));
  const double* cosine = host.data();
  const auto* of_places = reinterpret_cast<const std::byte*>(cosine + n_results);
  for (const NearestJob& job : jobs) {
    std::copy_n(cosine, job.from.size(), job.cosines.data());
    cosine += job.from.size();
    if (!job.from.empty()) std::memcpy(job.places.data(), of_places, job.places.size_bytes());
    of_places += job.places.size_bytes();
  }
}

void CudaBackend::key_rows(std::span<const KeyRowsJob> jobs) {
  const std::size_t width = static_cast<std::size_t>(config_.head_dim);
  std::vector<CopyJob> copies;
  for (const KeyRowsJob& job : jobs) {
    KVSCOPE_ASSERT(job.out.size() == job.slots.size() * width);
    check_slots(*job.kv, job.slots);
    for (const int slot : job.slots)
      copies.push_back({nullptr, job.kv->k.as<std::byte>() + row_bytes() * static_cast<std::size_t>(job.kv->row(slot)), row_bytes()});
  }
  if (copies.empty()) return;
  const auto held = device_->lock();
  device_->flush();
  auto* const rows = static_cast<std::byte*>(device_->scratch(Device::Use::results, row_bytes() * copies.size()));
  for (std::size_t i = 0; i < copies.size(); ++i) copies[i].to = rows + row_bytes() * i;
  device_->copy_together(copies);
  std::vector<double> host(copies.size() * width);
  to_double(host, rows);
  scatter(host, jobs);
}

void CudaBackend::keys(const HeadKv& kv, std::span<double> out) {
  KVSCOPE_ASSERT(out.size() == static_cast<std::size_t>(kv.n_slots) * static_cast<std::size_t>(config_.head_dim));
  if (kv.order.empty()) return to_double(out, kv.k.data());
  std::vector<int> all(static_cast<std::size_t>(kv.n_slots));
  std::iota(all.begin(), all.end(), 0);
  const KeyRowsJob job{.kv = &kv, .slots = all, .out = out};
  key_rows({&job, 1});
}

}  // namespace kvscope::cuda
