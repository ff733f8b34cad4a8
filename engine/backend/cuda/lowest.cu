// SPDX-License-Identifier: Apache-2.0
// Which slot is worth least by its numbers (backend/slot_numbers.h). Everything in double.
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"

namespace kvscope::cuda {

namespace {

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

/// By so many lanes of a warp, the same bits in each: lane l takes every so many rows of the ring one, from the l-th oldest on.
__device__ inline double window_score(const LowestQuestion& job, const double* row, int lanes) {
  const NumberRules& r = job.rules;
  const int m = min(r.ring_rows, job.steps);
  const double step = m > 1 ? (1.2 - 1.0) / (m - 1) : 0.0;
  double sum = 0, by_place = 0;
  for (int i = static_cast<int>(threadIdx.x) % lanes; i < m; i += lanes) {
    const double abar = row[place_in_ring(r, job.steps - m + i)];
    sum += abar;
    by_place += i * abar;
  }
  sum = sum_over_lanes(sum, lanes);
  by_place = sum_over_lanes(by_place, lanes);
  const double rows = m;
  return (sum + step * by_place) / (row[r.times] < rows ? row[r.times] : rows);
}

/// Numbers of slot i of a head that has its own in `rows`.
__device__ inline const double* row_of(const LowestQuestion& job, const double* rows, int i) {
  return rows + static_cast<long>(i) * job.rules.width;
}

__device__ inline double ema_share(const LowestQuestion& job, int group, const double* row) {
  const NumberRules& r = job.rules;
  const double correction = start_up(r, row);
  double share = 0;
  for (int g = 0; g < group; ++g) share += row[r.votes] * exp(row[r.ema + g] - correction - job.out[2 + g]) / group;
  return share;
}

__device__ inline double pooled_score(const LowestQuestion& job, const double* rows, int slot) {
  const int n = job.n - job.pooling.unranked, half = job.pooling.kernel / 2;
  if (slot >= n) return NAN;
  const int first = max(0, slot - half), last = min(n - 1, slot + half);
  double sum = 0, most = row_of(job, rows, slot)[job.rules.ring_mean];
  for (int i = first; i <= last; ++i) {
    const double mean = row_of(job, rows, i)[job.rules.ring_mean];
    sum += mean;
    most = most < mean ? mean : most;
  }
  return job.pooling.averages ? sum / (last - first + 1) : most;
}

/// What a slot is worth to one head.
__device__ inline double score_of(const LowestQuestion& job, int group, const double* rows, int slot, int lanes) {
  const NumberRules& r = job.rules;
  const double* const row = row_of(job, rows, slot);
  switch (job.score) {
    case SlotScore::sum:
      return row[r.sum];
    case SlotScore::mean:
      return row[r.sum] / row[r.times];
    case SlotScore::decayed:
      return row[r.decayed];
    case SlotScore::window:
      return window_score(job, row, lanes);
    case SlotScore::ema_share:
      return ema_share(job, group, row);
    case SlotScore::key_norm:
      return -row[r.key_norm];
    case SlotScore::hits:
      return row[r.hit_count];
    case SlotScore::pooled:
      return pooled_score(job, rows, slot);
  }
  return 0;
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

/// A slot's standard deviation as a whole number that is larger where it is, 0 where it is none; of equal ones the first slot has the larger place. No
/// two slots have the same.
struct Spread {
  unsigned long long deviation = 0;
  unsigned place = 0;
};
constexpr int kDigits = 12, kBins = 256;  // of 8 bits each, the most significant one first

__device__ inline Spread spread_of(const NumberRules& r, const double* row, int slot) {
  const double mean = row[r.sum] / row[r.times], variance = row[r.sum_sq] / row[r.times] - __dmul_rn(mean, mean);
  const double deviation = sqrt(variance < 0 ? 0.0 : variance);  // not below 0
  const unsigned long long bits = deviation != deviation ? 0 : static_cast<unsigned long long>(__double_as_longlong(deviation)) + 1;
  return {bits, ~static_cast<unsigned>(slot)};
}

__device__ inline int digit_of(const Spread& s, int digit) {
  return static_cast<int>((digit < 8 ? s.deviation >> (56 - 8 * digit) : s.place >> (88 - 8 * digit)) & (kBins - 1));
}

/// By their first so many digits: 1: x is larger, -1: y is, 0: they are the same.
__device__ inline int compare(const Spread& x, const Spread& y, int digits) {
  const int of_deviation = min(digits, 8), of_place = digits - of_deviation;
  if (of_deviation > 0) {
    const int left = 64 - 8 * of_deviation;
    const unsigned long long a = x.deviation >> left, b = y.deviation >> left;
    if (a != b) return a > b ? 1 : -1;
  }
  if (of_place > 0) {
    const int left = 32 - 8 * of_place;
    const unsigned a = x.place >> left, b = y.place >> left;
    if (a != b) return a > b ? 1 : -1;
  }
  return 0;
}

/// The free slots with the largest standard deviation: those that are not below `last` by their first so many digits.
struct Steady {
  Spread last;
  int digits = -1;  // there are none
  __device__ bool has(const NumberRules& r, const double* row, int slot) const {
    return digits >= 0 && compare(spread_of(r, row, slot), last, digits) >= 0;
  }
};

/// counts [kBins], shared: the digit at which those counted from the highest digit on become `want` or more; want becomes how many of that digit
/// are among them. All threads must call it; the same in each of them.
__device__ inline int digit_that_has(int* counts, int* found, int& want) {
  static_assert(kBins == kThreads);
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, digit = kBins - 1 - t, count = counts[digit];
  int up_to = count;  // in the bins of this warp's threads up to this one
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, up_to, step);
    if (lane >= step) up_to += before;
  }
  int* const of_warps = found + 2;
  if (lane == 31) of_warps[t / 32] = up_to;
  __syncthreads();
  for (int w = 0; w < t / 32; ++w) up_to += of_warps[w];
  if (up_to >= want && up_to - count < want) {  // one thread
    found[0] = digit;
    found[1] = want - (up_to - count);
  }
  __syncthreads();
  want = found[1];
  return found[0];
}

/// Digit by digit (radix select), by counting whole numbers: no order of the threads shows. Usually the first few digits tell. All threads must call
/// it; the same in each of them.
template <class Free>
__device__ inline Steady find_steady(const LowestQuestion& job, const Free& is_free) {
  __shared__ int counts[kBins];
  __shared__ int found[2 + kWarps];
  Steady steady;
  if (job.steady <= 0) return steady;
  const int t = static_cast<int>(threadIdx.x);
  int want = job.steady;
  for (int digit = 0; digit < kDigits; ++digit) {
    counts[t] = 0;
    __syncthreads();
    for (int i = job.first + t; i < job.last; i += kThreads) {
      if (!is_free(i)) continue;
      const Spread spread = spread_of(job.rules, row_of(job, job.rows, i), i);
      if (compare(spread, steady.last, digit) == 0) atomicAdd(&counts[digit_of(spread, digit)], 1);
    }
    __syncthreads();
    const int best = digit_that_has(counts, found, want);
    if (digit < 8)
      steady.last.deviation |= static_cast<unsigned long long>(best) << (56 - 8 * digit);
    else
      steady.last.place |= static_cast<unsigned>(best) << (88 - 8 * digit);
    steady.digits = digit + 1;
    const bool all_of_them = counts[best] == want;
    __syncthreads();
    if (all_of_them) break;
  }
  return steady;
}

struct Candidate {
  double score = INFINITY, tie_break = 0;
  int slot = -1;

