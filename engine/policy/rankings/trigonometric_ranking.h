// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "policy/rankings/ranking.h"

namespace kvscope {

/// Attention that queries like the prompt's pay at a key's distance, averaged over the distances to come (TriAttention, arXiv:2604.04921;
/// POLICIES.md section 4.5): before rotation the queries of a head lie around a center, so that distance alone tells what rotation makes of
/// their product with a key. O(n (head_dim + group head_dim)) per head.
class TrigonometricRanking final : public Ranking {
 public:
  /// standardise: every query head's scores are brought to mean 0 and deviation 1 before the group's largest counts.
  explicit TrigonometricRanking(bool standardise) : standardise_(standardise) {}
  void require(StatNeeds& needs) const override { needs.prompt_queries = true; }
  bool needs_prompt() const override { return true; }
  bool reads_centers() const override { return true; }
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  std::vector<double> statistic(const SlotState&) const override { return {}; }

 private:
  bool standardise_;
};

/// [group, n], of every query head: sum over f of |c_f||k_f| cos(turn_f D + phi_f), phi_f the angle between its center and the key, mean
/// over the distances D = next - pos_i + 1, + 2, + 4, ... + 65536, plus (length_f - |c_f|)|k_f|; numbers that no position turns: their
/// product. keys [n, head_dim] before rotation; next: position of the token that comes next.
/// The second of both sums alone into spreads [group, n], where it is not empty.
std::vector<double> trigonometric_scores(const QueryCenters& centers, std::span<const double> keys, std::span<const int> pos, int next,
                                         std::span<double> spreads = {});

}  // namespace kvscope
