// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/removal_ranking.h"

#include <fmt/format.h>

#include "core/not_available.h"
#include "core/vector_math.h"
#include "policy/rankings/rows.h"

namespace kvscope {

void add_removal_effects(std::span<const double> z, std::span<const double> values, double eps, std::span<double> sums) {
  const std::size_t n = z.size(), width = values.size() / n;
  std::vector<double> p(z.begin(), z.end()), output(width, 0.0);
  softmax(p);
  for (std::size_t j = 0; j < n; ++j) add_scaled(output, p[j], &values[j * width]);
  for (std::size_t j = 0; j < n; ++j) {
    const double weight = p[j] / (1 - p[j] + eps);
    double distance = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double apart = values[j * width + i] - output[i];
      distance += apart * apart;
    }
    sums[j] += weight * weight * distance;
  }
}

std::vector<double> RemovalRanking::score(const HeadView& head) const {
  const LogMeanRows& rows = head.slots->z_rows;
  const std::size_t n = head.slots->pos.size(), group = static_cast<std::size_t>(o_.group);
  const std::size_t ranked = n - std::min(n, static_cast<std::size_t>(o_.window));
  const std::vector<double> values = head.keys->values();
  std::vector<double> sums(n, 0.0), z(n), score(n, kNotAvailable);
  for (int r = std::max(0, rows.rows() - o_.window); r < rows.rows(); ++r) {
    const std::vector<double> row = rows.row(r);
    for (std::size_t g = 0; g < group; ++g) {
      for (std::size_t i = 0; i < n; ++i) z[i] = row[i * group + g];
      add_removal_effects(z, values, o_.eps, sums);
    }
  }
  if (head.terms) {
    std::vector<double> own(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(ranked));
    for (double& x : own) x /= o_.group;
    head.note("its own", own);
  }
  const int half = o_.kernel / 2, last = static_cast<int>(n) - 1;
  for (std::size_t i = 0; i < ranked; ++i) {  // beyond the ends there are zeros
    const int here = static_cast<int>(i);
    double sum = 0;
    for (int j = std::max(0, here - half); j <= std::min(last, here + half); ++j) sum += sums[static_cast<std::size_t>(j)];
    score[i] = sum / (o_.kernel * o_.group);
  }
  return score;
}

std::string RemovalRanking::equation() const {
  return fmt::format(
      "mean of its own and {} neighbours' effect: (p/(1 − p))² ‖v − o‖², how far outputs of the last {} queries (or all there are) move if it goes",
      o_.kernel - 1, o_.window);
}

}  // namespace kvscope
