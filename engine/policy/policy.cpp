// SPDX-License-Identifier: Apache-2.0
#include "policy/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "policy/head_mergers.h"
#include "policy/head_numbers.h"
#include "policy/lane_edits.h"
#include "policy/policy_row.h"
#include "policy/rules.h"
#include "policy/statistics.h"

namespace kvscope {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

GroupReduce group_reduce(std::string_view text) {
  return text == "max" ? GroupReduce::max : text == "sum" ? GroupReduce::sum : GroupReduce::mean;
}

/// The parts of one row at work: ranking -> allocation -> selection -> merger, for all heads of a layer.
class CompositePolicy final : public Policy {
 public:
  CompositePolicy(const CompositePolicy& other)
      : lane_(other.lane_),
        n_kv_heads_(other.n_kv_heads_),
        group_(other.group_),
        shape_(other.shape_),
        slots_(other.slots_),
        requested_(other.requested_),
        observed_(other.observed_),
        refresh_(other.refresh_),
        positions_(other.positions_),
        seed_(other.seed_),
        ranking_(other.ranking_),
        selection_(other.selection_),
        allocation_(other.allocation_),
        merger_(other.merger_),
        needs_(other.needs_),
        layer_needs_(other.layer_needs_),
        overrides_(other.overrides_),
        allocated_(other.allocated_),
        budgets_(other.budgets_),
        first_budgets_(other.first_budgets_),
        nan_scores_(other.nan_scores_) {}
  explicit CompositePolicy(const Setup& setup) : lane_(resolve_lane(setup.spec)), n_kv_heads_(setup.model->n_kv_heads), group_(setup.model->group()) {
    const PolicyRow& row = *lane_.parts.row;
    const PolicyRow& selecting = *lane_.parts.selecting;
    resolve_budget(setup.n_prompt);
    const std::string& positions = lane_.params.text("positions");
    positions_ = positions.empty()        ? row.positions
                 : positions == "cache"   ? Positions::cache
                 : positions == "ceiling" ? Positions::ceiling
                                          : Positions::original;
    const std::string& refresh = lane_.params.text("refresh");
    refresh_ = refresh.empty() ? (setup.mode == PromptMode::stream ? 1 : 0) : count_or_fraction(refresh, slots_);

    const std::string& seed = lane_.params.text("seed");
    seed_ = seed.empty() ? setup.seed : static_cast<std::uint64_t>(lane_.params.count("seed", 0));
    const auto parts_with = [&](const Params& params) {
      return PartSetup{.params = params,
                       .slots = slots_,
                       .observed = observed_,
                       .group = setup.model->group(),
                       .observes = selecting.observes,
                       .seed = seed_,
                       .folder = setup.folder};
    };
    const PartSetup parts = parts_with(lane_.params);
    ranking_ = selecting.ranking(parts);
    selection_ = (row.selection ? row.selection : selecting.selection)(parts);
    allocation_ = selecting.allocation(parts);
    const auto merger_with = [&](const Params& params) { return row.merger(parts_with(params)); };
    merger_.emplace(lane_, *setup.model, merger_with, "lane " + quoted(setup.spec));
    needs_.group = group_reduce(lane_.params.text("group"));
    ranking_->require(needs_);
    selection_->require(needs_);
    merger_->run().require(needs_);
    allocation_->require(needs_);

    if (setup.mode == PromptMode::stream && allocation_->needs_prompt())
      throw UsageError(
          fmt::format("lane {}: expected prompt mode prefill (it looks at the whole prompt at once), got stream", quoted(setup.spec)));
    shape_ = {setup.model->n_layers, n_kv_heads_, slots_, observed_, setup.n_prompt};
    allocated_ = nothing_to_distribute() ? UniformAllocation().budgets(shape_) : raised(allocation_->budgets(shape_));
    budgets_ = allocated_;
    for (int l = 0; l < shape_.n_layers; ++l) {
      layer_needs_.push_back(needs_);
      ranking_->require_in_layer(layer_needs_.back(), recent(l, 0));
    }
    for (const StatNeeds& layer : layer_needs_) needs_.rows = std::max(needs_.rows, layer.rows);
    read_edits(setup);
    override_budgets();
    first_budgets_ = budgets_;
  }

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
  const StatNeeds& needs(int layer) const override { return layer_needs_[at(layer)]; }
  std::optional<int> budget(int layer, int kv_head) const override { return budgets_[at(layer * n_kv_heads_ + kv_head)]; }
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
  std::optional<NumberRules> number_rules(int layer) const override;
  SlotScore kept_score() const override { return *ranking_->kept_score(); }
  Foresight foresee(const HeadView& head) const override;
  int reload() const override { return lane_.params.has("reload") ? lane_.params.count("reload", 0) : 0; }
  void after_prompt(std::span<const HeadView> heads) override;
  std::vector<Plan> plan(std::span<const HeadView> heads, int step, bool after_prompt) override;
  std::unique_ptr<LayerDecision> decide(std::span<const HeadView> heads, int step, bool after_prompt) override;
  std::vector<Plan> settle(LayerDecision& decision, int step) override;
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
  /// As decide(), where the backend keeps the statistics and has said which slot of every head is the lowest.
  void take_lowest(std::span<const HeadView> heads, std::vector<HeadDecision>& decisions);
  void rank(HeadDecision& d, const HeadView& head, std::optional<bool> layer_is_due, bool after_prompt) const;
  void share_scores(std::span<HeadDecision> heads) const;
  void show_scores(HeadDecision& head);

