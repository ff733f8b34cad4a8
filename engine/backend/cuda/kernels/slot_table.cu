// SPDX-License-Identifier: Apache-2.0
// A step of full caches: a token comes, its attention is taken in, the slot of lowest score goes, or goes into another one. Statistics are
// those of slots/statistics.
#include <type_traits>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "slots/vote_bias.h"

namespace kvscope::cuda {

namespace {

constexpr int kThreads = 256;

template <class Word>
__global__ void __launch_bounds__(kThreads) append_rows_of(const TableHead* heads, int words, const Word* k, const Word* v) {
  const TableHead& head = heads[blockIdx.x];
  const long to = static_cast<long>(head.order[head.n - 1]) * words, from = static_cast<long>(blockIdx.x) * words;
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kThreads) {
    static_cast<Word*>(head.k)[to + i] = k[from + i];
    static_cast<Word*>(head.v)[to + i] = v[from + i];
  }
}

/// Of some slots: the one that goes, and the lowest score of the others. Scores that are no number go first and are no cutoff.
struct Lowest {
  double score, cutoff;
  int slot, n_nan;  // slot: -1: there is none

  __device__ static double rank(double x) { return x == x ? x : -INFINITY; }
  __device__ void take(const Lowest& other) {
    n_nan += other.n_nan;
    if (other.slot < 0) return;
    const double theirs = rank(other.score), own = rank(score);
    const bool they_go = slot < 0 || theirs < own || (theirs == own && other.slot > slot);
    cutoff = fmin(cutoff, other.cutoff);  // of a number and none fmin takes the number
    if (slot >= 0) cutoff = fmin(cutoff, they_go ? score : other.score);
    score = they_go ? other.score : score;
    slot = they_go ? other.slot : slot;
  }
};

template <class T>
__device__ inline double attention_to(const TableHead& head, int slot, const TableRule& rule) {
  const T* const p = static_cast<const T*>(head.attention) + slot;
  double abar = static_cast<double>(to_float(p[0]));
  for (int g = 1; g < rule.group; ++g) {
    const double x = static_cast<double>(to_float(p[static_cast<long>(g) * head.n]));
    abar = rule.reduce == GroupReduce::max ? (abar < x ? x : abar) : abar + x;
  }
  return rule.reduce == GroupReduce::mean && rule.group > 1 ? abar / rule.group : abar;
}

/// The entry `slot` of an order of n goes to its end, those behind it move up.
__device__ inline void move_to_end(int* order, int slot, int n) {
  const int t = static_cast<int>(threadIdx.x), row = order[slot];
  __syncthreads();
  for (int begin = slot; begin < n - 1; begin += kThreads) {
    const int i = begin + t, next = i < n - 1 ? order[i + 1] : 0;
    __syncthreads();
    if (i < n - 1) order[i] = next;
    __syncthreads();
  }
  if (t == 0) order[n - 1] = row;
}

/// One block per head.
template <class T, class S>
__global__ void __launch_bounds__(kThreads) displace(const TableHead* heads, const TableRule* rules) {
  __shared__ Lowest of_threads[kThreads];
  const TableHead& head = heads[blockIdx.x];
  const TableRule rule = *rules;
  const int t = static_cast<int>(threadIdx.x);
  Lowest lowest{NAN, NAN, -1, 0};
  for (int slot = t; slot < head.n; slot += kThreads) {
    const int row = head.order[slot];
    double cell = head.cells[row];
    if (slot == head.n - 1) {
      cell = S::init(NewSlot());
      head.positions[row] = head.positions[head.capacity]++;
    }
    S::fold(cell, attention_to<T>(head, slot, rule), StatParams{.lambda = rule.lambda});
    head.cells[row] = cell;
    if (slot < head.first || slot >= head.end) continue;
    const double score = S::score(cell);
    const bool stays = head.collects && head.collects[row];
    lowest.take({score, NAN, stays ? -1 : slot, score == score ? 0 : 1});
  }
  of_threads[t] = lowest;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) of_threads[t].take(of_threads[t + half]);
    __syncthreads();
  }
  lowest = of_threads[0];
  if (t == 0) *head.displaced = {lowest.score, lowest.cutoff, head.positions[head.order[lowest.slot]], lowest.n_nan, 0, 0};
  move_to_end(head.order, lowest.slot, head.n);
}

/// One block per head. What went is the row behind all slots.
template <class S>
__global__ void __launch_bounds__(kThreads) fuse(const TableHead* heads, const TableRule* rule) {
  __shared__ double of_threads[kThreads];
  const TableHead& head = heads[blockIdx.x];
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) {
    const int place = *head.nearest, row = head.into[place], gone = head.order[head.n - 1], votes = head.votes[place]++;
    const double total = votes + 1.0;
    if constexpr (requires(double& cell) { S::unite(cell, cell); }) S::unite(head.cells[row], head.cells[gone]);
    head.bias[row] = static_cast<float>(vote_bias(rule->vote_factor, votes + 1));
    head.fusion[0].target = head.fusion[1].target = head.members[0] = row;
    head.members[1] = gone;
    head.weights[0] = votes / total;
    head.weights[1] = 1 / total;
    head.displaced->into = head.positions[row];
    head.displaced->votes = votes;
  }
  __syncthreads();
  double cutoff = NAN;  // of a number and none fmin takes the number
  for (int i = t; i < head.n_into; i += kThreads) cutoff = fmin(cutoff, S::score(head.cells[head.into[i]]));
  of_threads[t] = cutoff;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) of_threads[t] = fmin(of_threads[t], of_threads[t + half]);
    __syncthreads();
  }
  if (t == 0) head.displaced->cutoff = fmin(head.displaced->cutoff, of_threads[0]);
}

/// body(S{}) with the statistic of this name, where the attention of steps changes it.
template <class Body>
void with_statistic(StatId id, const Body& body) {
  const auto try_one = [&]<class S>(StatId its, S statistic) {
    if constexpr (requires(double& cell, StatParams p) {
                    S::fold(cell, 0.0, p);
                    S::score(cell);
                  })
      if (id == its) body(statistic);
  };
#define KVSCOPE_TRY(name, Type) try_one(StatId::name, statistics::Type{});
  KVSCOPE_STATISTICS(KVSCOPE_TRY)
#undef KVSCOPE_TRY
}

}  // namespace

void append_to_table(Work& work, const TableHead* heads, int n_heads, int row_bytes, const void* k, const void* v) {
  const auto with = [&](auto word) {
    using Word = decltype(word);
    launch("new slots", append_rows_of<Word>, static_cast<unsigned>(n_heads), kThreads, 0, work, heads,
           row_bytes / static_cast<int>(sizeof(Word)), static_cast<const Word*>(k), static_cast<const Word*>(v));
  };
  row_bytes % 16 == 0 ? with(uint4{}) : with(std::uint16_t{});
}

void displace_lowest(Work& work, DType type, const TableHead* heads, int n_heads, StatId statistic, const TableRule* rule) {
  with_type(type, [&]<class T>(T) {
    with_statistic(statistic, [&]<class S>(S) {
      launch("statistics of slots", displace<T, S>, static_cast<unsigned>(n_heads), kThreads, 0, work, heads, rule);
    });
  });
}

void fuse_displaced(Work& work, const TableHead* heads, int n_heads, StatId statistic, const TableRule* rule) {
  with_statistic(statistic, [&]<class S>(S) {
    launch("what slots collect", fuse<S>, static_cast<unsigned>(n_heads), kThreads, 0, work, heads, rule);
  });
}

}  // namespace kvscope::cuda
