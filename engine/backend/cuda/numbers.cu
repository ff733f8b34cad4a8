// SPDX-License-Identifier: Apache-2.0
// Numbers of slots (backend/slot_numbers.h): what a step's attention does to them, and which slot is worth least. Everything in double.
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"

namespace kvscope::cuda {

namespace {

constexpr int kObserveThreads = 128;

__device__ inline double log_add_exp(double x, double y) {
  const double top = x > y ? x : y, distance = x > y ? y - x : x - y;
  return top + log(1.0 + (x == y ? 1.0 : exp(distance)));  // both the same infinity too
}

__device__ inline void start_slot(const NumberRules& r, int group, double* row) {
  for (int i = 0; i < r.width; ++i) row[i] = 0;
  if (r.votes >= 0) row[r.votes] = 1;
  if (r.ema >= 0)
    for (int g = 0; g < group; ++g) row[r.ema + g] = -INFINITY;
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
  if (slot >= job.n_known) start_slot(job.rules, group, row);
  if (job.rules.times >= 0) row[job.rules.times] += 1;
  if (job.probabilities) take_attention<T>(job, group, slot, row);
  if (job.logits) take_logits<T>(job, group, slot, row);
}

constexpr int kThreads = 256, kWarps = kThreads / 32, kTogether = 4;

/// All threads' numbers joined, the same bits in each of them. All must call it.
template <class Join>
__device__ inline double over_block(double x, double* of_warps, const Join& join) {
  for (int step = 16; step > 0; step /= 2) x = join(x, __shfl_xor_sync(0xffffffffu, x, step));
  __syncthreads();  // the last call's numbers have been read
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = of_warps[0];
  for (int w = 1; w < kWarps; ++w) x = join(x, of_warps[w]);
  return x;
}

/// lshat_{g,i} = lS_{g,i} minus this. A slot that was never scored stays at -inf.
__device__ inline double start_up(const NumberRules& r, const double* row) {
  const double n = row[r.ema_n];
  return n == 0 ? 0.0 : log(1.0 - pow(r.alpha, n));
}

/// ln Z_g of all query heads, some at a time. Slots without votes have one each.
__device__ inline void write_log_normalisers(const LowestQuestion& job, int group, double* of_warps) {
  const NumberRules& r = job.rules;
  const auto larger = [](double x, double y) { return x > y ? x : y; };
  const auto plus = [](double x, double y) { return x + y; };
  for (int first = 0; first < group; first += kTogether) {
    const int heads = min(kTogether, group - first);
    double top[kTogether], total[kTogether];
    // body(slot's row, head, lshat)
    const auto for_each_score = [&](const auto& body) {
      for (int i = static_cast<int>(threadIdx.x); i < job.n; i += kThreads) {
        const double* const row = job.rows + static_cast<long>(i) * r.width;
        const double correction = start_up(r, row);
#pragma unroll
        for (int h = 0; h < kTogether; ++h)
          if (h < heads) body(row, h, row[r.ema + first + h] - correction);
      }
    };
#pragma unroll
    for (int h = 0; h < kTogether; ++h) {
      top[h] = -INFINITY;
      total[h] = 0;
    }
    for_each_score([&](const double*, int h, double lshat) { top[h] = lshat > top[h] ? lshat : top[h]; });
#pragma unroll
    for (int h = 0; h < kTogether; ++h) top[h] = over_block(top[h], of_warps, larger);
    for_each_score([&](const double* row, int h, double lshat) { total[h] += (r.votes >= 0 ? row[r.votes] : 1.0) * exp(lshat - top[h]); });
#pragma unroll
    for (int h = 0; h < kTogether; ++h) {
      const double sum = over_block(total[h], of_warps, plus);
      if (h < heads && threadIdx.x == 0) job.out[2 + first + h] = top[h] + log(sum);
    }
  }
  __syncthreads();
}

/// By all lanes of a warp, the same bits in each: lane l takes every 32nd row of the ring from the l-th oldest on.
__device__ inline double window_score(const LowestQuestion& job, const double* row) {
  const NumberRules& r = job.rules;
  const int m = min(r.ring_rows, job.steps);
  const double step = m > 1 ? (1.2 - 1.0) / (m - 1) : 0.0;
  double sum = 0, by_place = 0;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < m; i += 32) {
    const double abar = row[r.ring + (job.steps - m + i) % r.ring_rows];
    sum += abar;
    by_place += i * abar;
  }
  sum = sum_over_lanes(sum);
  by_place = sum_over_lanes(by_place);
  const double rows = m;
  return (sum + step * by_place) / (row[r.times] < rows ? row[r.times] : rows);
}

__device__ inline double score_of(const LowestQuestion& job, int group, const double* row) {
  const NumberRules& r = job.rules;
  switch (job.score) {
    case SlotScore::sum:
      return row[r.sum];
    case SlotScore::mean:
      return row[r.sum] / row[r.times];
    case SlotScore::decayed:
      return row[r.decayed];
    case SlotScore::window:
      return window_score(job, row);
    case SlotScore::ema_share:
      break;
  }
  const double correction = start_up(r, row);
  double share = 0;
  for (int g = 0; g < group; ++g) share += row[r.votes] * exp(row[r.ema + g] - correction - job.out[2 + g]) / group;
  return share;
}

/// n numbers, ascending.
__device__ inline bool contains(const int* numbers, int n, int x) {
  int low = 0, high = n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (numbers[middle] < x)
      low = middle + 1;
    else
      high = middle;
  }
  return low < n && numbers[low] == x;
}

