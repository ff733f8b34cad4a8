// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config.h"
#include "policy/head_view.h"
#include "policy/lane_spec.h"
#include "policy/mergers/head_mergers.h"
#include "policy/plan.h"
#include "policy/policy_pair.h"
#include "policy/policy_row.h"
#include "policy/prompt_mode.h"

namespace kvscope {

/// One resolved parameter, for the trace, the policy card and the window's form.
struct ResolvedParam {
  std::string key;
  bool is_text = false;
  std::string text;   // when is_text
  double number = 0;  // otherwise; counts are whole numbers
  bool is_count = false;
  bool operator==(const ResolvedParam&) const = default;
};

class PairMaker;

/// A policy with its parameters resolved for one model, prompt length and prompt mode: the parts of one row at work, ranking -> allocation
/// -> selection -> merger, for all heads of a layer. Immutable but for allocations made on the way.
class Policy {
 public:
  struct Setup {
    LaneSpec spec;  // its budget overrides hold, its what-ifs are the runtime's work
    const ModelConfig* model = nullptr;
    int n_prompt = 0;  // L
    PromptMode mode = PromptMode::prefill;
    std::uint64_t seed = 0;
    GivenFiles files = {};    // that keys name (files_named_by)
    double number_bytes = 4;  // of a number of keys and values in full precision
  };
  /// Throws UsageError: unknown policy or key (lists the known ones), value out of range, budget missing or double, mode not possible.
  static std::unique_ptr<Policy> make(const Setup& setup);
  Policy(const Policy&) = default;

  const std::string& name() const { return info().name; }
  /// The catalog's words for it; where the keys choose the parts, those of this choice.
  const PolicyInfo& info() const { return half_ ? half_->info : lane_.parts.row->info; }
  /// Who decides once this one has compressed the prompt, with statistics as if it had watched that; null: the same goes on.
  const Policy* next() const { return next_.get(); }
  /// False: the full cache.
  bool compresses() const { return limits() || storage_ || reading_ || next_; }
  /// False: no slot ever goes.
  bool limits() const { return allocation_->limits(); }
  const Ranking& ranking() const { return *ranking_; }
  const Allocation& allocation() const { return *allocation_; }
  const Selection& selection() const { return *selection_; }
  /// How keys and values stand in the cache; null: as they are.
  const Storage* storage() const { return storage_.get(); }
  /// What a query reads of the slots; null: all of them.
  const PageReading* reading() const { return reading_.get(); }
  /// By which what is evicted lives on in sums that a query reads like one more slot; null: it is lost.
  const FeatureMaps* maps() const { return maps_.get(); }
  Positions positions() const { return positions_; }
  /// positions=ceiling: after the first removal of a head, its sinks are never seen from farther away than this (in tokens).
  int ceiling(int layer, int kv_head) const {
    const int c = budget(layer, kv_head).value_or(slots_);
    return c - protection(c).sinks;
  }
  Bias bias() const {
    const PolicyRow& row = *lane_.parts.row;
    return row.vote_factor_key.empty() ? row.bias : Bias{lane_.params.number(row.vote_factor_key)};
  }
  /// Of all layers together: what the prompt has to be asked for.
  const StatNeeds& needs() const { return needs_; }
  /// What the slots of this layer keep.
  const StatNeeds& needs(int layer) const { return layer_needs_[static_cast<std::size_t>(layer)]; }
  /// Slots, overrides applied; nullopt: unlimited.
  std::optional<int> budget(int layer, int kv_head) const { return budgets_[static_cast<std::size_t>(layer * n_kv_heads_ + kv_head)]; }
  /// C as asked for, before it was raised to its minimum; -1: no budget.
  int slots_requested() const { return requested_; }
  /// The budget was set by hand.
  bool overridden(int layer, int kv_head) const { return override_of(layer, kv_head) != nullptr; }
  /// Slots with pos < sinks are protected (0 where none).
  int sinks() const { return compresses() ? protection(slots_).sinks : 0; }
  /// This many slots of highest pos are protected; by-position policies: what they keep.
  int recent(int layer, int kv_head) const {
    const std::optional<int> c = budget(layer, kv_head);
    if (!c) return selection_->sets_size() ? protection(slots_).recent : 0;
    return ranking_->by_position() ? *c - protection(*c).sinks : protection(allocation_->protects_by_mean() ? slots_ : *c).recent;
  }
  std::vector<ResolvedParam> params() const;  // as resolved: slots, sinks, recent, window as counts
  /// Never merges, stores otherwise, leaves a slot unread, or speaks for what is gone: a kept slot is its token, unchanged.
  bool evict_only() const { return !storage_ && !reading_ && !maps_ && merger_->run().evicts_only(); }
  /// What becomes of the slots of a head that go.
  const Merger& merger(int layer, int kv_head) const { return merger_->of(layer, kv_head); }
  /// True: the heads of a layer have one selection, by the mean of their scores.
  bool ranks_whole_layers() const { return lane_.parts.selecting->whole_layer; }
  /// True: every step ranks the slots of each head that is over its budget, without a look at other heads.
  bool ranks_heads_alone() const {
    const bool alone = !allocation_->by_layer() && !ranks_whole_layers() && !lane_.parts.selecting->observes;
    return alone && cadence() == Cadence::every_step && !next_;
  }
  /// True if a compression can happen at all in a step other than the prompt's.
  bool every_step() const { return compresses() && (cadence() != Cadence::once || refresh_ > 0); }

