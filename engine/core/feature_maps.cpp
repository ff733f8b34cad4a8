// SPDX-License-Identifier: Apache-2.0
#include "core/feature_maps.h"

#include <cmath>
#include <cstddef>

#include "core/gelu.h"

namespace kvscope {
namespace {

/// x [rows of w] W of one head, each number of the result through `after`.
template <class After>
std::vector<double> times(std::span<const double> x, const std::vector<double>& weights, int head, int width, After after) {
  const auto columns = static_cast<std::size_t>(width);
  const double* w = weights.data() + static_cast<std::size_t>(head) * x.size() * columns;
  std::vector<double> out(columns);
  for (const double value : x)
    for (double& sum : out) sum += value * *w++;
  for (double& sum : out) sum = after(sum);
  return out;
}

double absolute_gelu(double x) { return std::abs(gelu(x)); }

}  // namespace

std::vector<double> FeatureMaps::of_query(int layer, int kv_head, std::span<const double> q) const {
  const int head = layer * n_kv_heads + kv_head;
  return times(times(q, query_1, head, hidden, gelu), query_2, head, width, absolute_gelu);
}

std::vector<double> FeatureMaps::of_key(int layer, int kv_head, std::span<const double> k) const {
  const int head = layer * n_kv_heads + kv_head;
  const std::vector<double> features = times(times(k, key_1, head, hidden, gelu), key_2, head, width, gelu);
  return times(features, key_mixed, head, width, [](double x) { return std::abs(x); });
}

}  // namespace kvscope
