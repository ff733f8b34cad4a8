// SPDX-License-Identifier: Apache-2.0
#include "measure/perturbation.h"

#include <cmath>
#include <limits>

namespace kvscope {

double rel_l2(std::span<const double> a, std::span<const double> b) {
  double difference = 0, reference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    reference += b[i] * b[i];
  }
  if (difference == 0) return 0;
  return reference > 0 ? std::sqrt(difference) / std::sqrt(reference) : std::numeric_limits<double>::quiet_NaN();
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

}  // namespace kvscope
