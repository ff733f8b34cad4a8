// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/predicted_share.h"

#include <cmath>

namespace kvscope {

std::vector<double> predicted_shares(const SlotState& slots, Predict predict, int group, double alpha) {
  const std::size_t n = slots.pos.size(), G = static_cast<std::size_t>(group);
  std::vector<double> share(n, 0.0);
  if (share.empty()) return share;
  const std::vector<double> lshat = log_scores(slots, predict, group, alpha);
  const std::vector<double> log_Z = log_normalisers(slots, lshat, group);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t g = 0; g < G; ++g) share[i] += slots.votes[i] * std::exp(lshat[i * G + g] - log_Z[g]) / group;
  return share;
}

}  // namespace kvscope