  /// Every so many steps the cache is rebuilt from the uncompressed history, with the statistics that a prefill of these tokens would have
  /// left, and compressed again (KeepKV: periodic lossless compression); 0: never.
  int reload() const { return lane_.params.has("reload") ? lane_.params.count("reload", 0) : 0; }

  /// Called once after a prefill, before the first plan(): allocators that look at the whole prompt set all budgets here. heads: of all
  /// layers, layer-major, without keys.
  void after_prompt(std::span<const HeadView> heads);

  /// True: after_prompt() wants survey() of every layer without a window of its own to follow, and then after_survey(), before the first
  /// plan() or decide(). They have the scores of that survey then.
  bool surveys() const { return allocation_->surveys() && !nothing_to_distribute(); }
  /// heads: all KV heads of one layer, as plan() sees them after the prompt.
  void survey(std::span<const HeadView> heads);
  void after_survey();

  /// Decides for all KV heads of one layer after a step (statistics are up to date). step: the trace's step number (randomness);
  /// after_prompt: this is the one compression after a prefill, or after the cache was rebuilt. One plan per head; an empty plan where
  /// nothing is due.
  std::vector<Plan> plan(std::span<const HeadView> heads, int step, bool after_prompt);
  /// plan() in two halves, for several layers at once and each on any thread: decide() ranks, selects and tells the keys what merge() is
  /// going to ask them. All that the views point to must last until then.
  /// The plans are in the decision then, whose memory may be used again for the next step's.
  void decide(std::span<const HeadView> heads, int step, bool after_prompt, LayerDecision& decision);
  void merge(LayerDecision& decision, int step);

  /// The policy's own statistic of every slot, as PolicyInfo::statistic names it (KeepKV: share mu_i of POLICIES.md section 5; H2O:
  /// accumulated attention; WeightedKV: mean; SnapKV: mean over the window): what the inspector's second row shows. Empty: none.
  std::vector<double> statistic(const SlotState& slots) const {
    std::vector<double> own = merger_->run().statistic(slots);
    return own.empty() ? ranking_->statistic(slots) : own;
  }

  /// lshat of POLICIES.md section 5: what it expects z + extra of every slot to be for the next query, [n, group], entry [i * group + g];
  /// not finite for a slot that was never scored. Empty: it predicts nothing.
  std::vector<double> predicted_log_scores(const SlotState& slots) const { return merger_->run().predicted_log_scores(slots); }

  /// NaN scores met so far; they rank as -inf.
  int nan_scores() const { return nan_scores_; }
  void count_nan_scores(int n);
  /// Infinite ones met so far.
  int infinite_scores() const { return infinite_scores_; }

  /// What the specification gives to single heads.
  const std::vector<HeadKey>& head_keys() const { return lane_.head_keys; }

  /// True if a run under `other` would have made every decision this one made: the same parameters, and the same budgets at the start
  /// (a ratio may give the same slots for a longer prompt). Both of the same specification.
  bool decides_like(const Policy& other) const;

  /// A copy with the same allocations and counters (checkpoints, forks).
  std::unique_ptr<Policy> clone() const { return std::make_unique<Policy>(*this); }

