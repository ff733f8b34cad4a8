// SPDX-License-Identifier: Apache-2.0
// What a policy decides about a layer, carried out and recorded.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/slot_runs.h"
#include "measure/perturbation.h"
#include "policy/statistics/statistics.h"
#include "runtime/lane/lane.h"
#include "runtime/stopwatch.h"

namespace kvscope {

namespace {

const std::byte* at(const void* base, std::size_t offset) { return static_cast<const std::byte*>(base) + offset; }

}  // namespace

void Lane::compress(int layer, bool after_prompt, const void* q, std::span<const double> o) {
  const bool reloaded = !after_prompt && reload(layer);
  LayerWork& work = this->work(layer);
  const auto needs_all = [](const HeadJob& job) { return job.foresight.kind == Foresight::Kind::all_scores; };
  if (!after_prompt && numbers_of(layer) && std::ranges::any_of(work.heads, needs_all)) bring_numbers(layer, record_->position + 1);
  Compression& c = work.compression.emplace(Compression{.reloaded = reloaded, .q = q, .o = {o.begin(), o.end()}});
  const bool later = finishes_at_the_end() && !after_prompt;
  KeyLookups lookups(backend_, config_.head_dim);
  {
    const Stopwatch watch(work.ms);
    look_at(layer, later ? lookups_.get() : backend_.workers() > 0 ? nullptr : &lookups, c.sight);
    if (later) {
      c.decision = policy_->decide(c.sight.views, record_->step, reloaded);
      return;
    }
    c.plans = policy_->plan(c.sight.views, record_->step, after_prompt || reloaded);
  }
  record_plans(layer);
  CacheChanges changes;
  add_changes(layer, changes);
  {
    const Stopwatch watch(work.ms);
    changes.make(backend_);
  }
  keep_books(layer);
  measure_changes();
  if (reloaded) fit(layer);
  work.compression.reset();
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

void Lane::settle(int layer) {
  Compression& c = *work(layer).compression;
  {
    const Stopwatch watch(work(layer).ms);
    c.plans = policy_->settle(*c.decision, record_->step);
  }
  record_plans(layer);
}

void Lane::record_plans(int layer) {
  const std::vector<Plan>& plans = work(layer).compression->plans;
  for (int h = 0; h < config_.n_kv_heads; ++h)
    if (!plans[h].removals.empty()) record_plan(layers_[layer].heads[h], plans[h], head_record(layer, h));
}

void Lane::add_changes(int layer, CacheChanges& changes) {
  const Compression& c = *work(layer).compression;
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    if (c.plans[h].removals.empty()) continue;
    HeadCache& head = layers_[layer].heads[h];
    if (policy_->positions() == Positions::cache) unrotate_keys(backend_, head);
    if (const HeadNumbers* const numbers = c.sight.views[h].numbers) change_numbers(head, *numbers_of(layer), c.plans[h], *numbers, changes);
    changes.add(head, c.plans[h]);
  }
}

void Lane::change_caches() {
  const Stopwatch watch(work_.front().ms);
  CacheChanges changes;
  for (int l = 0; l < config_.n_layers; ++l) add_changes(l, changes);
  changes.make(backend_);
}

StatNeeds Lane::host_needs(int layer) const {
  const StatNeeds& needs = policy_->needs(layer);
  return layers_[layer].heads.front().number_width > 0 ? without_numbers(needs) : needs;
}

void Lane::keep_books(int layer) {
  Compression& c = *work(layer).compression;
  const StatNeeds needs = host_needs(layer);
  const std::size_t group_size = static_cast<std::size_t>(config_.group()) * config_.head_dim;
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    HeadCache& head = layers_[layer].heads[h];
    Plan& plan = c.plans[h];
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
    if (plan.changes_slots()) {  // marks alone are the host's
      std::vector<int> gone;
      {
        const Stopwatch watch(work(layer).ms);
        gone = apply_to_slots(head, needs, plan);
      }
      if (!record.score.empty()) remove_entries(record.score, gone);
      for (std::size_t i = 0; i < record.score.size() && !gone.empty(); ++i)
        if (const double s = record.score[i]; !std::isnan(s) && !(record.cutoff <= s)) record.cutoff = s;
    }
    const bool by_hand = do_what_ifs(layer, h, record);
    const bool changed = by_hand || c.reloaded || !plan.removals.empty();
    if (changed && setup_.record.measures.local) {
      const auto before = std::span(c.o).subspan(h * group_size, group_size);
      work(layer).changed.push_back({layer, h, at(c.q, bytes(group_size) * h), {before.begin(), before.end()}});
    } else if (changed) {
      record.compress_rel_l2 = kNotAvailable;
    }
    describe(head, record);
  }
}

void Lane::count_time() {
  for (LayerWork& w : work_) compress_ms += std::exchange(w.ms, 0.0);
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
  record.n_slots = head.slots.size();
  if (setup_.record.slots) {
    record.pos = head.slots.pos;
    record.votes = head.slots.votes;
  } else {
    record.score.clear();
  }
  record.evicted_votes = head.slots.evicted_votes;
  if (!setup_.record.captures) return;
  record.statistic = policy_->statistic(head.slots);
  record.bias = bias_of(head.slots, policy_->bias());
}

}  // namespace kvscope
