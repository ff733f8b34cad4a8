// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "policy/rankings/predicted_share.h"
#include "policy/rankings/ranking.h"

namespace kvscope {

/// The share of the attention that a log-domain EMA of exp(z) predicts, mu_i of POLICIES.md section 5. After a prefill the EMA is built
/// from the last `window` rows.
class EmaShareRanking final : public Ranking {
 public:
  /// alpha: weight of the past; group: query heads per KV head.
  EmaShareRanking(double alpha, int window, int group) : alpha_(alpha), window_(window), group_(group) {}
  void require(StatNeeds& needs) const override {
    needs.ema = true;
    needs.ema_alpha = alpha_;
    needs.z_rows = std::max(needs.z_rows, window_);
  }
  std::vector<double> score(const HeadView& head) const override {
    if (head.terms) head.note("votes", std::vector<double>(head.slots->votes.begin(), head.slots->votes.end()));
    return statistic(*head.slots);
  }
  std::string equation() const override {
    return fmt::format("votes × exp(EMA of the logits), as its share of the cache: EMA of exp(logit), the past weighs {:g}", alpha_);
  }
  std::vector<double> statistic(const SlotState& slots) const override { return predicted_shares(slots, Predict::ema, group_, alpha_); }

 private:
  double alpha_;
  int window_, group_;
};

}  // namespace kvscope
