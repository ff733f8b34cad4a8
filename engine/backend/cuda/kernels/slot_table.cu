// SPDX-License-Identifier: Apache-2.0
// A step of full caches: a token comes, its attention is taken in, the slot of lowest score goes, or goes into another one. What numbers
// become is what slots/ makes of them.
#include <type_traits>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "core/vector_math.h"
#include "slots/mass_merge.h"
#include "slots/statistics/log_ema.h"
#include "slots/vote_bias.h"
#include "slots/weighted_rows.h"

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

__device__ inline double ema_start(const TableRule& rule, int times) { return times < rule.n_start ? rule.start[times] : 0; }

/// Predicted of the slot in this row.
__device__ inline double log_score(const TableHead& head, const TableRule& rule, int row, int g) {
  return head.lS[static_cast<long>(row) * rule.group + g] - ema_start(rule, head.times[row]);
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

/// The score is a statistic S.
template <class S>
struct OfStatistic {
  __device__ static double take(const TableHead& head, const TableRule& rule, int row, bool is_new, double abar) {
    double& cell = head.cells[row];
    if (is_new) cell = S::init(NewSlot());
    S::fold(cell, abar, StatParams{.lambda = rule.lambda});
    return S::score(cell);
  }
  __device__ static void unite(double& cell, double other) {
    if constexpr (requires { S::unite(cell, other); }) S::unite(cell, other);
  }
};

/// The score is the weighted mean of the last rows. They are added up anew: sums of twice the digits do not show in which order.
struct OfRows {
  __device__ static double take(const TableHead& head, const TableRule& rule, int row, bool is_new, double abar) {
    const int newest = head.seen[head.capacity], rows = newest < rule.n_rows ? newest + 1 : rule.n_rows;
    int& seen = head.seen[row];
    seen = is_new ? 1 : seen < rule.n_rows ? seen + 1 : seen;
    const auto number = [&](int r) -> double& { return head.rows[static_cast<long>(r % rule.n_rows) * head.capacity + row]; };
    number(newest) = abar;
    DoublePair sum, by_place;
    for (int r = rows - seen; r < rows; ++r) {
      const double x = number(newest + 1 - rows + r);
      sum.add(x);
      sum = sum.rounded();
      by_place.add_times(r, x);
      by_place = by_place.rounded();
    }
    return head.cells[row] = weighted_rows(sum.high, by_place.high, rows, seen);
  }
  __device__ static void unite(double&, double) {}
};

/// combine(number of thread 0, number of thread t) over all of them, for thread 0, and whoever reads it before the next one.
template <class Combine>
__device__ inline double over_threads(double number, double* of_threads, const Combine& combine) {
  const int t = static_cast<int>(threadIdx.x);
  __syncthreads();
  of_threads[t] = number;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) of_threads[t] = combine(of_threads[t], of_threads[t + half]);
    __syncthreads();
  }
  return of_threads[0];
}

/// One block per head. Log-scores follow the step's logits; ln Z_g as log_normalisers() makes it.
template <class T>
__global__ void __launch_bounds__(kThreads) predict(const TableHead* heads, const TableRule* rules) {
  static_assert(kThreads == kMassSums);
  __shared__ double of_threads[kThreads];
  const TableHead& head = heads[blockIdx.x];
  const TableRule rule = *rules;
  const int t = static_cast<int>(threadIdx.x);
  for (int slot = t; slot < head.n; slot += kThreads) {
    const int row = head.order[slot];
    bool scored = false;
    for (int g = rule.group - 1; g >= 0; --g) {
      const double z =
          static_cast<double>(to_float(static_cast<const T*>(head.logits)[static_cast<long>(g) * head.n + slot])) + head.extra[row];
      scored = z != -INFINITY;
      double& lS = head.lS[static_cast<long>(row) * rule.group + g];
      if (scored) lS = log_ema::folded(lS, z, rule.ln_keep, rule.ln_new);
    }
    head.times[row] += scored;
  }
  for (int g = 0; g < rule.group; ++g) {
    double top = -INFINITY, total = 0;
    for (int slot = t; slot < head.n; slot += kThreads) top = fmax(top, log_score(head, rule, head.order[slot], g));
    top = over_threads(top, of_threads, [](double x, double y) { return fmax(x, y); });
    for (int slot = t; slot < head.n; slot += kThreads) {
      const int row = head.order[slot];
      total += head.votes[row] * exp_one(log_score(head, rule, row, g) - top);
    }
    total = over_threads(total, of_threads, [](double x, double y) { return x + y; });
    if (t == 0) head.merge[g] = top + log_one(total);
  }
}

