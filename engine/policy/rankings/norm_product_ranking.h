// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/rankings/ranking.h"

namespace kvscope {

/// Squared norms of key and value, each as its share of a window of neighbouring slots, multiplied: the approximation of CUR's leverage
/// scores by which CurDKV (arXiv:2509.15038) prunes. O(n head_dim) per head.
class NormProductRanking final : public Ranking {
 public:
  explicit NormProductRanking(int window) : window_(window) {}
  void require(StatNeeds& needs) const override { needs.key_norm = true; }
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  std::vector<double> statistic(const SlotState&) const override { return {}; }

 private:
  int window_;
};

/// Scores that add up to 1, from the norms of keys and values [n].
std::vector<double> norm_products(std::span<const double> key_norms, std::span<const double> value_norms, int window,
                                  double* of_all = nullptr);

}  // namespace kvscope
