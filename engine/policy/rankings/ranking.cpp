// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/not_available.h"
#include "core/place.h"
#include "core/vector_math.h"
#include "slots/weighted_rows.h"

namespace kvscope {

std::vector<double> PositionRanking::score(const HeadView& head) const { return {head.slots->pos.begin(), head.slots->pos.end()}; }

std::string DecayedRanking::equation() const {
  return fmt::format("Σ attention of every query so far, {:g} times lighter with each step", lambda_);
}

std::vector<double> MeanRanking::score(const HeadView& head) const {
  head.note("Σ attention", head.slots->sum);
  if (head.terms) head.note("queries", std::vector<double>(head.slots->times.begin(), head.slots->times.end()));
  return statistic(*head.slots);
}

std::string MeanRanking::equation() const { return "Σ attention / queries: those so far that have seen the slot"; }

std::vector<double> MeanRanking::statistic(const SlotState& slots) const {
  std::vector<double> w(slots.sum);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] /= slots.times[i];
  return w;
}

void HitRanking::require(StatNeeds& needs) const {
  needs.hits = std::max(needs.hits, window_);
  needs.sum = true;
}

std::string HitRanking::equation() const {
  return fmt::format("queries, of the last {}, that paid it an equal share or more; of equal counts the larger Σ attention stays", window_);
}

std::vector<double> HitRanking::statistic(const SlotState& slots) const { return {slots.hits.counts().begin(), slots.hits.counts().end()}; }

std::string DeviationProtectedRanking::equation() const {
  return fmt::format("{}; the {} whose attention varies most are not ranked", MeanRanking().equation(), n_deviating_);
}

void DeviationProtectedRanking::protect(const HeadView& head, std::vector<char>& is_protected) const {
  const SlotState& slots = *head.slots;
  std::vector<int> free;
  free.reserve(is_protected.size());
  for (int i = 0; i < slots.size(); ++i)
    if (!is_protected[at(i)]) free.push_back(i);
  const int n_free = static_cast<int>(free.size()), c = head.slots_at_most > 0 ? head.slots_at_most : slots_;
  const int room = std::min({n_deviating_, std::max(0, c - (slots.size() - n_free)), n_free});
  if (room == 0) return;
  std::vector<double> std_dev(at(slots.size()));
  standard_deviations(slots.sum, slots.sum_sq, slots.times, std_dev);
  for (double& x : std_dev)
    if (std::isnan(x)) x = -std::numeric_limits<double>::infinity();
  std::vector<double> of_free;
  of_free.reserve(free.size());
  for (const int i : free) of_free.push_back(std_dev[at(i)]);
  std::optional<Largest> most = at(room) < of_free.size() ? largest(of_free, room) : std::nullopt;
  if (!most) {
    std::vector<double> sorted(of_free);
    std::ranges::nth_element(sorted, sorted.begin() + room - 1, std::greater<>());
    const double least = sorted[at(room - 1)];
    most = {least, static_cast<int>(std::ranges::count_if(of_free, [least](double x) { return x > least; }))};
  }
  int left = room - most->above;
  for (std::size_t i = 0; i < free.size(); ++i) {
    const bool equal = of_free[i] == most->least && left > 0;  // the lowest pos
    is_protected[at(free[i])] = of_free[i] > most->least || equal;
    left -= equal;
  }
}

void WeightedRowsRanking::require(StatNeeds& needs) const {
  needs.rows = std::max(needs.rows, rows_);
  needs.row_sums = RowSums::by_place;
}

static const char* const kWeights = "1 the oldest to 1.2 the newest, over how many of them saw the slot";

std::string WeightedRowsRanking::equation() const {
  return rows_ == 1 ? "attention of the last query"
                    : fmt::format("Σ attention of the last {} queries, or all there are, weighted {}", rows_, kWeights);
}

std::string RecentRowsRanking::equation() const {
  return fmt::format("Σ attention of as many queries as slots are recent, weighted {}", kWeights);
}

std::vector<double> WeightedRowsRanking::statistic(const SlotState& slots) const {
  const int rows = slots.rows.rows();
  std::vector<double> score = slots.rows.sums();
  const std::vector<double> by_place = slots.rows.sums_by_place();
  for (std::size_t i = 0; i < score.size(); ++i) score[i] = weighted_rows(score[i], by_place[i], rows, std::min(slots.times[i], rows));
  return score;
}

void PooledWindowRanking::require(StatNeeds& needs) const {
  needs.rows = std::max({needs.rows, w_, 1});
  needs.row_sums = std::max(needs.row_sums, RowSums::plain);
}

std::vector<double> PooledWindowRanking::statistic(const SlotState& slots) const {
  std::vector<double> mean = slots.rows.sums();
  for (double& x : mean) x /= slots.rows.rows();
  return mean;
}

std::vector<double> PooledWindowRanking::score(const HeadView& head) const {
  std::vector<double> mean = statistic(*head.slots);
  head.note("its own", mean);
  const std::size_t ranked = mean.size() - std::min(mean.size(), at(w_));
  std::vector<double> pooled(mean.size(), kNotAvailable);
  pool_1d(std::span(mean).first(ranked), kernel_, pool_, std::span(pooled).first(ranked));
  return pooled;
}

std::string PooledWindowRanking::equation() const {
  const std::string own = fmt::format("mean attention of the last {} queries, or all there are", w_);
  if (kernel_ <= 1) return "its own: " + own;
  const char* const how = pool_ == Pool::max ? "largest" : "mean";
  return fmt::format("{} of its own and {} neighbours': {}{}", how, kernel_ - 1, own,
                     pool_ == Pool::padded ? ", zeros beyond the ends" : "");
}

std::vector<double> pool_1d(std::span<const double> x, int kernel, Pool pool) {
  std::vector<double> out(x.size());
  pool_1d(x, kernel, pool, out);
  return out;
}

void pool_1d(std::span<const double> x, int kernel, Pool pool, std::span<double> out) {
  const int n = static_cast<int>(x.size());
  const int half = std::min(kernel / 2, n);
  std::ranges::copy(x, out.begin());
  if (pool == Pool::max) {  // one neighbour after the other for all slots at once
    const auto raise = [](double& best, double other) { best = best < other ? other : best; };
    for (int s = 1; s <= half; ++s) {
      for (int i = 0; i + s < n; ++i) raise(out[at(i)], x[at(i + s)]);
      for (int i = s; i < n; ++i) raise(out[at(i)], x[at(i - s)]);
    }
    return;
  }
  for (int i = 0; i < n; ++i) {
    const int first = std::max(0, i - half), last = std::min(n - 1, i + half);
    const auto begin = x.begin() + first, end = x.begin() + last + 1;
    out[at(i)] = std::accumulate(begin, end, 0.0) / (pool == Pool::padded ? kernel : last - first + 1);
  }
}

}  // namespace kvscope
