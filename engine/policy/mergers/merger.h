// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policy/decision.h"

namespace kvscope {

/// The part that says what becomes of the slots that go: fills removals and merges of the plan from keep and gone.
/// It may also spare slots of `gone` (by not removing them).
class Merger {
 public:
  virtual ~Merger() = default;
  /// A copy with everything it remembers from earlier compressions.
  virtual std::unique_ptr<Merger> clone() const = 0;
  /// Adds the statistics it reads.
  virtual void require(StatNeeds&) const {}
  /// True: it looks at the whole prompt at once, and there is nothing to look at afterwards.
  virtual bool needs_prompt() const { return false; }
  /// True: what goes is lost, what stays is untouched.
  virtual bool evicts_only() const { return false; }
  /// Slots, ascending, that stay whatever their score and into one of which any other slot that goes is fused: that of largest product of
  /// keys, as a mean weighted by votes, the statistic as it says itself (unite). Empty: something else becomes of what goes.
  virtual std::vector<int> collectors(const SlotState&) const { return {}; }
  /// How a slot that goes is merged into the one of most similar key that stays, whichever that is, so that the mass that an EMA predicts
  /// stays (slots/mass_merge.h).
  struct IntoNearest {
    double threshold = 0;              // below this cosine it is lost
    MergeForm form = MergeForm::bias;  // or code
  };
  /// nullopt: something else becomes of what goes.
  virtual std::optional<IntoNearest> into_nearest() const { return std::nullopt; }
  /// Tells head.view.keys what merge() is going to ask it, and may prepare what merge() needs besides.
  virtual void expect(HeadDecision&) const {}
  /// One head with something in `gone`.
  virtual void merge(HeadDecision& head) = 0;
  /// All heads of a layer. Mergers that share something between heads, or draw numbers, override it.
  virtual void merge_layer(std::span<HeadDecision> heads, int step);
  /// The merger's own statistic, as shown to people; empty: the ranking's is shown.
  virtual std::vector<double> statistic(const SlotState&) const { return {}; }
  /// As Policy::predicted_log_scores().
  virtual std::vector<double> predicted_log_scores(const SlotState&) const { return {}; }
};

/// A removal of `slot` with the score it was ranked by; evicted unless the caller sets a target.
Removal removal_of(const HeadDecision& head, int slot);

/// None: removed tokens are lost.
class NoMerger final : public Merger {
 public:
  std::unique_ptr<Merger> clone() const override { return std::make_unique<NoMerger>(*this); }
  bool evicts_only() const override { return true; }
  void merge(HeadDecision& head) override;
};

}  // namespace kvscope