struct Candidate {
  double score = INFINITY;
  int slot = -1;

  /// Of equal ones the last goes.
  __device__ void meet(double other, int other_slot) {
    if (other > score || (other == score && other_slot < slot)) return;
    score = other;
    slot = other_slot;
  }
};

/// One block for each head. A slot is looked at by a thread, or by a warp where it has many numbers.
__global__ void __launch_bounds__(kThreads) lowest_slot(const LowestQuestion* jobs, const int* all_left_out, int group) {
  __shared__ double of_warps[kWarps];
  __shared__ int slots[kWarps];
  const LowestQuestion& job = jobs[blockIdx.x];
  const int t = static_cast<int>(threadIdx.x), lanes = job.score == SlotScore::window ? 32 : 1;
  if (job.rules.ema >= 0) {
    write_log_normalisers(job, group, of_warps);
  } else {
    for (int g = t; g < group; g += kThreads) job.out[2 + g] = 0;
  }
  const int* const left_out = all_left_out + job.first_left_out;
  Candidate best;
  for (int i = job.first + t / lanes; i < job.last; i += kThreads / lanes) {
    if (contains(left_out, job.n_left_out, i)) continue;
    const double score = score_of(job, group, job.rows + static_cast<long>(i) * job.rules.width);
    best.meet(score != score ? -INFINITY : score, i);  // NaN
  }
  for (int step = 16; step > 0; step /= 2) {
    const double score = __shfl_xor_sync(0xffffffffu, best.score, step);
    const int slot = __shfl_xor_sync(0xffffffffu, best.slot, step);
    best.meet(score, slot);
  }
  __syncthreads();
  if (t % 32 == 0) {
    of_warps[t / 32] = best.score;
    slots[t / 32] = best.slot;
  }
  __syncthreads();
  best = {of_warps[0], slots[0]};  // the same in all threads
  for (int w = 1; w < kWarps; ++w) best.meet(of_warps[w], slots[w]);
  if (t == 0) {
    job.out[0] = best.slot;
    job.out[1] = best.score;
  }
  const int width = job.rules.width;
  for (int i = t; i < 2 * width; i += kThreads) {  // of it and of the next one
    const int slot = best.slot + i / width;
    job.out[2 + group + i] = best.slot >= 0 && slot < job.n ? job.rows[static_cast<long>(slot) * width + i % width] : 0;
  }
}

}  // namespace

void observe(Work& work, DType type, const ObserveStep* jobs, int n_jobs, int most_n, int group) {
  with_type(type, [&](auto t) {
    launch("numbers of slots", observe_rows<decltype(t)>, dim3(blocks_for(most_n, kObserveThreads), static_cast<unsigned>(n_jobs)),
           kObserveThreads, 0, work, jobs, group);
  });
}

void lowest(Work& work, const LowestQuestion* jobs, int n_jobs, const int* left_out, int group) {
  launch("lowest slots", lowest_slot, static_cast<unsigned>(n_jobs), kThreads, 0, work, jobs, left_out, group);
}

}  // namespace kvscope::cuda
