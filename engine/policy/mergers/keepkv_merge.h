// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/not_available.h"
#include "policy/mergers/merger.h"
#include "slots/log_scores.h"

namespace kvscope {

/// The slots M that become one: the target and everything removed that is nearest to it. G = query heads per KV head.
struct KeepkvGroup {
  std::vector<double> p;      // [M] votes
  std::vector<double> lshat;  // [M, G] predicted log-scores
  std::vector<double> extra;  // [M]
  std::vector<double> log_Z;  // [G]
};

/// What POLICIES.md section 5 makes of them. Names as there.
struct KeepkvMerged {
  std::vector<double> mu;            // [M] mean over g of p_i exp(lshat_{g,i}) / Z_g
  std::vector<double> w;             // [M] mu_i / sum mu
  double P = 0;                      // sum of votes
  std::vector<double> T;             // [G] what the merged slot's log-score must be
  std::vector<double> m;             // [G] what the averaged key alone would give
  double extra = 0;                  // of the merged slot
  double gamma = kNotAvailable;      // length of the key, form=zip
  MergeForm form = MergeForm::bias;  // as applied
  bool fallback = false;             // zip was out of [0.5, 2] and done as bias
};

KeepkvMerged merge_group(const KeepkvGroup& M, MergeForm form);

/// KeepKV (arXiv:2504.09936) as fixed in POLICIES.md section 5: every removed slot e goes to the kept slot c(e) of most similar key, or is
/// evicted below the threshold; all e of one target merge at once, so that the predicted attention mass and output stay as they were.
class KeepkvMerger final : public Merger {
 public:
  struct Options {
    double threshold = 0.8;  // cosine
    Predict predict = Predict::ema;
    double alpha = 0.9;  // weight of the past in the EMA
    int window = 32;     // prompt rows that start the EMA; rows of predict=window
    MergeForm form = MergeForm::bias;
    int group = 1;  // query heads per KV head
  };
  explicit KeepkvMerger(const Options& options) : options_(options), start_(options.alpha) {}

  std::unique_ptr<Merger> clone() const override { return std::make_unique<KeepkvMerger>(*this); }
  void require(StatNeeds& needs) const override;
  std::optional<IntoNearest> into_nearest() const override {
    if (options_.predict != Predict::ema || options_.form == MergeForm::zip) return std::nullopt;
    return IntoNearest{options_.threshold, options_.form};
  }
  void expect(HeadDecision& head) const override;
  void merge(HeadDecision& head) override;
  /// mu_i of every slot: its predicted share of the attention.
  std::vector<double> statistic(const SlotState& slots) const override;
  std::vector<double> predicted_log_scores(const SlotState& slots) const override {
    return log_scores(slots, options_.predict, options_.group, options_.alpha);
  }

 private:
  /// Predicted log-scores of all slots, [slots, group], then their normalisers, [group].
  void predict(const SlotState& slots, std::vector<double>& scores) const;

  Options options_;
  EmaStart start_;
};

}  // namespace kvscope
