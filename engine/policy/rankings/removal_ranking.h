// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "policy/rankings/ranking.h"

namespace kvscope {

/// How far the outputs of the last w queries would move if this slot alone went, squared (DropKV, openreview MqfNzH3TVH; POLICIES.md
/// section 4.5), averaged over neighbouring slots. The last w slots are not ranked. O(w n head_dim) per query head.
class RemovalRanking final : public Ranking {
 public:
  struct Options {
    int window = 32;  // w
    int kernel = 7;   // of the mean over neighbours
    double eps = 1e-6;
    int group = 1;  // query heads per KV head
  };
  explicit RemovalRanking(const Options& options) : o_(options) {}
  void require(StatNeeds& needs) const override {
    needs.z_rows = std::max({needs.z_rows, o_.window, 1});
    needs.keep_z_rows = true;
  }
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  std::vector<double> statistic(const SlotState&) const override { return {}; }

 private:
  Options o_;
};

/// Adds (p_j / (1 - p_j + eps))^2 ||v_j - o||^2 of every slot j to sums [n]: p = softmax(z), o = sum of p_j v_j; values [n, width].
void add_removal_effects(std::span<const double> z, std::span<const double> values, double eps, std::span<double> sums);

}  // namespace kvscope
