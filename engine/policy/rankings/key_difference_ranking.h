// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/rankings/ranking.h"

namespace kvscope {

/// Keys that differ from the others stay: score_i = -cos(k_i, a), a = mean over all slots j of the head of k_j / ||k_j||, keys as they
/// stand in the cache (with rotation, unless positions=cache has taken it away). 0 with a zero vector. Our reading, after KeyDiff; O(n
/// head_dim) per head and step.
class KeyDifferenceRanking final : public Ranking {
 public:
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override { return "−cos(k, a), a the mean of the head's keys brought to length 1"; }
  /// None: the slots alone do not tell it.
  std::vector<double> statistic(const SlotState&) const override { return {}; }
};

/// The score of key rows [n, width].
std::vector<double> key_differences(std::span<const double> keys, std::size_t n);

}  // namespace kvscope
