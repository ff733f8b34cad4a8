// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/vector_math.h"
#include "slots/slot_state.h"

namespace kvscope {

std::vector<double> all_keys(const HeadView& head) {
  std::vector<int> slots(head.slots->pos.size());
  std::iota(slots.begin(), slots.end(), 0);
  std::vector<double> rows;
  head.keys->keys(slots, rows);
  return rows;
}

void rotate(std::span<double> x, std::span<const double> rotation, std::size_t stride) {
  const std::size_t half = rotation.size() / 2;
  for (std::size_t f = 0; f < half; ++f) {
    double &a = x[f * stride], &b = x[(f + half) * stride];
    const double c = rotation[f], s = rotation[f + half], was = a;
    a = c * a - s * b;
    b = c * b + s * was;
  }
}

void softmax(std::span<double> x) {
  if (x.empty()) return;
  const double top = *std::ranges::max_element(x);
  double sum = 0;
  for (double& v : x) v -= top;
  exp_all(x);
  for (const double v : x) sum += v;
  for (double& v : x) v /= sum;
}

Moments moments(std::span<const double> x) {
  Moments m;
  if (x.empty()) return m;
  const auto n = static_cast<double>(x.size());
  for (const double v : x) m.mean += v;
  m.mean /= n;
  if (x.size() == 1) return m;
  for (const double v : x) m.deviation += (v - m.mean) * (v - m.mean);
  m.deviation = std::sqrt(m.deviation / (n - 1));
  return m;
}

double standardised(double x, const Moments& m) {
  constexpr double kGrid = 1e9;
  return std::round((x - m.mean) / std::max(m.deviation, 1e-6) * kGrid) / kGrid;
}

Moments normalise_layer(std::span<const std::span<double>> heads) {
  std::vector<double> all;
  for (const std::span<double> scores : heads)
    for (const double x : scores)
      if (std::isfinite(x)) all.push_back(x);
  const Moments m = moments(all);
  for (const std::span<double> scores : heads)
    for (double& x : scores) x = standardised(x, m);
  return m;
}

}  // namespace kvscope
