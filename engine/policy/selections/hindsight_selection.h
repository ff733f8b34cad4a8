// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/selections/selection.h"

namespace kvscope {

/// Removes, greedily and one at a time, the unprotected slot whose removal makes
///   sum over the coming queries and the query heads g of the group of ||(o' - o_full) W_O^(g)||_1
/// smallest; o' is the query's output over the slots that are left, exactly, by KeepKV Eq. 4: o' = (o - a_e v_e) / (1 - a_e). Equal ones
/// (to 1e-12): the higher pos goes. In order of removal. Shown as score: minus that sum if the slot alone went; of a removal: minus the sum
/// after it.
class HindsightSelection final : public Selection {
 public:
  /// horizon: coming queries to look at.
  explicit HindsightSelection(int horizon) : horizon_(horizon) {}
  void select(HeadDecision& head, int step) const override;
  std::string equation() const override { return "−Σ ‖(o′ − o) W_O‖₁ over the coming queries, if it alone goes"; }
  void require(StatNeeds& needs) const override { needs.coming_queries = horizon_; }

 private:
  int horizon_;
};

}  // namespace kvscope
