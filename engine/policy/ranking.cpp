// SPDX-License-Identifier: Apache-2.0
#include "policy/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kvscope {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

std::vector<double> PositionRanking::score(const HeadView& head) const { return {head.slots->pos.begin(), head.slots->pos.end()}; }

std::vector<double> MeanRanking::statistic(const SlotState& slots) const {
  std::vector<double> w(slots.sum);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] /= slots.times[i];
  return w;
}

std::vector<double> KeyNormRanking::statistic(const SlotState& slots) const {
  std::vector<double> score(slots.key_norm);
  for (double& s : score) s = -s;
  return score;
}

void HitRanking::require(StatNeeds& needs) const {
  needs.hits = std::max(needs.hits, window_);
  needs.sum = true;
}

std::vector<double> HitRanking::statistic(const SlotState& slots) const { return {slots.hits.counts().begin(), slots.hits.counts().end()}; }

void SteadyMeanRanking::protect(const HeadView& head, std::vector<char>& is_protected) const {
  const SlotState& slots = *head.slots;
  std::vector<int> free;
  for (int i = 0; i < slots.size(); ++i)
    if (!is_protected[at(i)]) free.push_back(i);
  const int n_protected = slots.size() - static_cast<int>(free.size());
  const int room = std::min({spread_, std::max(0, slots_ - n_protected), static_cast<int>(free.size())});
  if (room == 0) return;
  std::vector<double> std_dev(at(slots.size()));
  for (const int i : free) {
    const double mean = slots.sum[at(i)] / slots.times[at(i)];
    const double variance = std::max(slots.sum_sq[at(i)] / slots.times[at(i)] - mean * mean, 0.0);  // max(NaN, 0) is NaN
    std_dev[at(i)] = std::isnan(variance) ? -std::numeric_limits<double>::infinity() : std::sqrt(variance);
  }
  const auto before = [&](int a, int b) { return std_dev[at(a)] != std_dev[at(b)] ? std_dev[at(a)] > std_dev[at(b)] : a < b; };
  std::ranges::nth_element(free, free.begin() + room - 1, before);
  for (int i = 0; i < room; ++i) is_protected[at(free[at(i)])] = 1;
}

void WeightedRowsRanking::require(StatNeeds& needs) const { needs.rows = std::max(needs.rows, rows_); }

std::vector<double> WeightedRowsRanking::statistic(const SlotState& slots) const {
  const int rows = slots.rows.rows();
  const int n = slots.size();
  std::vector<double> score(at(n), 0.0);
  const double step = rows > 1 ? (1.2 - 1.0) / (rows - 1) : 0.0;
  const auto weight = [&](int r) { return rows == 1 ? 1.0 : r == rows - 1 ? 1.2 : r * step + 1.0; };
  double* s = score.data();
  int r = 0;
  for (; r + 4 <= rows; r += 4) {  // four rows at a time: the sums are the same, they stay in registers longer
    const double *a = slots.rows.row(r).data(), *b = slots.rows.row(r + 1).data(), *c = slots.rows.row(r + 2).data(),
                 *d = slots.rows.row(r + 3).data();
    const double wa = weight(r), wb = weight(r + 1), wc = weight(r + 2), wd = weight(r + 3);
    for (int i = 0; i < n; ++i) s[i] = (((s[i] + wa * a[i]) + wb * b[i]) + wc * c[i]) + wd * d[i];
  }
  for (; r < rows; ++r) {
    const double* a = slots.rows.row(r).data();
    const double wa = weight(r);
    for (int i = 0; i < n; ++i) s[i] += wa * a[i];
  }
  for (int i = 0; i < n; ++i) score[at(i)] /= std::min(slots.times[at(i)], rows);
  return score;
}

void PooledWindowRanking::require(StatNeeds& needs) const { needs.rows = std::max({needs.rows, w_, 1}); }

std::vector<double> PooledWindowRanking::statistic(const SlotState& slots) const {
  const int rows = slots.rows.rows();
  const std::size_t n = slots.pos.size();
  std::vector<double> mean(n, 0.0);
  for (int r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < n; ++i) mean[i] += slots.rows.row(r)[i];
  for (double& x : mean) x /= rows;
  return mean;
}

std::vector<double> PooledWindowRanking::score(const HeadView& head) const {
  std::vector<double> mean = statistic(*head.slots);
  const std::size_t ranked = mean.size() - std::min(mean.size(), at(w_));
  std::vector<double> pooled = pool_1d(std::span(mean).first(ranked), kernel_, pool_);
  pooled.resize(mean.size(), kNone);
  return pooled;
}

std::vector<double> pool_1d(std::span<const double> x, int kernel, Pool pool) {
  const int n = static_cast<int>(x.size());
  const int half = std::min(kernel / 2, n);
  std::vector<double> out(x.size());
  for (int i = 0; i < n; ++i) {
    const int first = std::max(0, i - half), last = std::min(n - 1, i + half);
    const auto begin = x.begin() + first, end = x.begin() + last + 1;
    out[at(i)] = pool == Pool::max ? *std::max_element(begin, end) : std::accumulate(begin, end, 0.0) / (last - first + 1);
  }
  return out;
}

}  // namespace kvscope