  /// The lower score goes, then the lower tie_break; of equal ones the last.
  __device__ void meet(const Candidate& other) {
    if (other.score > score) return;
    if (other.score == score && (other.tie_break > tie_break || (other.tie_break == tie_break && other.slot < slot))) return;
    *this = other;
  }
};

/// The slot as all heads that decide together see it.
__device__ inline Candidate candidate(const LowestQuestion& job, int group, const double* const* others, int slot, int lanes) {
  const bool has_ties = job.score == SlotScore::hits;
  double score = score_of(job, group, job.rows, slot, lanes), tie = has_ties ? row_of(job, job.rows, slot)[job.rules.sum] : 0;
  for (int h = 0; h < job.n_others; ++h) {
    score += score_of(job, group, others[h], slot, lanes);
    if (has_ties) tie += row_of(job, others[h], slot)[job.rules.sum];
  }
  if (job.n_others > 0) {
    score /= 1 + job.n_others;
    tie /= 1 + job.n_others;
  }
  return {score != score ? -INFINITY : score, tie, slot};  // NaN
}

/// The lowest of all threads' candidates, the same in each of them. All must call it.
__device__ inline Candidate lowest_of_block(Candidate best) {
  __shared__ double scores[kWarps], ties[kWarps];
  __shared__ int slots[kWarps];
  for (int step = 16; step > 0; step /= 2)
    best.meet({__shfl_xor_sync(0xffffffffu, best.score, step), __shfl_xor_sync(0xffffffffu, best.tie_break, step),
               __shfl_xor_sync(0xffffffffu, best.slot, step)});
  if (threadIdx.x % 32 == 0) {
    scores[threadIdx.x / 32] = best.score;
    ties[threadIdx.x / 32] = best.tie_break;
    slots[threadIdx.x / 32] = best.slot;
  }
  __syncthreads();
  best = {};
  for (int w = 0; w < kWarps; ++w) best.meet({scores[w], ties[w], slots[w]});
  return best;
}

constexpr int kRowsOfAThread = 4;  // a ring that is longer is looked at by a warp

/// One block for each question. A slot is looked at by a thread, or by a warp where it has many numbers.
__global__ void __launch_bounds__(kThreads) lowest_slot(const LowestQuestion* jobs, const int* all_left_out,
                                                        const double* const* other_rows, int group) {
  __shared__ double of_warps[kWarps];
  const LowestQuestion& job = jobs[blockIdx.x];
  const int t = static_cast<int>(threadIdx.x), lanes = job.score == SlotScore::window && job.rules.ring_rows > kRowsOfAThread ? 32 : 1;
  if (job.rules.ema >= 0) {
    write_log_normalisers(job, group, of_warps);
  } else {
    for (int g = t; g < group; g += kThreads) job.out[2 + g] = 0;
  }
  const int* const left_out = all_left_out + job.first_left_out;
  const auto is_free = [&](int slot) { return !contains(left_out, job.n_left_out, slot); };
  const Steady steady = find_steady(job, is_free);
  Candidate best;
  for (int i = job.first + t / lanes; i < job.last; i += kThreads / lanes)
    if (is_free(i) && !steady.has(job.rules, row_of(job, job.rows, i), i))
      best.meet(candidate(job, group, other_rows + job.first_other, i, lanes));
  best = lowest_of_block(best);
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

void lowest(Work& work, const LowestQuestion* jobs, int n_jobs, const int* left_out, const double* const* other_rows, int group) {
  launch("lowest slots", lowest_slot, static_cast<unsigned>(n_jobs), kThreads, 0, work, jobs, left_out, other_rows, group);
}

}  // namespace kvscope::cuda
