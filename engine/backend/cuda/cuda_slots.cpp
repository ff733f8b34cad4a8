// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "core/error.h"

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

HeadKv CudaBackend::clone_kv(const HeadKv& kv) {
  HeadKv out = make_kv(kv.n_slots);
  append_kv(out, kv.k.data(), kv.v.data(), kv.n_slots);
  return out;
}

void CudaBackend::append_kv(HeadKv& kv, const void* k, const void* v, int n) {
  if (n <= 0) return;
  const auto held = device_->lock();
  const std::size_t used = row_bytes() * static_cast<std::size_t>(kv.n_slots), more = row_bytes() * static_cast<std::size_t>(n);
  if (kv.n_slots + n > kv.capacity) {
    // an eighth more: a cache that grows by one slot a step stays near the memory it needs
    HeadKv larger = make_kv(std::max(kv.n_slots + n, kv.capacity + std::max(kv.capacity / 8, 16)));
    device_->copy(larger.k.data(), kv.k.data(), used);
    device_->copy(larger.v.data(), kv.v.data(), used);
    larger.n_slots = kv.n_slots;
    kv = std::move(larger);
  }
  device_->copy(kv.k.as<std::byte>() + used, k, more);
  device_->copy(kv.v.as<std::byte>() + used, v, more);
  kv.n_slots += n;
}

void CudaBackend::keep_only(HeadKv& kv, std::span<const int> keep) {
  for (std::size_t i = 0; i < keep.size(); ++i) {
    KVSCOPE_ASSERT(keep[i] >= 0 && keep[i] < kv.n_slots && (i == 0 || keep[i - 1] < keep[i]));
  }
  const int n = std::exchange(kv.n_slots, static_cast<int>(keep.size()));
  std::vector<int> gone;
  for (std::size_t i = 0, slot = 0; slot < static_cast<std::size_t>(n); ++slot) {
    if (i < keep.size() && keep[i] == static_cast<int>(slot))
      ++i;
    else
      gone.push_back(static_cast<int>(slot));
  }
  const auto held = device_->lock();
  device_->remove(kv.k, kv.v, row_bytes(), gone, n);
}

void CudaBackend::combine(std::span<const CombineJob> jobs) {
  if (jobs.empty()) return;
  const auto held = device_->lock();
  std::vector<HeadKv*> caches;
  for (const CombineJob& job : jobs) {
    if (std::find(caches.begin(), caches.end(), job.kv) == caches.end()) caches.push_back(job.kv);
  }
  for (HeadKv* kv : caches) {
    std::vector<CombineStep> steps;
    std::vector<int> members;
    std::vector<double> weights;
    for (const CombineJob& job : jobs) {
      if (job.kv != kv) continue;
      KVSCOPE_ASSERT(job.target >= 0 && job.target < kv->n_slots);
      const int first_member = static_cast<int>(members.size());
      for (const int i : job.members) {
        KVSCOPE_ASSERT(i >= 0 && i < kv->n_slots);
        members.push_back(i);
      }
      const auto add = [&](void* rows, std::span<const double> of_members, double scale) {
        if (of_members.empty()) return;
        KVSCOPE_ASSERT(of_members.size() == job.members.size());
        steps.push_back({rows, job.target, first_member, static_cast<int>(job.members.size()), static_cast<int>(weights.size()), scale});
        weights.insert(weights.end(), of_members.begin(), of_members.end());
      };
      add(kv->k.data(), job.key_weights, job.key_scale);
      add(kv->v.data(), job.value_weights, 1.0);
    }
    const LateWork::Area areas[] = {{kv->k.data(), kv->k.bytes()}, {kv->v.data(), kv->v.bytes()}};
    device_->combine(steps, members, weights, areas);
  }
}

namespace {

void check_slots(const HeadKv& kv, std::span<const int> slots) {
  for (const int slot : slots) KVSCOPE_ASSERT(slot >= 0 && slot < kv.n_slots);
}

}  // namespace

void CudaBackend::cosines(const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<double> out) {
  KVSCOPE_ASSERT(out.size() == from.size() * to.size());
  check_slots(kv, from);
  check_slots(kv, to);
  if (out.empty()) return;
  const auto held = device_->lock();
  Upload up(*device_);
  const std::size_t at_from = up.add(from), at_to = up.add(to), n = static_cast<std::size_t>(kv.n_slots);
  up.send();
  device_->flush();
  auto* const norms = device_->scratch_of<double>(Device::Use::results, n + out.size());
  row_norms(stream(), dtype_, kv.k.data(), kv.n_slots, config_.head_dim, norms);
  cuda::cosines(stream(), dtype_, kv.k.data(), config_.head_dim, norms, up.at<int>(at_from), static_cast<int>(from.size()),
                up.at<int>(at_to), static_cast<int>(to.size()), norms + n);
  device_->download(out.data(), norms + n, out.size_bytes());
}

void CudaBackend::nearest(const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<int> places,
                          std::span<double> cosines) {
  KVSCOPE_ASSERT(places.size() == from.size() && cosines.size() == from.size() && !to.empty());
  check_slots(kv, from);
  check_slots(kv, to);
  if (from.empty()) return;
  const auto held = device_->lock();
  Upload up(*device_);
  const std::size_t at_from = up.add(from), at_to = up.add(to), n = static_cast<std::size_t>(kv.n_slots), rows = from.size();
  up.send();
  device_->flush();
  // norms, then what comes back: cosines and places
  auto* const norms = device_->scratch_of<double>(Device::Use::results, n + rows + (rows + 1) / 2);
  row_norms(stream(), dtype_, kv.k.data(), kv.n_slots, config_.head_dim, norms);
  cuda::nearest(stream(), dtype_, kv.k.data(), config_.head_dim, norms, up.at<int>(at_from), static_cast<int>(rows), up.at<int>(at_to),
                static_cast<int>(to.size()), reinterpret_cast<int*>(norms + n + rows), norms + n);
  std::vector<double> host(rows + (rows + 1) / 2);
  device_->download(host.data(), norms + n, rows * sizeof(double) + rows * sizeof(int));
  std::copy_n(host.begin(), rows, cosines.begin());
  std::memcpy(places.data(), host.data() + rows, rows * sizeof(int));
}

void CudaBackend::keys(const HeadKv& kv, std::span<double> out) {
  KVSCOPE_ASSERT(out.size() == static_cast<std::size_t>(kv.n_slots) * static_cast<std::size_t>(config_.head_dim));
  to_double(out, kv.k.data());
}

}  // namespace kvscope::cuda
