// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/rankings/ranking.h"

namespace kvscope {

/// Tokens stay whose key and value stand out against the stretch of text that follows theirs (LagKV, arXiv:2504.04704; POLICIES.md section
/// 4.5). In later compressions slots take the place of tokens. O(n head_dim) per head.
class LagRanking final : public Ranking {
 public:
  /// sinks: first slots, which are not scored; lag: slots of a partition; cross: the scores themselves instead of their ranks.
  LagRanking(int sinks, int lag, bool cross) : sinks_(sinks), lag_(lag), cross_(cross) {}
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  /// Of partitions that rank alike the later one stays.
  std::vector<double> tie_break(const HeadView& head) const override { return {head.slots->pos.begin(), head.slots->pos.end()}; }
  std::vector<double> statistic(const SlotState&) const override { return {}; }

 private:
  int sinks_, lag_;
  bool cross_;
};

/// The scores of key and value rows [n, width].
/// The keys' part of it into of_keys [n], where it is not empty.
std::vector<double> lag_scores(std::span<const double> keys, std::span<const double> values, std::size_t n, int sinks, int lag, bool cross,
                               std::span<double> of_keys = {}, std::span<double> of_values = {});

}  // namespace kvscope
