// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/expected_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/not_available.h"
#include "policy/rankings/rows.h"

namespace kvscope {
namespace {

/// Mean of n rotations.
std::vector<double> mean_rotation(std::span<const double> rotations, int n) {
  std::vector<double> mean(rotations.size() / static_cast<std::size_t>(n), 0.0);
  for (std::size_t i = 0; i < rotations.size(); ++i) mean[i % mean.size()] += rotations[i];
  for (double& x : mean) x /= n;
  return mean;
}

/// Mean and covariance of one query head's queries, rotated on. queries [n, group, width].
void query_moments(std::span<const double> queries, std::size_t group, std::size_t g, std::size_t first, std::span<const double> rotation,
                   std::vector<double>& mean, std::vector<double>& covariance) {
  const std::size_t width = mean.size(), n = queries.size() / (group * width);
  const auto count = static_cast<double>(n - first);
  std::ranges::fill(mean, 0.0);
  const auto row = [&](std::size_t t) { return queries.subspan((t * group + g) * width, width); };
  for (std::size_t t = first; t < n; ++t)
    for (std::size_t i = 0; i < width; ++i) mean[i] += row(t)[i];
  for (double& x : mean) x /= count;
  std::vector<double> centred(width);
  for (std::size_t t = first; t < n && !covariance.empty(); ++t) {
    for (std::size_t i = 0; i < width; ++i) centred[i] = row(t)[i] - mean[i];
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) covariance[i * width + j] += centred[i] * centred[j] / count;
  }
  rotate(mean, rotation, 1);
  for (std::size_t i = 0; i < width && !covariance.empty(); ++i) rotate(std::span(covariance).subspan(i * width, width), rotation, 1);
  for (std::size_t j = 0; j < width && !covariance.empty(); ++j) rotate(std::span(covariance).subspan(j), rotation, width);
}

}  // namespace

std::vector<double> expected_logits(std::span<const double> mean, std::span<const double> covariance, std::span<const double> keys,
                                    std::span<double> linear_parts) {
  const std::size_t width = mean.size(), n = keys.size() / width;
  const auto d = static_cast<double>(width);
  std::vector<double> z(n, 0.0);
  for (std::size_t r = 0; r < n; ++r) {
    const auto k = keys.subspan(r * width, width);
    double linear = 0, quadratic = 0;
    for (std::size_t i = 0; i < width; ++i) {
      linear += mean[i] * k[i];
      double spread = 0;
      for (std::size_t j = 0; j < width && !covariance.empty(); ++j) spread += covariance[i * width + j] * k[j];
      quadratic += spread * k[i];
    }
    z[r] = linear / std::sqrt(d) + quadratic / (2 * d);
    if (!linear_parts.empty()) linear_parts[r] = linear / std::sqrt(d);
  }
  return z;
}

std::vector<double> ExpectedRanking::score(const HeadView& head) const {
  KVSCOPE_ASSERT(head.queries);
  const std::size_t n = head.slots->pos.size(), first = std::min(n, static_cast<std::size_t>(o_.sinks));
  std::vector<double> score(n, kNotAvailable);
  if (first == n) return score;
  const std::vector<double> keys = all_keys(head), queries = head.queries->rows(/*rotated=*/false);
  const std::vector<double> rotation = mean_rotation(head.queries->rotations(static_cast<int>(n), o_.future), o_.future);
  const std::size_t width = keys.size() / n, group = queries.size() / keys.size();
  std::vector<double> mean(width), covariance, sum(n - first, 0.0), linear(n - first), linear_mean(n - first, 0.0),
      spread_mean(n - first, 0.0);
  for (std::size_t g = 0; g < group; ++g) {
    covariance.assign(o_.covariance ? width * width : 0, 0.0);
    query_moments(queries, group, g, first, rotation, mean, covariance);
    std::vector<double> share = expected_logits(mean, covariance, std::span(keys).subspan(first * width), linear);
    for (std::size_t i = 0; head.terms && i < sum.size(); ++i) {
      linear_mean[i] += linear[i] / static_cast<double>(group);
      spread_mean[i] += (share[i] - linear[i]) / static_cast<double>(group);
    }
    softmax(share);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += share[i] / static_cast<double>(group);
  }
  const std::vector<double> norms = o_.value_norm ? head.keys->value_l2() : std::vector<double>(n, 1.0);
  head.note("μ·k/√d", linear_mean, first);
  if (o_.covariance) head.note("kᵀΣk/2d", spread_mean, first);
  head.note("share", sum, first);
  if (o_.value_norm) head.note("‖v‖", norms);
  for (std::size_t i = 0; i < sum.size(); ++i) score[first + i] = (sum[i] + (o_.value_norm ? o_.eps : 0.0)) * norms[first + i];
  return score;
}

std::string ExpectedRanking::equation() const {
  const std::string norm = !o_.value_norm ? "share" : o_.eps > 0 ? fmt::format("(share + {:g}) ‖v‖", o_.eps) : "share ‖v‖";
  return fmt::format(
      "{}: share = softmax of μ·k/√d{}, mean over the query heads; μ{} of the prompt's queries, turned on by the next {} positions", norm,
      o_.covariance ? " + kᵀΣk/2d" : "", o_.covariance ? " and Σ" : "", o_.future);
}

}  // namespace kvscope
