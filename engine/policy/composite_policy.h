// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/mergers/head_mergers.h"
#include "policy/policy.h"
#include "policy/policy_row.h"
#include "policy/text/lane_edits.h"

namespace kvscope {

/// The parts of one row at work: ranking -> allocation -> selection -> merger, for all heads of a layer.
class CompositePolicy final : public Policy {
 public:
  explicit CompositePolicy(const Setup& setup);
  CompositePolicy(const CompositePolicy&) = default;

  const std::string& name() const override { return lane_.parts.row->info.name; }
  const PolicyInfo& info() const override { return lane_.parts.row->info; }
  bool compresses() const override { return allocation_->limits(); }
  Positions positions() const override { return positions_; }
  int ceiling(int layer, int kv_head) const override {
    const int c = budget(layer, kv_head).value_or(slots_);
    return c - protection(c).sinks;
  }
  Bias bias() const override {
    const PolicyRow& row = *lane_.parts.row;
    return row.vote_factor_key.empty() ? row.bias : Bias{lane_.params.number(row.vote_factor_key)};
  }
  const StatNeeds& needs() const override { return needs_; }
  const StatNeeds& needs(int layer) const override { return layer_needs_[static_cast<std::size_t>(layer)]; }
  std::optional<int> budget(int layer, int kv_head) const override {
    return budgets_[static_cast<std::size_t>(layer * n_kv_heads_ + kv_head)];
  }
  int slots_requested() const override { return requested_; }
  bool overridden(int layer, int kv_head) const override { return override_of(layer, kv_head) != nullptr; }
  int sinks() const override { return compresses() ? protection(slots_).sinks : 0; }
  int recent(int layer, int kv_head) const override {
    const std::optional<int> c = budget(layer, kv_head);
    if (!c) return 0;
    return ranking_->by_position() ? *c - protection(*c).sinks : protection(allocation_->by_layer() ? slots_ : *c).recent;
  }
  std::vector<ResolvedParam> params() const override;
  bool evict_only() const override { return merger_->run().evicts_only(); }
  bool every_step() const override { return compresses() && (cadence() == Cadence::every_step || refresh_ > 0); }
  int reload() const override { return lane_.params.has("reload") ? lane_.params.count("reload", 0) : 0; }
  void after_prompt(std::span<const HeadView> heads) override;
  std::vector<Plan> plan(std::span<const HeadView> heads, int step, bool after_prompt) override;
  std::unique_ptr<LayerDecision> decide(std::span<const HeadView> heads, int step, bool after_prompt) override;
  std::vector<Plan> merge(LayerDecision& decision, int step) override;
  std::vector<double> statistic(const SlotState& slots) const override {
    std::vector<double> own = merger_->run().statistic(slots);
    return own.empty() ? ranking_->statistic(slots) : own;
  }
  std::vector<double> predicted_log_scores(const SlotState& slots) const override { return merger_->run().predicted_log_scores(slots); }
  int nan_scores() const override { return nan_scores_; }
  bool decides_like(const Policy& other) const override;
  std::unique_ptr<Policy> clone() const override { return std::make_unique<CompositePolicy>(*this); }

 private:
  /// Into `decisions`, whose memory is used again.
  void decide(std::span<const HeadView> heads, int step, bool after_prompt, std::vector<HeadDecision>& decisions);
  Cadence cadence() const { return lane_.parts.row->cadence; }
  bool is_due(double n, int c, bool after_prompt) const {
    if (after_prompt || cadence() == Cadence::every_step) return n > c;
    return refresh_ > 0 && n > static_cast<double>(c) + refresh_ - 1;
  }
  /// Fractions are taken of c.
  Protection protection(int c) const {
    return {lane_.params.count("sinks", c), lane_.parts.selecting->observes ? observed_ : lane_.params.count("recent", c)};
  }
  bool nothing_to_distribute() const { return allocation_->limits() && !allocation_->distributes_always() && slots_ >= shape_.n_prompt; }
  std::vector<std::optional<int>> raised(std::vector<std::optional<int>> budgets) const;
  void resolve_budget(int n_prompt);
  int with_minimum(int c) const;
  void read_edits(const Setup& setup);
  const BudgetOverride* override_of(int layer, int kv_head) const;
  /// What the override makes of a budget; the budget itself where there is none.
  std::optional<int> overriding(int layer, int kv_head, std::optional<int> allocated) const;
  void override_budgets();
  void rank(HeadDecision& d, const HeadView& head, std::optional<bool> layer_is_due, bool after_prompt) const;
  bool select_oldest(HeadDecision& d) const;
  void share_scores(std::span<HeadDecision> heads) const;
  void show_scores(HeadDecision& head);
  void count_nan_scores(int n);

  ResolvedLane lane_;
  int n_kv_heads_;
  BudgetShape shape_;
  int slots_ = 0;       // C
  int requested_ = -1;  // before it was raised
  int observed_ = 0;    // w
  int refresh_ = 0;     // R; 0: never again
  Positions positions_ = Positions::original;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const Ranking> ranking_;  // these three never change: copies share them
  std::shared_ptr<const Selection> selection_;
  std::shared_ptr<const Allocation> allocation_;
  std::optional<HeadMergers> merger_;
  StatNeeds needs_;
  std::vector<StatNeeds> layer_needs_;
  std::vector<BudgetOverride> overrides_;
  std::vector<std::optional<int>> allocated_;      // by the policy
  std::vector<std::optional<int>> budgets_;        // overrides applied
  std::vector<std::optional<int>> first_budgets_;  // before any compression moved them
  int nan_scores_ = 0;
};

}  // namespace kvscope
