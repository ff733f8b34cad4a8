// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "policy/rankings/ranking.h"

namespace kvscope {

/// What the last w queries look at, less what other keys say as well: lambda x importance - (1 - lambda) x redundancy (R-KV,
/// arXiv:2505.24133, with the choices of the authors' code; POLICIES.md section 4.5). The last w slots are not ranked.
/// O(n^2 head_dim) per head where no keys are alike, far less where most are.
class RedundancyRanking final : public Ranking {
 public:
  struct Options {
    int window = 8;        // w
    int kernel = 7;        // of the max pooling of the importance
    double lambda = 0.07;  // weight of the importance
    double similar = 0.5;  // cosine above which keys say the same
  };
  explicit RedundancyRanking(const Options& options) : o_(options) {}
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

/// Mean over the last `rows` rows of z of softmax over the first `ranked` slots of the group's largest logit, [ranked].
std::vector<double> window_importance(const LogMeanRows& z, int rows, std::size_t ranked);

/// softmax over all n slots of the mean cosine of the others' keys to it, [n]. Of every slot's cosines the one to the newest slot above
/// `similar` counts as 0, so that of keys that say the same the newest is spared; where there is none above, the one to the first slot.
/// keys [n, head_dim].
std::vector<double> key_redundancy(std::span<const double> keys, std::size_t n, double similar);

}  // namespace kvscope
