// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "policy/rankings/ranking.h"

namespace kvscope {

/// Keys stay that the others cannot be combined to: statistical leverage of the keys before rotation (Compactor, arXiv:2507.08143;
/// POLICIES.md section 4.5), normalised over the layer. O(n width^2) per head, width = head_dim or sketch.
class LeverageRanking final : public Ranking {
 public:
  /// sketch: columns of a random Gaussian matrix that the keys are multiplied with first; 0: exact.
  LeverageRanking(int sketch, std::uint64_t seed) : sketch_(sketch), seed_(seed) {}
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  void finish_layer(std::span<HeadDecision* const> heads) const override;
  std::vector<double> statistic(const SlotState&) const override { return {}; }

  /// Leverage of the slots first .. end - 1 among themselves, [end - first], not normalised.
  std::vector<double> leverage(const HeadView& head, std::size_t first, std::size_t end) const;

 private:
  int sketch_;
  std::uint64_t seed_;
};

/// x_i (X^T X + jitter)^-1 x_i^T of every row of X = rows [n, width] minus their mean; jitter 0.01, ten times as much until X^T X + jitter
/// has a Cholesky factor. Not below 0.
std::vector<double> leverage_scores(std::vector<double> rows, std::size_t width);

}  // namespace kvscope