 private:
  explicit Policy(const Setup& setup);
  friend class PairMaker;  // policy_pair.cpp
  Cadence cadence() const { return lane_.parts.row->cadence; }
  /// Which compression this may be.
  struct Moment {
    int step = 0;
    bool after_prompt = false;
  };
  /// With n slots in a head, or on average in a layer's.
  bool is_due(double n, int c, Moment now) const;
  /// Fractions are taken of c.
  Protection protection(int c) const {
    const Params& params = lane_.params;
    const int sinks = params.count("sinks", c);
    if (!lane_.parts.selecting->observes) return {sinks, params.count("recent", c)};
    return {sinks, whole_window_ ? std::clamp(c - sinks, std::min(observed_, 1), observed_) : observed_};  // for want of room, all there is
  }
  /// Slots that must have room beside the protected ones: none beside a window that takes all the room it finds.
  int least_free() const { return whole_window_ ? 0 : 1; }
  bool nothing_to_distribute() const { return allocation_->limits() && !allocation_->distributes_always() && slots_ >= shape_.n_prompt; }
  std::vector<std::optional<int>> raised(std::vector<std::optional<int>> budgets) const;
  void resolve_budget(const Setup& setup);
  void allocate(std::vector<std::optional<int>> budgets);
  int with_minimum(int c) const;
  void read_edits(const Setup& setup);
  const BudgetOverride* override_of(int layer, int kv_head) const;
  /// What the override makes of a budget; the budget itself where there is none.
  std::optional<int> overriding(int layer, int kv_head, std::optional<int> allocated) const;
  void override_budgets();
  std::size_t place(const HeadView& head) const { return static_cast<std::size_t>(head.layer * n_kv_heads_ + head.kv_head); }
  /// What is due in a head, and, where that is asked for, the scores of its slots.
  void rank(HeadDecision& d, const HeadView& head, std::optional<bool> layer_is_due, Moment now) const;
  /// The same from the survey.
  void recall(HeadDecision& d, const HeadView& head);
  /// Which slots are protected, and their scores. shares_of: what sinks and recent may be fractions of.
  void score(HeadDecision& d, int shares_of) const;
  /// What the heads of a layer make of their scores together.
  void finish_scores(std::span<HeadDecision> heads) const;
  bool select_oldest(HeadDecision& d) const;
  void keep_centers(std::span<const HeadView> heads);
  void share_scores(std::span<HeadDecision> heads) const;
  void show_scores(HeadDecision& head);

  /// How one of two is shown: by the words of both.
  struct Half {
    PolicyInfo info;
    std::vector<ResolvedParam> pair;
  };
  std::shared_ptr<const Half> half_;    // null: it is whole
  std::shared_ptr<const Policy> next_;  // null: none
  ResolvedLane lane_;
  GivenFiles files_;
  int n_kv_heads_, group_;
  BudgetShape shape_;
  int slots_ = 0;                  // C
  int requested_ = -1;             // before it was raised
  int observed_ = 0;               // w
  bool whole_window_ = false;      // as many are observed as the window says, however few of their slots have room
  int refresh_ = 0;                // R; 0: never again
  int every_ = 1;                  // tokens from one compression to the next, with that cadence
  int first_step_ = 0;             // tokens that have come with step 0: none after a prefill, else one
  bool compresses_prompt_ = true;  // with that cadence
  Positions positions_ = Positions::original;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const Ranking> ranking_;  // these never change: copies share them
  std::shared_ptr<const Selection> selection_;
  std::shared_ptr<const Allocation> allocation_;
  std::shared_ptr<const Storage> storage_;      // null: none
  std::shared_ptr<const PageReading> reading_;  // null: none
  std::shared_ptr<const FeatureMaps> maps_;     // null: none
  std::optional<HeadMergers> merger_;
  StatNeeds needs_;
  std::vector<StatNeeds> layer_needs_;
  std::vector<BudgetOverride> overrides_;
  std::vector<std::optional<int>> allocated_;      // by the policy
  std::vector<std::optional<int>> budgets_;        // overrides applied
  std::vector<std::optional<int>> first_budgets_;  // before any compression moved them
  struct Surveyed {
    std::vector<char> is_protected;
    std::vector<double> score, tie_break;
    std::vector<ScoreTerm> terms;
  };
  std::vector<Surveyed> surveyed_;                            // of every head, which its first plan takes; empty: there was no survey
  std::vector<HeadNotes> notes_;                              // the same, until after_survey()
  std::vector<std::shared_ptr<const QueryCenters>> centers_;  // of every head's prompt, where the ranking reads them
  int nan_scores_ = 0, infinite_scores_ = 0;
};

/// Makes the policy of a prompt, with the one of what follows behind it.
class PairMaker {
 public:
  /// Throws UsageError where the two do not go together.
  static std::unique_ptr<Policy> make(const Policy::Setup& setup, const PolicyPair& pair);
};

}  // namespace kvscope
