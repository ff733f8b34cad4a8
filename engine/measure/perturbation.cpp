// SPDX-License-Identifier: Apache-2.0
#include "measure/perturbation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/group_reduce.h"
#include "core/not_available.h"

namespace kvscope {

double rel_l2(std::span<const double> a, std::span<const double> b) {
  double difference = 0, reference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    reference += b[i] * b[i];
  }
  if (difference == 0) return 0;
  return reference > 0 ? std::sqrt(difference) / std::sqrt(reference) : kNotAvailable;
}

double mean_rel_l2(std::span<const double> a, std::span<const double> b, int group) {
  const std::size_t d = a.size() / group;
  double sum = 0;
  for (int g = 0; g < group; ++g) sum += rel_l2(a.subspan(g * d, d), b.subspan(g * d, d));
  return sum / group;
}

double attention_loss(std::span<const double> attention, int group, std::span<const int> evicted) {
  const std::size_t n = attention.size() / group;
  double lost = 0;
  for (int g = 0; g < group; ++g) {
    for (const int pos : evicted) lost += attention[g * n + pos];
  }
  return lost / group;
}

std::vector<float> mean_over_group(std::span<const double> p, int group) {
  const std::size_t n = p.size() / group;
  if (group == 1) return {p.begin(), p.end()};
  thread_local std::vector<double> mean;  // kept by its thread: in a step an allocation would cost as much as the work
  mean.resize(n);
  reduce_group(p.data(), n, group, GroupReduce::mean, mean);
  return {mean.begin(), mean.end()};
}

std::vector<std::uint8_t> agreement(std::span<const double> attention, int group, int budget) {
  const std::size_t n = attention.size() / static_cast<std::size_t>(group);
  const std::size_t inside = std::min(n, static_cast<std::size_t>(budget));
  std::vector<std::uint8_t> out(n, 0);
  std::vector<std::uint32_t> order(n);
  for (int g = 0; g < group; ++g) {
    const std::span<const double> a = attention.subspan(static_cast<std::size_t>(g) * n, n);
    std::iota(order.begin(), order.end(), 0U);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(inside);
    std::nth_element(order.begin(), end, order.end(), [&](std::uint32_t i, std::uint32_t j) { return a[i] != a[j] ? a[i] > a[j] : i < j; });
    for (auto it = order.begin(); it != end; ++it) ++out[*it];
  }
  return out;
}

double theta_bound(std::span<const double> attention, int group, std::span<const int> kept, std::span<const double> value_l1,
                   std::size_t stride) {
  const std::size_t n = attention.size() / group;
  double theta = 0;
  for (int g = 0; g < group; ++g) {
    const std::span<const double> a = attention.subspan(g * n, n);
    const auto mass = [&](std::size_t i) { return a[i] * value_l1[i * stride + g]; };
    double sigma = 0, all = 0, stays = 0;
    for (std::size_t i = 0; i < n; ++i) all += mass(i);
    for (const int i : kept) {
      sigma += a[i];
      stays += mass(i);
    }
    if (!(sigma > 0)) return kNotAvailable;
    theta += all - stays + std::abs(1 - 1 / sigma) * stays;
  }
  return theta;
}

PredictorError predictor_error(std::span<const double> lshat, std::span<const double> z, std::span<const double> extra, int group) {
  const std::size_t n = extra.size();
  PredictorError sum;
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (int g = 0; g < group; ++g) {
      const double difference = lshat[i * group + g] - (z[g * n + i] + extra[i]);
      if (!std::isfinite(difference)) continue;
      sum.log += std::abs(difference);
      sum.relative += std::abs(std::expm1(difference));
      ++count;
    }
  }
  if (count == 0) return {.log = kNotAvailable, .relative = kNotAvailable};
  return {.log = sum.log / static_cast<double>(count), .relative = sum.relative / static_cast<double>(count)};
}

}  // namespace kvscope
