// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/rankings/ranking.h"

namespace kvscope {

/// The most that a token pays a slot while the model repeats the prompt (KVzip, arXiv:2505.23416; POLICIES.md section 4.5): what was not
/// needed to say the text again goes first.
class ProbedRanking final : public ColumnRanking<statistics::Probed> {
 public:
  explicit ProbedRanking(const StatNeeds::Probe& probe) : probe_(probe) {}
  void require(StatNeeds& needs) const override {
    ColumnRanking::require(needs);
    needs.probe = probe_;
  }
  std::string equation() const override {
    return std::string("most that a token pays it while the model repeats the prompt, any query head") +
           (probe_.by_output ? ": attention × ‖v W_O‖ / ‖what the token brings into the layer‖, the most of it" : "");
  }
  bool needs_prompt() const override { return true; }

 private:
  StatNeeds::Probe probe_;
};

}  // namespace kvscope
