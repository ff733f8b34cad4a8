// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/rankings/ranking.h"

namespace kvscope {

/// Attention that queries like the prompt's are expected to pay at the positions to come (Expected Attention, arXiv:2510.00636; POLICIES.md
/// section 4.5). O(n head_dim^2) per query head.
class ExpectedRanking final : public Ranking {
 public:
  struct Options {
    int sinks = 4;           // first tokens whose queries and keys do not count
    int future = 512;        // positions after the prompt
    bool covariance = true;  // the spread of the queries counts, not only their mean
    bool value_norm = true;  // times (eps +) the norm of the value
    double eps = 0;
  };
  explicit ExpectedRanking(const Options& options) : o_(options) {}
  void require(StatNeeds& needs) const override { needs.prompt_queries = true; }
  bool needs_prompt() const override { return true; }
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  std::vector<double> statistic(const SlotState&) const override { return {}; }

 private:
  Options o_;
};

/// mu.k/sqrt(width) + k^T Sigma k/(2 width) of every row k of keys [n, width]; covariance [width, width], or empty: without. The first of
/// both alone into linear_parts [n], where it is not empty.
std::vector<double> expected_logits(std::span<const double> mean, std::span<const double> covariance, std::span<const double> keys,
                                    std::span<double> linear_parts = {});

}  // namespace kvscope
