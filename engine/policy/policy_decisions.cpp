// SPDX-License-Identifier: Apache-2.0
// How its parts decide about the heads of a layer.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/not_available.h"
#include "policy/policy.h"
#include "policy/query_centers.h"
#include "policy/rules.h"

namespace kvscope {

void HeadView::note(const char* name, std::span<const double> values, std::size_t first) const {
  if (!terms) return;
  std::vector<double> all(slots->pos.size(), kNotAvailable);
  std::ranges::copy(values, all.begin() + static_cast<std::ptrdiff_t>(first));
  terms->push_back({name, std::move(all)});
}

bool Policy::is_due(double n, int c, Moment now) const {
  switch (cadence()) {
    case Cadence::every_step:
      return n > c;
    case Cadence::once:
      return now.after_prompt ? n > c : refresh_ > 0 && n > static_cast<double>(c) + refresh_ - 1;
    case Cadence::every:
      return n > c && (now.after_prompt ? compresses_prompt_ : (now.step + first_step_) % every_ == 0);
  }
  return false;
}

std::vector<Plan> Policy::plan(std::span<const HeadView> heads, int step, bool after_prompt) {
  std::vector<Plan> plans(heads.size());
  if (!compresses()) return plans;
  thread_local LayerDecision decision;  // kept by its thread: in a step allocations would cost as much as the work
  decide(heads, step, after_prompt, decision);
  merge(decision, step);
  for (std::size_t h = 0; h < plans.size(); ++h) plans[h] = std::move(decision.heads[h].plan);
  return plans;
}

void Policy::merge(LayerDecision& decision, int step) {
  if (compresses()) merger_->merge_layer(decision.heads, step);
}

void Policy::decide(std::span<const HeadView> heads, int step, bool after_prompt, LayerDecision& decision) {
  std::vector<HeadDecision>& decisions = decision.heads;
  decisions.resize(heads.size());
  if (!compresses()) return;
  const Moment now{step, after_prompt};
  keep_centers(heads);
  std::optional<bool> layer_is_due;
  if (allocation_->by_layer()) {
    double n = 0;
    for (const HeadView& head : heads) n += head.slots->size();
    layer_is_due = is_due(n / static_cast<double>(heads.size()), slots_, now);
  }
  if (after_prompt && !surveyed_.empty() && !surveyed_[place(heads.front())].score.empty()) {
    for (std::size_t h = 0; h < heads.size(); ++h) recall(decisions[h], heads[h]);
  } else {
    for (std::size_t h = 0; h < heads.size(); ++h) rank(decisions[h], heads[h], layer_is_due, now);
    finish_scores(decisions);
  }
  for (HeadDecision& d : decisions) show_scores(d);
  for (HeadDecision& d : decisions) d.budget = allocated_[place(d.view)];
  if (layer_is_due.value_or(true)) allocation_->revise(decisions);
  for (HeadDecision& d : decisions) {
    allocated_[place(d.view)] = d.budget;
    d.budget = overriding(d.view.layer, d.view.kv_head, d.budget);
    if (d.budget) budgets_[place(d.view)] = d.budget;
    if (d.due || (d.budget && selection_->works_below_budget())) selection_->select(d, step);
  }
  merger_->expect(decisions);
}

void Policy::survey(std::span<const HeadView> heads) {
  keep_centers(heads);
  notes_.resize(budgets_.size());
  std::vector<HeadDecision> decisions(heads.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    HeadDecision& d = decisions[h];
    d.begin(heads[h]);
    d.view.slots_at_most = slots_;
    if (d.view.explains) d.view.terms = &d.plan.terms;
    if (!ranking_->by_position()) score(d, slots_);
  }
  finish_scores(decisions);
  for (HeadDecision& d : decisions) {
    notes_[place(d.view)] = allocation_->note(d);
    surveyed_.resize(budgets_.size());
    surveyed_[place(d.view)] = {std::move(d.is_protected), std::move(d.score), std::move(d.tie_break), std::move(d.plan.terms)};
  }
}

void Policy::after_survey() {
  allocate(allocation_->after_survey(shape_, notes_));
  notes_.clear();
}

void Policy::recall(HeadDecision& d, const HeadView& head) {
  d.begin(head);
  d.budget = budget(head.layer, head.kv_head);
  d.view.slots_at_most = d.budget.value_or(0);
  d.due = d.budget && is_due(head.slots->size(), *d.budget, Moment{.after_prompt = true});
  Surveyed& known = surveyed_[place(head)];
  d.is_protected = std::move(known.is_protected);
  d.score = std::move(known.score);
  d.tie_break = std::move(known.tie_break);
  d.plan.terms = std::move(known.terms);
  if (d.view.explains) d.view.terms = &d.plan.terms;
}

void Policy::finish_scores(std::span<HeadDecision> heads) const {
  std::vector<HeadDecision*> ranked;
  for (HeadDecision& d : heads)
    if (!d.score.empty()) ranked.push_back(&d);
  if (!ranked.empty()) ranking_->finish_layer(ranked);
  if (lane_.parts.selecting->whole_layer) share_scores(heads);
}

void Policy::keep_centers(std::span<const HeadView> heads) {
  if (centers_.empty()) return;
  for (const HeadView& head : heads)
    if (head.queries)
      centers_[place(head)] =
          std::make_shared<QueryCenters>(query_centers(*head.queries, head.slots->pos.size(), static_cast<std::size_t>(group_)));
}

void Policy::rank(HeadDecision& d, const HeadView& head, std::optional<bool> layer_is_due, Moment now) const {
  d.begin(head);
  if (now.after_prompt && !surveyed_.empty()) d.plan.terms = std::move(surveyed_[place(head)].terms);  // noted of the head as a whole
  if (d.view.explains) d.view.terms = &d.plan.terms;
  d.budget = budget(head.layer, head.kv_head);
  if (!d.budget && !selection_->sets_size()) return;
  const bool alone = !layer_is_due || overridden(head.layer, head.kv_head);
  if (selection_->sets_size())
    d.due = cadence() == Cadence::every ? is_due(1, 0, now) : now.after_prompt || every_step();
  else
    d.due = alone ? is_due(head.slots->size(), *d.budget, now) : *layer_is_due;
  d.view.slots_at_most = d.budget.value_or(0);
  if (alone && !now.after_prompt && select_oldest(d)) return;
  const bool ranks_always = cadence() == Cadence::every_step && !ranking_->by_position() && !lane_.parts.selecting->observes;
  const bool ranks_now = d.due || ranks_always || layer_is_due.value_or(false);
  if (!ranks_now) return;
  const bool by_mean = layer_is_due || allocation_->protects_by_mean() || !d.budget;
  score(d, by_mean ? slots_ : *d.budget);
}

void Policy::score(HeadDecision& d, int shares_of) const {
  const SlotState& slots = d.slots();
  if (!centers_.empty()) d.view.centers = centers_[place(d.view)].get();
  protected_mask(slots, protection(shares_of), d.is_protected);
  ranking_->protect(d.view, d.is_protected);
  for (const int pos : d.view.pinned) {
    const auto place = std::ranges::lower_bound(slots.pos, pos);
    if (place != slots.pos.end() && *place == pos) d.is_protected[static_cast<std::size_t>(place - slots.pos.begin())] = 1;
  }
  ranking_->score(d.view, d.score);
  d.tie_break = ranking_->tie_break(d.view);
}

/// The usual step where position alone decides: the oldest slot that may go goes, without a look at the others.
bool Policy::select_oldest(HeadDecision& d) const {
  if (!d.due || !ranking_->by_position() || !merger_->run().evicts_only() || !d.view.pinned.empty()) return false;
  const std::vector<int>& pos = d.slots().pos;
  const int n = d.slots().size(), c = *d.budget;
  const Protection p = protection(c);
  const int first = static_cast<int>(std::ranges::lower_bound(pos, p.sinks) - pos.begin()), n_free = n - p.recent - first;
  if (n_free < 1 || std::min(selection_->n_lowest(n, c), n_free) != 1) return false;
  d.gone.assign(1, first);
  d.due = false;  // it is decided
  return true;
}

/// One decision for all heads: each gets the mean of their scores.
void Policy::share_scores(std::span<HeadDecision> heads) const {
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

/// Layers may be decided by several threads. (A builtin of both compilers: libc++ has no std::atomic_ref.)
static void count(int& all, int n) {
  if (n > 0) __atomic_fetch_add(&all, n, __ATOMIC_RELAXED);
}

void Policy::show_scores(HeadDecision& d) {
  if (ranking_->by_position()) return;
  d.plan.score.resize(d.score.size());
  bool all_finite = true;
  for (std::size_t i = 0; i < d.score.size(); ++i) {
    const double score = d.is_protected[i] ? 0 : d.score[i];
    all_finite &= std::abs(score) <= std::numeric_limits<double>::max();
    d.plan.score[i] = d.is_protected[i] ? kNotAvailable : score;
  }
  if (all_finite) return;
  if (whole_window_) d.plan.n_observed = std::min(observed_, static_cast<int>(d.score.size()));
  count(nan_scores_, d.n_not_numbers());
  count(infinite_scores_, static_cast<int>(std::ranges::count_if(d.plan.score, [](double s) { return std::isinf(s); })));
}

void Policy::count_nan_scores(int n) { count(nan_scores_, n); }

}  // namespace kvscope