/// One block per head.
template <class T, class Score>
__global__ void __launch_bounds__(kThreads) displace(const TableHead* heads, const TableRule* rules) {
  __shared__ Lowest of_threads[kThreads];
  const TableHead& head = heads[blockIdx.x];
  const TableRule rule = *rules;
  const int t = static_cast<int>(threadIdx.x);
  Lowest lowest{NAN, NAN, -1, 0};
  for (int slot = t; slot < head.n; slot += kThreads) {
    const int row = head.order[slot];
    const bool is_new = slot == head.n - 1;
    if (is_new) head.positions[row] = head.positions[head.capacity]++;
    const double score = Score::take(head, rule, row, is_new, attention_to<T>(head, slot, rule));
    if (slot < head.first || slot >= head.end) continue;
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
  if (t == 0) {
    *head.displaced = {lowest.score, lowest.cutoff, NAN, NAN, NAN, head.positions[head.order[lowest.slot]], 1, -1, lowest.n_nan};
    if (head.seen) ++head.seen[head.capacity];
  }
  move_to_end(head.order, lowest.slot, head.n);
}

/// The weights of a mean by votes; the statistic as it says.
template <class Score>
__device__ inline void join_by_votes(const TableHead& head, int row, int gone) {
  const double votes = head.votes[row], total = votes + head.votes[gone];
  Score::unite(head.cells[row], head.cells[gone]);
  head.weights[0] = votes / total;
  head.weights[1] = head.votes[gone] / total;
}

__device__ inline void join_by_mass(const TableHead& head, const TableRule& rule, int row, int gone) {
  const int group = rule.group, rows[] = {row, gone};
  double *const T = head.merge + group, *const m = T + group, *const lshat = m + group;
  double *const votes = lshat + 2 * group, *const extra = votes + 2, *const mu = extra + 2;
  for (int i = 0; i < 2; ++i) {
    votes[i] = head.votes[rows[i]];
    extra[i] = head.extra[rows[i]];
    for (int g = 0; g < group; ++g) lshat[i * group + g] = log_score(head, rule, rows[i], g);
  }
  const MassMerge merge{2, group, votes, extra, lshat, head.merge, mu, head.weights, T, m};
  merge.make();
  head.extra[row] = rule.fills_mass ? merge.missing() : 0;
  for (int g = 0; g < group; ++g) head.lS[static_cast<long>(row) * group + g] = T[g] + ema_start(rule, head.times[row]);
}

/// One block per head, of which one thread works. What went is the row behind all slots, which the next token takes.
template <class Score>
__global__ void __launch_bounds__(kThreads) join(const TableHead* heads, const TableRule* rules) {
  if (threadIdx.x != 0) return;
  const TableHead& head = heads[blockIdx.x];
  const TableRule rule = *rules;
  const int row = head.into[*head.nearest], gone = head.order[head.n - 1];
  const bool joins = !head.logits || *head.cosine >= head.threshold;
  Displaced& displaced = *head.displaced;
  displaced.votes = head.votes[gone];
  if (head.logits) displaced.cosine = *head.cosine;
  head.fusion[0].target = head.fusion[1].target = joins ? row : gone;  // of which nothing is left
  head.members[0] = row;
  head.members[1] = gone;
  if (joins) {
    head.logits ? join_by_mass(head, rule, row, gone) : join_by_votes<Score>(head, row, gone);
    head.votes[row] += head.votes[gone];
    head.bias[row] = static_cast<float>(slot_bias(rule.vote_factor, head.votes[row], head.logits ? head.extra[row] : 0));
    displaced.into = head.positions[row];
    displaced.w_target = head.weights[0];
    displaced.w_removed = head.weights[1];
  }
  head.votes[gone] = 1;
  head.bias[gone] = 0;
  if (head.logits) {
    head.extra[gone] = 0;
    head.times[gone] = 0;
    for (int g = 0; g < rule.group; ++g) head.lS[static_cast<long>(gone) * rule.group + g] = -INFINITY;
  }
}

/// body(OfStatistic<S>{}) with the statistic of this name, where the attention of steps changes it; without one body(OfRows{}).
template <class Body>
void with_score(std::optional<StatId> id, const Body& body) {
  if (!id) return body(OfRows{});
  const auto try_one = [&]<class S>(StatId its, S) {
    if constexpr (requires(double& cell, StatParams p) {
                    S::fold(cell, 0.0, p);
                    S::score(cell);
                  })
      if (*id == its) body(OfStatistic<S>{});
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

void predict_scores(Work& work, DType type, const TableHead* heads, int n_heads, const TableRule* rule) {
  with_type(type,
            [&]<class T>(T) { launch("log-scores of slots", predict<T>, static_cast<unsigned>(n_heads), kThreads, 0, work, heads, rule); });
}

void displace_lowest(Work& work, DType type, const TableHead* heads, int n_heads, std::optional<StatId> statistic, const TableRule* rule) {
  with_type(type, [&]<class T>(T) {
    with_score(statistic, [&]<class Score>(Score) {
      launch("statistics of slots", displace<T, Score>, static_cast<unsigned>(n_heads), kThreads, 0, work, heads, rule);
    });
  });
}

void join_displaced(Work& work, const TableHead* heads, int n_heads, std::optional<StatId> statistic, const TableRule* rule) {
  with_score(statistic, [&]<class Score>(Score) {
    launch("what slots are joined to", join<Score>, static_cast<unsigned>(n_heads), kThreads, 0, work, heads, rule);
  });
}

}  // namespace kvscope::cuda
