// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/key_questions.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "backend/cuda/host_numbers.h"
#include "core/error.h"
#include "core/slot_runs.h"

namespace kvscope::cuda {

namespace {

void check_slots(const HeadKv& kv, std::span<const int> slots) {
  for (const int slot : slots) KVSCOPE_ASSERT(slot >= 0 && slot < kv.n_slots);
}

/// The usual step: nothing need be listed.
bool all_but_one(const NearestJob& job) { return job.to.empty() && job.from.size() == 1; }

}  // namespace

void cosines(Device& device, const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<double> out) {
  KVSCOPE_ASSERT(out.size() == from.size() * to.size());
  check_slots(kv, from);
  check_slots(kv, to);
  if (out.empty()) return;
  const auto held = device.lock();
  const std::size_t n = static_cast<std::size_t>(kv.n_slots);
  auto* const norms = device.scratch_of<double>(Device::Use::results, n + out.size());
  Upload slots(device);
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
  device.flush();
  Upload up(device);
  const std::size_t at_job = up.add(std::span(&job, 1));
  up.send();
  key_norms(device.work(), device.type(), up.at<PairJob>(at_job), 1, job.n, device.head_dim());
  cosines(device.work(), device.type(), up.at<PairJob>(at_job), 1, job.n_from, device.head_dim());
  device.download(out.data(), job.values, out.size_bytes());
}

void nearest(Device& device, std::span<const NearestJob> jobs) {
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
  const auto held = device.lock();
  device.flush();
  // norms, then what comes back: the cosines of all jobs and the places of what was found
  const std::size_t n_back = n_results + (n_results + 1) / 2;
  auto* const norms = device.scratch_of<double>(Device::Use::results, n_norms + n_back);
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
  Upload slots_up(device);
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
  Upload up(device);
  const std::size_t at_pairs = up.add(pairs);
  up.send();
  const int n_pairs = static_cast<int>(pairs.size());
  if (most_from > 1) key_norms(device.work(), device.type(), up.at<PairJob>(at_pairs), n_pairs, most_n, device.head_dim());
  nearest(device.work(), device.type(), up.at<PairJob>(at_pairs), n_pairs, most_from, device.head_dim());
  std::vector<double> host(n_back);
  device.download(host.data(), values, n_results * (sizeof(double) + sizeof(int)));
  const double* cosine = host.data();
  const auto* of_places = reinterpret_cast<const std::byte*>(cosine + n_results);
  for (const NearestJob& job : jobs) {
    std::copy_n(cosine, job.from.size(), job.cosines.data());
    cosine += job.from.size();
    if (!job.from.empty()) std::memcpy(job.places.data(), of_places, job.places.size_bytes());
    of_places += job.places.size_bytes();
  }
}

void key_rows(Device& device, std::span<const KeyRowsJob> jobs) {
  const std::size_t width = static_cast<std::size_t>(device.head_dim());
  std::vector<CopyJob> copies;
  for (const KeyRowsJob& job : jobs) {
    KVSCOPE_ASSERT(job.out.size() == job.slots.size() * width);
    check_slots(*job.kv, job.slots);
    for (const int slot : job.slots)
      copies.push_back(
          {nullptr, job.kv->k.as<std::byte>() + device.row_bytes() * static_cast<std::size_t>(job.kv->row(slot)), device.row_bytes()});
  }
  if (copies.empty()) return;
  const auto held = device.lock();
  device.flush();
  auto* const rows = static_cast<std::byte*>(device.scratch(Device::Use::results, device.row_bytes() * copies.size()));
  for (std::size_t i = 0; i < copies.size(); ++i) copies[i].to = rows + device.row_bytes() * i;
  device.copy_together(copies);
  std::vector<double> host(copies.size() * width);
  to_double(device, host, rows);
  scatter(host, jobs);
}

void keys(Device& device, const HeadKv& kv, std::span<double> out) {
  KVSCOPE_ASSERT(out.size() == static_cast<std::size_t>(kv.n_slots) * static_cast<std::size_t>(device.head_dim()));
  if (kv.order.empty()) return to_double(device, out, kv.k.data());
  std::vector<int> all(static_cast<std::size_t>(kv.n_slots));
  std::iota(all.begin(), all.end(), 0);
  const KeyRowsJob job{.kv = &kv, .slots = all, .out = out};
  key_rows(device, {&job, 1});
}

}  // namespace kvscope::cuda