  ResolvedLane lane_;
  int n_kv_heads_, group_;
  BudgetShape shape_;
  int slots_ = 0;     // C
  int requested_ = -1;  // before it was raised
  int observed_ = 0;  // w
  int refresh_ = 0;   // R; 0: never again
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

/// C and w (POLICIES.md sections 2 and 8): fractions are taken of C first, then C is raised to its minimum.
void CompositePolicy::resolve_budget(int n_prompt) {
  if (!lane_.parts.row->has_budget) return;
  const Params& params = lane_.params;
  int c = params.has("slots") ? params.count("slots", 0) : round_half_up(std::min(params.number("ratio") * n_prompt, 1e8));
  requested_ = c;
  c = std::max(c, 1);
  if (lane_.parts.selecting->observes) {
    c = std::max(c, 2);
    observed_ = std::min(params.count("window", c), c / 2);
  }
  slots_ = with_minimum(c);
}

/// The protected slots, and those that the policy needs beside them, must have room.
int CompositePolicy::with_minimum(int c) const {
  const Protection p = protection(c);
  c = std::max(c, p.sinks + p.recent + 1);
  if (lane_.parts.row->least_free) c = std::max(c, p.sinks + p.recent + lane_.parts.row->least_free(lane_.params, c));
  return c;
}

void CompositePolicy::read_edits(const Setup& setup) {
  const LaneEdits edits = edits_of(setup.spec);
  check_edits(edits, *setup.model, "lane " + quoted(setup.spec));
  for (const BudgetOverride& b : edits.budgets)
    if (b.on) overrides_.push_back(b);
  if (!overrides_.empty() && !compresses())
    throw UsageError(fmt::format("lane {}: expected a policy with a budget, got {}, which never compresses", quoted(setup.spec), name()));
}

const BudgetOverride* CompositePolicy::override_of(int layer, int kv_head) const {
  for (auto it = overrides_.rbegin(); it != overrides_.rend(); ++it)
    if (it->heads.has(layer, kv_head)) return &*it;
  return nullptr;
}

std::optional<int> CompositePolicy::overriding(int layer, int kv_head, std::optional<int> allocated) const {
  const BudgetOverride* by_hand = override_of(layer, kv_head);
  const std::optional<int> c = by_hand ? by_hand->of(allocated) : allocated;
  return by_hand && c ? with_minimum(*c) : c;
}

void CompositePolicy::override_budgets() {
  for (int l = 0; l < shape_.n_layers; ++l)
    for (int h = 0; h < n_kv_heads_; ++h) budgets_[at(l * n_kv_heads_ + h)] = overriding(l, h, allocated_[at(l * n_kv_heads_ + h)]);
}

std::vector<ResolvedParam> CompositePolicy::params() const {
  std::vector<ResolvedParam> out;
  const auto add_count = [&](const std::string& key, int n) {
    out.push_back({.key = key, .number = static_cast<double>(n), .is_count = true});
  };
  const auto add_text = [&](const std::string& key, const std::string& text) {
    out.push_back({.key = key, .is_text = true, .text = text});
  };
  const Protection p = protection(slots_);
  for (const ParamInfo& param : lane_.parts.params) {
    const std::string& value = lane_.params.text(param.key);
    if (param.key == "refresh" || param.key == "group" || (param.key == "reload" && reload() == 0)) continue;
    if (param.key == "sinks")
      add_count(param.key, p.sinks);
    else if (param.key == "recent")
      add_count(param.key, p.recent);
    else if (param.key == "seed")
      out.push_back({.key = param.key, .number = static_cast<double>(seed_), .is_count = true});
    else if (param.key == "window" && lane_.parts.selecting->observes)
      add_count(param.key, observed_);
    else if (param.kind == ParamInfo::Kind::count_or_fraction || param.kind == ParamInfo::Kind::count)
      add_count(param.key, std::max(static_cast<int>(param.min), lane_.params.count(param.key, slots_)));
    else if (param.kind == ParamInfo::Kind::number)
      out.push_back({.key = param.key, .number = lane_.params.number(param.key)});
    else
      add_text(param.key, value);
  }
  add_text("group", lane_.parts.row->takes_group ? lane_.params.text("group") : "mean");
  if (lane_.parts.row->has_budget) add_count("slots", slots_);
  if (cadence() == Cadence::once) add_count("refresh", refresh_);
  return out;
}

std::optional<NumberRules> CompositePolicy::number_rules(int layer) const {
  const bool heads_alone = !lane_.parts.selecting->whole_layer && !allocation_->by_layer();
  const bool order_decides = ranking_->kept_score() && selection_->takes_lowest() && merger_->run().works_on_numbers();
  if (!every_step() || !heads_alone || !order_decides || reload() > 0) return std::nullopt;
  return kvscope::number_rules(needs(layer), group_, bias());
}

Foresight CompositePolicy::foresee(const HeadView& head) const {
  Foresight f;
  const int n = head.slots->size(), c = budget(head.layer, head.kv_head).value_or(n);
  if (!is_due(n, c, /*after_prompt=*/false) && !selection_->works_below_budget()) return f;
  const Protection p = protection(c);
  const std::vector<int>& pos = head.slots->pos;
  f.first = static_cast<int>(std::ranges::lower_bound(pos, p.sinks) - pos.begin());
  f.last = std::max(f.first, n - p.recent);
  const int wanted = selection_->count_lowest(*head.slots, c, f.first, f.last, f.left_out);
  const int n_gone = std::min(wanted, f.last - f.first - static_cast<int>(f.left_out.size()));  // so many may go
  f.kind = n_gone == 0 ? Foresight::Kind::nothing : n_gone == 1 ? Foresight::Kind::lowest : Foresight::Kind::all_scores;
  return f;
}

void CompositePolicy::take_lowest(std::span<const HeadView> heads, std::vector<HeadDecision>& decisions) {
  for (std::size_t h = 0; h < heads.size(); ++h) {
    HeadDecision& d = decisions[h];
    d.begin(heads[h]);
    d.budget = budget(d.view.layer, d.view.kv_head);
    d.view.slots_at_most = d.budget.value_or(0);
    const HeadNumbers::Lowest lowest = d.view.numbers->lowest();
    d.gone.assign(lowest.slot < 0 ? 0 : 1, lowest.slot);
    d.lowest_score = lowest.score;
    nan_scores_ += lowest.slot >= 0 && std::isnan(lowest.score);
    keep_the_rest(d);
  }
  merger_->expect(decisions);
}

void CompositePolicy::rank(HeadDecision& d, const HeadView& head, std::optional<bool> layer_is_due, bool after_prompt) const {
  d.begin(head);
  d.budget = budget(head.layer, head.kv_head);
  if (!d.budget) return;
  const bool alone = !layer_is_due || overridden(head.layer, head.kv_head);
  d.due = alone ? is_due(head.slots->size(), *d.budget, after_prompt) : *layer_is_due;
  d.view.slots_at_most = *d.budget;
  const bool ranks_always = cadence() == Cadence::every_step && !ranking_->by_position() && !lane_.parts.selecting->observes;
  const bool ranks_now = d.due || ranks_always || layer_is_due.value_or(false);
  if (!ranks_now) return;
  d.is_protected = protected_mask(*head.slots, protection(layer_is_due ? slots_ : *d.budget));
  ranking_->protect(d.view, d.is_protected);
  for (const int pos : head.pinned) {
    const auto place = std::ranges::lower_bound(head.slots->pos, pos);
    if (place != head.slots->pos.end() && *place == pos) d.is_protected[static_cast<std::size_t>(place - head.slots->pos.begin())] = 1;
  }
  d.score = ranking_->score(head);
  d.tie_break = ranking_->tie_break(head);
}

bool CompositePolicy::decides_like(const Policy& other) const {
  const auto* twin = dynamic_cast<const CompositePolicy*>(&other);
  if (!twin || first_budgets_ != twin->first_budgets_ || name() != twin->name() || !merger_->alike(*twin->merger_)) return false;
  const std::vector<ResolvedParam> a = params(), b = other.params();
  return std::ranges::equal(
      a, b, [](const ResolvedParam& x, const ResolvedParam& y) { return x.key == y.key && x.text == y.text && x.number == y.number; });
}

/// One decision for all heads: each gets the mean of their scores.
void CompositePolicy::share_scores(std::span<HeadDecision> heads) const {
  const auto same_slots = [&](const HeadDecision& d) { return d.slots().pos == heads.front().slots().pos && !d.score.empty(); };
  const bool alike = std::ranges::all_of(heads, same_slots);
  for (std::vector<double> HeadDecision::*numbers : {&HeadDecision::score, &HeadDecision::tie_break}) {
    if (alike) {
      std::vector<double> mean = heads.front().*numbers;
      for (const HeadDecision& d : heads.subspan(1))
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += (d.*numbers)[i];
      for (double& x : mean) x /= static_cast<double>(heads.size());
      for (HeadDecision& d : heads) d.*numbers = mean;
      continue;
    }
    // heads that were edited by hand hold other slots than their neighbours: the mean of those that have the slot
    std::map<int, std::pair<double, int>> sums;  // by pos
    for (const HeadDecision& d : heads)
      for (std::size_t i = 0; i < (d.*numbers).size(); ++i) {
        auto& [sum, n] = sums[d.slots().pos[i]];
        sum += (d.*numbers)[i];
        ++n;
      }
    for (HeadDecision& d : heads)
      for (std::size_t i = 0; i < (d.*numbers).size(); ++i) {
        const auto& [sum, n] = sums[d.slots().pos[i]];
        (d.*numbers)[i] = sum / n;
      }
  }
}

void CompositePolicy::show_scores(HeadDecision& d) {
  if (ranking_->by_position()) return;
  d.plan.score = d.score;
  for (std::size_t i = 0; i < d.score.size(); ++i) {
    const bool is_free = !d.is_protected[i];
    nan_scores_ += is_free && std::isnan(d.score[i]);
    d.plan.score[i] = is_free ? d.score[i] : kNone;
  }
}

/// A share below its minimum is raised to it; the sum then exceeds the total.
std::vector<std::optional<int>> CompositePolicy::raised(std::vector<std::optional<int>> budgets) const {
  if (!allocation_->raises_small_shares()) return budgets;
  const auto least_free = lane_.parts.row->least_free;
  const auto least = [&](int c) { return protection(c).sinks + protection(c).recent + (least_free ? least_free(lane_.params, slots_) : 1); };
  for (std::optional<int>& c : budgets) {
    if (!c) continue;
    c = std::max(*c, least(*c));
    // areas beside the protected slots, of which a larger share has more
    while (least_free && *c < shape_.n_prompt && *c < least(*c)) c = least(*c);
  }
  return budgets;
}

void CompositePolicy::after_prompt(std::span<const HeadView> heads) {
  if (!compresses() || nothing_to_distribute()) return;
  std::vector<std::optional<int>> budgets = allocation_->after_prompt(shape_, heads);
  if (budgets.empty()) return;
  KVSCOPE_ASSERT(budgets.size() == budgets_.size());
  allocated_ = raised(std::move(budgets));
  override_budgets();
}

std::vector<Plan> CompositePolicy::plan(std::span<const HeadView> heads, int step, bool after_prompt) {
  if (!compresses()) return std::vector<Plan>(heads.size());
  thread_local LayerDecision decision;  // kept by its thread: in a step allocations would cost as much as the work
  decide(heads, step, after_prompt, decision.heads);
  return settle(decision, step);
}

std::unique_ptr<LayerDecision> CompositePolicy::decide(std::span<const HeadView> heads, int step, bool after_prompt) {
  auto decision = std::make_unique<LayerDecision>();
  if (compresses()) {
    decide(heads, step, after_prompt, decision->heads);
  } else {
    decision->heads.resize(heads.size());
  }
  return decision;
}

std::vector<Plan> CompositePolicy::settle(LayerDecision& decision, int step) {
  std::vector<Plan> plans(decision.heads.size());
  if (!compresses()) return plans;
  merger_->merge_layer(decision.heads, step);
  for (std::size_t h = 0; h < plans.size(); ++h) plans[h] = std::move(decision.heads[h].plan);
  return plans;
}

void CompositePolicy::decide(std::span<const HeadView> heads, int step, bool after_prompt, std::vector<HeadDecision>& decisions) {
  decisions.resize(heads.size());
  if (!heads.empty() && heads.front().numbers) return take_lowest(heads, decisions);
  std::optional<bool> layer_is_due;
  if (allocation_->by_layer()) {
    double n = 0;
    for (const HeadView& head : heads) n += head.slots->size();
    layer_is_due = is_due(n / static_cast<double>(heads.size()), slots_, after_prompt);
  }
  for (std::size_t h = 0; h < heads.size(); ++h) rank(decisions[h], heads[h], layer_is_due, after_prompt);
  if (lane_.parts.selecting->whole_layer) share_scores(decisions);
  for (HeadDecision& d : decisions) show_scores(d);
  const auto place = [this](const HeadDecision& d) { return at(d.view.layer * n_kv_heads_ + d.view.kv_head); };
  for (HeadDecision& d : decisions) d.budget = allocated_[place(d)];
  if (layer_is_due.value_or(true)) allocation_->revise(decisions);
  for (HeadDecision& d : decisions) {
    allocated_[place(d)] = d.budget;
    d.budget = overriding(d.view.layer, d.view.kv_head, d.budget);
    if (d.budget) budgets_[place(d)] = d.budget;
    if (d.due || (d.budget && selection_->works_below_budget())) selection_->select(d, step);
  }
  merger_->expect(decisions);
}

}  // namespace

std::unique_ptr<Policy> Policy::make(const Setup& setup) {
  KVSCOPE_ASSERT(setup.model && setup.model->n_kv_heads > 0);
  return std::make_unique<CompositePolicy>(setup);
}

}  // namespace kvscope
