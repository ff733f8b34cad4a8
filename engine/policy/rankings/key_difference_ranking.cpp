// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/key_difference_ranking.h"

#include <cmath>
#include <numeric>

#include "core/vector_math.h"

namespace kvscope {
namespace {

double norm(std::span<const double> x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

}  // namespace

std::vector<double> key_differences(std::span<const double> keys, std::size_t n) {
  if (n == 0) return {};
  const std::size_t width = keys.size() / n;
  std::vector<double> mean(width, 0.0), norms(n), score(n), weights(n);
  row_squares(keys.data(), width, norms);
  for (double& x : norms) x = std::sqrt(x);
  std::vector<const double*> rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    rows[i] = keys.data() + i * width;
    weights[i] = norms[i] > 0 ? 1 / (norms[i] * static_cast<double>(n)) : 0.0;
  }
  combine_rows(rows, weights, 1, mean);
  const double length = norm(mean);
  row_products(keys.data(), mean, score);
  for (std::size_t i = 0; i < n; ++i) score[i] = norms[i] > 0 && length > 0 ? -score[i] / (norms[i] * length) : 0.0;
  return score;
}

std::vector<double> KeyDifferenceRanking::score(const HeadView& head) const {
  thread_local std::vector<double> keys;  // kept by its thread: in a step an allocation would cost as much as the work
  std::vector<int> all(head.slots->pos.size());
  std::iota(all.begin(), all.end(), 0);
  head.keys->keys(all, keys);
  return key_differences(keys, all.size());
}

}  // namespace kvscope
