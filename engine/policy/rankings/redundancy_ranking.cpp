// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/redundancy_ranking.h"

#include <numeric>

#include "policy/rankings/rows.h"

namespace kvscope {

std::vector<double> window_importance(const LogMeanRows& z, int rows, std::size_t ranked) {
  const auto group = static_cast<std::size_t>(z.ring().width());
  const int last = z.rows(), first = std::max(0, last - rows);
  std::vector<double> mean(ranked, 0.0), largest(ranked);
  for (int r = first; r < last; ++r) {
    const std::vector<double> row = z.row(r);
    for (std::size_t i = 0; i < ranked; ++i) largest[i] = *std::ranges::max_element(std::span(row).subspan(i * group, group));
    softmax(largest);
    for (std::size_t i = 0; i < ranked; ++i) mean[i] += largest[i] / (last - first);
  }
  return mean;
}

std::vector<double> key_redundancy(const KeyGeometry& keys, std::size_t n, double similar) {
  constexpr std::size_t kRows = 64;  // at a time: all cosines of a long prompt would not fit into memory
  std::vector<int> all(n);
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> sum(n, 0.0);
  for (std::size_t first = 0; first < n; first += kRows) {
    const std::size_t count = std::min(kRows, n - first);
    std::vector<double> cosines = keys.cosines(std::span(all).subspan(first, count), all);
    for (std::size_t r = 0; r < count; ++r) {
      const auto row = std::span(cosines).subspan(r * n, n);
      row[first + r] = 0;
      std::size_t newest = n;
      while (newest > 0 && !(row[newest - 1] > similar)) --newest;
      row[newest > 0 ? newest - 1 : 0] = 0;
      for (std::size_t i = 0; i < n; ++i) sum[i] += row[i];
    }
  }
  for (double& x : sum) x /= static_cast<double>(n);
  softmax(sum);
  return sum;
}

std::vector<double> RedundancyRanking::score(const HeadView& head) const {
  const std::size_t n = head.slots->pos.size(), ranked = n - std::min(n, static_cast<std::size_t>(o_.window));
  std::vector<double> score(n, kNone);
  if (ranked == 0) return score;
  const std::vector<double> importance = pool_1d(window_importance(head.slots->z_rows, o_.window, ranked), o_.kernel, Pool::max);
  const std::vector<double> redundancy = key_redundancy(*head.keys, n, o_.similar);
  for (std::size_t i = 0; i < ranked; ++i) score[i] = o_.lambda * importance[i] - (1 - o_.lambda) * redundancy[i];
  return score;
}

}  // namespace kvscope
