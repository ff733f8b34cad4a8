// SPDX-License-Identifier: Apache-2.0
// What a policy decides about a layer, carried out and recorded.
#include <algorithm>
#include <cmath>

#include "measure/perturbation.h"
#include "policy/statistics.h"
#include "runtime/lane.h"
#include "runtime/stopwatch.h"

namespace kvscope {

namespace {

const std::byte* at(const void* base, std::size_t offset) { return static_cast<const std::byte*>(base) + offset; }

}  // namespace

void Lane::compress(int layer, bool after_prompt, const void* q, std::span<const double> o) {
  const bool reloaded = !after_prompt && reload(layer);
  const auto& jobs = work(layer).heads;
  const auto needs_all = [](const HeadJob& job) { return job.foresight.kind == Foresight::Kind::all_scores; };
  if (!after_prompt && numbers_of(layer) && std::ranges::any_of(jobs, needs_all)) bring_numbers(layer, record_->position + 1);
  if (!after_prompt && finishes_at_the_end()) {
    const Stopwatch watch(compress_ms);
    Undecided& u = undecided_.emplace_back(Undecided{.layer = layer, .reloaded = reloaded, .q = q, .o = {o.begin(), o.end()}});
    if (!lookups_) lookups_ = std::make_unique<KeyLookups>(backend_, config_.head_dim);
    look_at(layer, lookups_.get(), u.sight);
    u.decision = policy_->decide(u.sight.views, record_->step, reloaded);
    return;
  }
  std::vector<Plan> plans;
  KeyLookups lookups(backend_, config_.head_dim);
  Sight sight;
  {
    const Stopwatch watch(compress_ms);
    look_at(layer, backend_.workers() > 0 ? nullptr : &lookups, sight);
    plans = policy_->plan(sight.views, record_->step, after_prompt || reloaded);
  }
  carry_out(layer, sight, plans, reloaded, q, o);
  measure_changes();
  if (reloaded) fit(layer);
}

void Lane::look_at(int layer, KeyLookups* lookups, Sight& sight) {
  std::vector<HeadCache>& heads = layers_[layer].heads;
  sight.coming = hindsight(layer);
  sight.pins.resize(heads.size());
  sight.geometry.reserve(heads.size());
  sight.numbers.reserve(heads.size());
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    sight.geometry.emplace_back(backend_, heads, h, model_.layers[layer].wo, config_.head_dim, lookups);
    sight.pins[h] = pinned(layer, h, record_->step);
    const bool kept = heads[h].number_width > 0;
    if (kept) {
      const std::vector<HeadJob>& jobs = work(layer).heads;
      const Foresight& foresight = jobs[h].foresight;
      const void* const answer = jobs[foresight.whole_layer ? 0 : h].lowest.data();
      const bool asked = foresight.kind == Foresight::Kind::lowest;
      sight.numbers.emplace_back(backend_, heads[h], numbers_of(layer)->rules, config_.group(), asked ? answer : nullptr,
                                 foresight.whole_layer, lookups);
    }
    sight.views.push_back({.slots = &heads[h].slots,
                           .keys = &sight.geometry.back(),
                           .layer = layer,
                           .kv_head = h,
                           .pinned = sight.pins[h],
                           .hindsight = sight.coming.empty() ? nullptr : sight.coming[h].get(),
                           .numbers = kept ? &sight.numbers.back() : nullptr});
  }
}

void Lane::settle() {
  for (Undecided& u : undecided_) {
    std::vector<Plan> plans;
    {
      const Stopwatch watch(compress_ms);
      plans = policy_->settle(*u.decision, record_->step);
    }
    carry_out(u.layer, u.sight, plans, u.reloaded, u.q, u.o);
  }
  measure_changes();
  for (const Undecided& u : undecided_)
    if (u.reloaded) fit(u.layer);
  undecided_.clear();
  lookups_.reset();
}

