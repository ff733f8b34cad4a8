// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/rankings/ranking.h"
#include "policy/rankings/reference_queries.h"

namespace kvscope {

/// How much attention the reference queries pay a slot: root mean square over the queries, or the largest (Attention Matching,
/// arXiv:2602.16284; POLICIES.md section 4.4).
class ReferenceRanking final : public Ranking {
 public:
  ReferenceRanking(const ReferenceQueries& queries, bool largest) : queries_(queries), largest_(largest) {}
  void require(StatNeeds& needs) const override { needs.prompt_queries = true; }
  bool needs_prompt() const override { return true; }
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override {
    return largest_ ? "largest attention of the reference queries" : "root of the mean square of the reference queries' attention";
  }
  std::vector<double> statistic(const SlotState&) const override { return {}; }

 private:
  ReferenceQueries queries_;
  bool largest_;
};

}  // namespace kvscope
