// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/config.h"
#include "core/hidden_scorer.h"
#include "policy/rankings/ranking.h"

namespace kvscope {

/// What networks trained for the model make of every token's hidden state, from a file (KVzap, arXiv:2601.07891; POLICIES.md section 4.5).
class NetworkRanking : public ColumnRanking<statistics::Learned> {
 public:
  /// Throws UsageError: no file, one with something else, or one of another model.
  NetworkRanking(std::shared_ptr<const HiddenScorer> scorer, const ModelConfig& model);
  void require(StatNeeds& needs) const override;
  std::string equation() const override;

 private:
  std::shared_ptr<const HiddenScorer> scorer_;
};

/// The same of gates (Fast KVzip, arXiv:2601.17668), but for the newest tokens, which have the most that a gate can say.
class GateRanking final : public ColumnRanking<statistics::Learned> {
 public:
  /// local: share of the text so far that is newest. Throws UsageError: as above.
  GateRanking(std::shared_ptr<const HiddenScorer> scorer, const ModelConfig& model, double local);
  void require(StatNeeds& needs) const override;
  void score(const HeadView& head, std::vector<double>& out) const override;
  std::string equation() const override;

 private:
  std::shared_ptr<const HiddenScorer> scorer_;
  double local_;
};

}  // namespace kvscope