void Lane::carry_out(int layer, const Sight& sight, std::vector<Plan>& plans, bool reloaded, const void* q, std::span<const double> o) {
  std::vector<HeadCache>& heads = layers_[layer].heads;
  const std::size_t group_size = static_cast<std::size_t>(config_.group()) * config_.head_dim;
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    HeadCache& head = heads[h];
    Plan& plan = plans[h];
    HeadRecord& record = head_record(layer, h);
    record.layer = layer;
    record.kv_head = h;
    record.budget = policy_->budget(layer, h).value_or(policy_->compresses() ? head.slots.size() : -1);  // without a limit beside limited ones: the outcome
    if (setup_.record.measures.agreement && record.budget > 0 && !work(layer).heads[h].p_seen.empty())
      record.agreement = agreement(work(layer).heads[h].p_seen, config_.group(), record.budget);
    record.overridden = policy_->overridden(layer, h);
    record.pinned = pinned(layer, h, record_->step + 1);
    record.recent = policy_->recent(layer, h);
    record.score = std::move(plan.score);
    record.merge_theta = plan.theta;
    if (plan.removals.empty()) {
      if (plan.changes_slots()) apply_plan(head.slots, policy_->needs(layer), plan);  // marks alone: they are the host's
    } else {
      record_plan(head, plan, record);
      std::vector<int> kept;
      {
        const Stopwatch watch(compress_ms);
        if (policy_->positions() == Positions::cache) unrotate_keys(backend_, head);
        const HeadNumbers* const numbers = sight.views[h].numbers;
        if (numbers) apply_to_numbers(backend_, head, *numbers_of(layer), plan, *numbers);
        kept = apply(backend_, head, numbers ? without_numbers(policy_->needs(layer)) : policy_->needs(layer), plan);
      }
      if (!record.score.empty()) {
        for (std::size_t i = 0; i < kept.size(); ++i) record.score[i] = record.score[kept[i]];
        record.score.resize(kept.size());
      }
      for (const double s : record.score) {
        if (!std::isnan(s) && !(record.cutoff <= s)) record.cutoff = s;
      }
    }
    const bool by_hand = do_what_ifs(layer, h, record);
    const bool changed = by_hand || reloaded || !plan.removals.empty();
    if (changed && setup_.record.measures.local) {
      const auto before = o.subspan(h * group_size, group_size);
      changed_.push_back({layer, h, at(q, bytes(group_size) * h), {before.begin(), before.end()}});
    } else if (changed) {
      record.compress_rel_l2 = kNotAvailable;
    }
    describe(head, record);
  }
}

void Lane::record_plan(const HeadCache& head, const Plan& plan, HeadRecord& record, bool by_hand) const {
  const std::vector<int>& pos = head.slots.pos;
  constexpr const char* kForms[] = {"", "bias", "zip", "code", "paper"};
  for (const Removal& r : plan.removals) {
    record.events.push_back({.kind = r.target < 0 ? Event::Kind::evict : Event::Kind::merge,
                             .pos = pos[r.slot],
                             .into = r.target < 0 ? -1 : pos[r.target],
                             .w_removed = r.target < 0 ? kNotAvailable : r.w_removed,
                             .w_target = r.target < 0 ? kNotAvailable : r.w_target,
                             .score = r.score,
                             .cos = r.cos,
                             .gamma = r.gamma,
                             .form = kForms[static_cast<int>(r.form)],
                             .fallback = r.fallback,
                             .by_hand = by_hand});
    for (const int i : r.spread) record.events.back().spread.push_back(pos[i]);
  }
  if (!setup_.record.captures) return;
  if (setup_.record.measures.runner_ups) record_runner_ups(head, plan, record);
  for (const Merge& m : plan.merges) {
    MergeDetail detail{.into = pos[m.target], .mu = m.mu, .weights = m.value_weights, .T = m.log_score, .m = m.mean_log_score, .extra = m.extra.value_or(0), .log_scores = m.member_log_scores};
    if (m.key_scale != 1) detail.gamma = m.key_scale;
    for (const int i : m.members) {
      detail.members.push_back(pos[i]);
      detail.votes.push_back(head.slots.votes[i]);
    }
    record.merges.push_back(std::move(detail));
  }
}

void Lane::describe(const HeadCache& head, HeadRecord& record) const {
  record.pos = head.slots.pos;
  record.votes = head.slots.votes;
  record.evicted_votes = head.slots.evicted_votes;
  if (!setup_.record.captures) return;
  record.statistic = policy_->statistic(head.slots);
  record.bias = bias_of(head.slots, policy_->bias());
}

}  // namespace kvscope
