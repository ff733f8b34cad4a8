// SPDX-License-Identifier: Apache-2.0
// Numbers of slots (backend/slot_numbers.h): what a step's attention does to them. Everything in double.
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"

namespace kvscope::cuda {

namespace {

constexpr int kObserveThreads = 128;

__device__ inline double log_add_exp(double x, double y) {
  const double top = x > y ? x : y, distance = x > y ? y - x : x - y;
  return top + log(1.0 + (x == y ? 1.0 : exp(distance)));  // both the same infinity too
}

__device__ inline void start_slot(const ObserveStep& job, int group, int slot, double* row) {
  const NumberRules& r = job.rules;
  for (int i = 0; i < r.width; ++i) row[i] = 0;
  if (r.votes >= 0) row[r.votes] = 1;
  if (r.ema >= 0)
    for (int g = 0; g < group; ++g) row[r.ema + g] = -INFINITY;
  if (r.key_norm >= 0) row[r.key_norm] = job.key_norms[slot - job.n_known];
}

__device__ inline double mean_of_ring(const ObserveStep& job, const double* row) {
  double sum = 0;
  for (int i = 0; i < job.n_ring_rows; ++i) sum += row[job.rules.ring + i];
  return sum / job.n_ring_rows;
}

__device__ inline void note_hit(const ObserveStep& job, bool hit, double* row) {
  double& number = row[job.rules.hits + job.hit_place / kHitBits];
  const unsigned bits = static_cast<unsigned>(number), bit = 1u << (job.hit_place % kHitBits);
  row[job.rules.hit_count] += static_cast<int>(hit) - static_cast<int>((bits & bit) != 0);
  number = hit ? bits | bit : bits & ~bit;
}

template <class T>
__device__ inline void take_attention(const ObserveStep& job, int group, int slot, double* row) {
  const NumberRules& r = job.rules;
  const T* const a = static_cast<const T*>(job.probabilities) + slot;
  double abar = static_cast<double>(to_float(a[0]));
  for (int g = 1; g < group; ++g) {
    const double x = static_cast<double>(to_float(a[static_cast<long>(g) * job.n]));
    abar = r.group != GroupReduce::max ? abar + x : abar < x ? x : abar;
  }
  if (r.group == GroupReduce::mean) abar /= group;
  if (r.sum >= 0) row[r.sum] += abar;
  if (r.decayed >= 0) row[r.decayed] = r.lambda * row[r.decayed] + abar;
  if (r.ring >= 0) row[r.ring + job.ring_place] = abar;
  if (r.sum_sq >= 0) row[r.sum_sq] += __dmul_rn(abar, abar);  // rounded: where one step scored a slot its variance is 0
  if (r.ring_mean >= 0) row[r.ring_mean] = mean_of_ring(job, row);
  if (r.hits >= 0) note_hit(job, abar >= 1.0 / job.n, row);
}

template <class T>
__device__ inline void take_logits(const ObserveStep& job, int group, int slot, double* row) {
  const NumberRules& r = job.rules;
  const T* const z = static_cast<const T*>(job.logits) + slot;
  const double extra = r.extra >= 0 ? row[r.extra] : 0.0;
  for (int g = 0; g < group; ++g) {
    const double now = static_cast<double>(to_float(z[static_cast<long>(g) * job.n])) + extra;
    if (now == -INFINITY) continue;
    row[r.ema + g] = log_add_exp(row[r.ema + g] + job.ln_keep, now + job.ln_new);
    if (g == 0) row[r.ema_n] += 1;
  }
}

/// A thread does all of a slot.
template <class T>
__global__ void __launch_bounds__(kObserveThreads) observe_rows(const ObserveStep* jobs, int group) {
  const ObserveStep& job = jobs[blockIdx.y];
  const int slot = static_cast<int>(blockIdx.x) * kObserveThreads + static_cast<int>(threadIdx.x);
  if (slot >= job.n) return;
  double* const row = job.rows + static_cast<long>(slot) * job.rules.width;
  if (slot >= job.n_known) start_slot(job, group, slot, row);
  if (job.rules.times >= 0) row[job.rules.times] += 1;
  if (job.probabilities) take_attention<T>(job, group, slot, row);
  if (job.logits) take_logits<T>(job, group, slot, row);
}

}  // namespace

void observe(Work& work, DType type, const ObserveStep* jobs, int n_jobs, int most_n, int group) {
  with_type(type, [&](auto t) {
    launch("numbers of slots", observe_rows<decltype(t)>, dim3(blocks_for(most_n, kObserveThreads), static_cast<unsigned>(n_jobs)),
           kObserveThreads, 0, work, jobs, group);
  });
}

}  // namespace kvscope::cuda
