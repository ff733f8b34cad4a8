// SPDX-License-Identifier: Apache-2.0
// What a policy decides about a layer, carried out and recorded.
#include <algorithm>
#include <cmath>
#include <utility>

#include "cache/stored_rows.h"
#include "core/slot_runs.h"
#include "measure/perturbation.h"
#include "policy/apply_plan.h"
#include "runtime/lane/lane.h"
#include "runtime/lane/layer_window.h"
#include "runtime/lane/plan_records.h"
#include "runtime/stopwatch.h"

namespace kvscope {

namespace {
const std::byte* at(const void* base, std::size_t offset) { return static_cast<const std::byte*>(base) + offset; }
}  // namespace

void Lane::compress(int layer, const PromptRun* prompt, const void* q, std::span<const double> o) {
  const bool after_prompt = prompt, reloaded = !after_prompt && reload(layer);
  LayerWork& work = this->work(layer);
  Compression& c =
      work.compression.emplace(Compression{.reloaded = reloaded, .after_prompt = after_prompt, .q = q, .o = {o.begin(), o.end()}});
  const bool later = finishes_at_the_end() && !after_prompt;
  KeyLookups lookups(backend_, config_.head_dim);
  if (config_.window(layer) > 0) {
    c.plans = leave_window(layers_[layer].heads, first_kept(layer));
    if (later) return;
  } else {
    const Stopwatch watch(work.ms);
    view_layer(layer, prompt, later ? lookups_.get() : backend_.workers() > 0 ? nullptr : &lookups, c.view);
    if (later) {
      c.decision = policy_->decide(c.view.heads, record_->step, reloaded);
      return;
    }
    c.plans = policy_->plan(c.view.heads, record_->step, after_prompt || reloaded);
  }
  record_plans(layer);
  CacheChanges changes;
  add_changes(layer, changes);
  {
    const Stopwatch watch(work.ms);
    changes.make(backend_);
  }
  update_slots(layer);
  measure_changes();
  if (reloaded) fit(layer);
  work.compression.reset();
}

void Lane::view_layer(int layer, const PromptRun* prompt, KeyLookups* lookups, LayerView& view) {
  view.coming = hindsight(layer);
  for (int h = 0; h < config_.n_kv_heads; ++h) view.pins.push_back(pinned(layer, h, record_->step));
  view.show(backend_, model_, layer, layers_[layer].heads, prompt, policy_->needs(layer), lookups);
}

void Lane::merge(int layer) {
  Compression& c = *work(layer).compression;
  if (c.decision) {
    const Stopwatch watch(work(layer).ms);
    c.plans = policy_->merge(*c.decision, record_->step);
  }
  record_plans(layer);
}

void Lane::record_plans(int layer) {
  const std::vector<Plan>& plans = work(layer).compression->plans;
  for (int h = 0; h < config_.n_kv_heads; ++h)
    if (!plans[h].removals.empty()) record_plan(backend_, layers_[layer].heads[h], plans[h], setup_.record, head_record(layer, h));
}

void Lane::add_changes(int layer, CacheChanges& changes) {
  const Compression& c = *work(layer).compression;
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    if (c.plans[h].removals.empty()) continue;
    HeadCache& head = layers_[layer].heads[h];
    if (policy_->positions() == Positions::cache && config_.window(layer) == 0) unrotate_keys(backend_, head);
    changes.add(head, c.plans[h]);
  }
}

void Lane::change_caches() {
  const Stopwatch watch(work_.front().ms);
  CacheChanges changes;
  for (int l = 0; l < config_.n_layers; ++l) add_changes(l, changes);
  changes.make(backend_);
}

void Lane::update_slots(int layer) {
  Compression& c = *work(layer).compression;
  const std::size_t group_size = static_cast<std::size_t>(config_.group()) * config_.head_dim;
  const int window = config_.window(layer);
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    HeadCache& head = layers_[layer].heads[h];
    Plan& plan = c.plans[h];
    HeadRecord& record = head_record(layer, h);
    record.layer = layer;
    record.kv_head = h;
    const std::optional<int> budget = window > 0 ? std::nullopt : policy_->budget(layer, h);
    // without a limit beside limited ones, or with none at all where yet something goes: the outcome
    record.budget = budget.value_or(policy_->limits() ? head.slots.size() - static_cast<int>(plan.removals.size()) : -1);
    if (setup_.record.measures.agreement && record.budget > 0 && !work(layer).heads[h].p_seen.empty())
      record.agreement = agreement(work(layer).heads[h].p_seen, config_.group(), record.budget);
    record.overridden = window == 0 && policy_->overridden(layer, h);
    record.pinned = pinned(layer, h, record_->step + 1);
    record.recent = window > 0 ? window : policy_->recent(layer, h);
    record.score = std::move(plan.score);
    record.merge_theta = plan.theta;
    if (plan.changes_slots()) {  // marks alone are the host's
      std::vector<int> gone;
      {
        const Stopwatch watch(work(layer).ms);
        gone = apply_in_layer(config_.layer(layer), head, policy_->needs(layer), plan);
      }
      if (!record.score.empty()) remove_entries(record.score, gone);
      for (std::size_t i = 0; i < record.score.size() && !gone.empty(); ++i)
        if (const double s = record.score[i]; !std::isnan(s) && !(record.cutoff <= s)) record.cutoff = s;
    }
    bool changed = do_what_ifs(layer, h, record) || c.reloaded || (window == 0 && !plan.removals.empty());
    if (policy_->storage() && window == 0) {
      const Stopwatch watch(work(layer).ms);
      const PromptQueries* const queries = c.after_prompt ? c.view.asked[h].get() : nullptr;
      changed |= store_rows(backend_, head, *policy_->storage(), {config_.head_dim, config_.group(), queries}, c.after_prompt);
    }
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

void Lane::describe(const HeadCache& head, HeadRecord& record) const {
  record.n_slots = head.slots.size();
  describe_stored(*policy_, config_, backend_.dtype(), head, setup_.record.captures, record);
  if (!setup_.record.slots) record.score.clear();
  if (setup_.record.slots) {
    record.pos = head.slots.pos;
    record.votes = head.slots.votes;
  }
  record.evicted_votes = head.slots.evicted_votes;
  if (!setup_.record.captures) return;
  record.statistic = policy_->statistic(head.slots);
  record.bias = bias_of(head.slots, policy_->bias());
}

}  // namespace kvscope
