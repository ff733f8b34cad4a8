// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/rankings/ranking.h"

namespace kvscope {

/// Mean attention of the last w queries, those of the question, each times the number of slots before its own (FINCH, TACL 2024,
/// doi:10.1162/tacl_a_00716; POLICIES.md section 4.5): a query that sees more slots gives each of them less. The last w slots are not
/// ranked.
class QuestionRanking final : public Ranking {
 public:
  QuestionRanking(int w, bool by_slots_seen) : w_(w), by_slots_seen_(by_slots_seen) {}
  void require(StatNeeds& needs) const override;
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  std::vector<double> statistic(const SlotState& slots) const override;

 private:
  int w_;
  bool by_slots_seen_;  // false: the plain mean
};

}  // namespace kvscope
