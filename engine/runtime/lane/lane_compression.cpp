// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane_compression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cache/stored_rows.h"
#include "core/slot_runs.h"
#include "measure/perturbation.h"
#include "policy/apply_plan.h"
#include "runtime/lane/head_hindsight.h"
#include "runtime/lane/layer_window.h"
#include "runtime/lane/plan_records.h"
#include "runtime/stopwatch.h"

namespace kvscope {

namespace {

/// The lowest score but for those of the slots `left_out` (ascending); slots without one do not count. Not available: there is none.
double lowest_kept(std::span<const double> score, std::span<const int> left_out) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  double least[4] = {kMost, kMost, kMost, kMost};  // side by side, so that one comparison need not wait for the other
  bool any = false;
  const auto look_at = [&](std::size_t from, std::size_t end) {
    for (std::size_t i = from; i < end; ++i) {
      const double s = score[i];
      least[i % 4] = s < least[i % 4] ? s : least[i % 4];
      any |= s == s;
    }
  };
  if (score.empty()) return kNotAvailable;
  std::size_t from = 0;
  for (const int i : left_out) {
    look_at(from, static_cast<std::size_t>(i));
    from = static_cast<std::size_t>(i) + 1;
  }
  look_at(from, score.size());
  return any ? std::min({least[0], least[1], least[2], least[3]}) : kNotAvailable;
}

/// Indices of the slots with a mark, ascending. mark: one per slot, or none at all.
std::vector<int> marked(std::span<const char> mark) {
  std::vector<int> out;
  for (std::size_t i = 0; i < mark.size(); ++i)
    if (mark[i]) out.push_back(static_cast<int>(i));
  return out;
}

}  // namespace

void LaneCompression::begin_step() {
  last_lookups_ = std::move(lookups_);
  if (lane_.finishes_at_the_end()) lookups_ = std::make_unique<KeyLookups>(lane_.backend, lane_.config.head_dim);
}

void LaneCompression::Layer::clear() {
  LayerDecision memory = std::move(decision);
  *this = {};
  decision = std::move(memory);
}

void LaneCompression::compress(int layer, const PromptRun* prompt, const void* q, std::span<const double> o) {
  const bool after_prompt = prompt, reloaded = !after_prompt && caches_.reload(layer);
  Layer& work = layers_[layer];
  work.clear();
  work.reloaded = reloaded;
  work.after_prompt = after_prompt;
  work.q = q;
  work.o.assign(o.begin(), o.end());
  const bool later = lane_.finishes_at_the_end() && !after_prompt;
  KeyLookups lookups(lane_.backend, lane_.config.head_dim);
  if (lane_.config.window(layer) > 0) {
    work.plans = leave_window(caches_.heads(layer), lane_.first_kept(layer));
  } else {
    const Stopwatch watch(lane_.ms[layer]);
    view_layer(layer, prompt, later ? lookups_.get() : lane_.backend.workers() > 0 ? nullptr : &lookups, work.view);
    work.decided = later && !lane_.policy->evict_only();
    if (work.decided)
      lane_.policy->decide(work.view.heads, lane_.record->step, reloaded, work.decision);
    else  // in one go, in memory that is near
      work.plans = lane_.policy->plan(work.view.heads, lane_.record->step, after_prompt || reloaded);
  }
  if (later) {
    if (!lookups_->expects(caches_.heads(layer))) merge(layer);
    return;
  }
  record_plans(layer);
  add_changes(layer);
  {
    const Stopwatch watch(lane_.ms[layer]);
    work.changes.make(lane_.backend);
  }
  update_slots(layer);
  measures_.measure_changes();
  if (reloaded) caches_.fit(layer);
  work.clear();
}

void LaneCompression::view_layer(int layer, const PromptRun* prompt, KeyLookups* lookups, LayerView& view) const {
  view.coming = hindsight(lane_, caches_, layer);
  for (int h = 0; h < lane_.config.n_kv_heads; ++h) view.pins.push_back(lane_.edits.pinned(layer, h, lane_.record->step));
  view.show(lane_.backend, lane_.model, layer, caches_.heads(layer), prompt, lane_.policy->needs(layer), lookups,
            lane_.setup.record.captures);
}

void LaneCompression::merge(int layer) {
  Layer& work = layers_[layer];
  if (std::exchange(work.merged, true)) return;
  if (work.decided) {
    const Stopwatch watch(lane_.ms[layer]);
    lane_.policy->merge(work.decision, lane_.record->step);
  }
  record_plans(layer);
  add_changes(layer);
  if (updates_before_caches(work)) update_slots(layer);
}

void LaneCompression::record_plans(int layer) {
  for (int h = 0; h < lane_.config.n_kv_heads; ++h)
    if (const Plan& plan = layers_[layer].plan(h); !plan.removals.empty())
      record_plan(lane_.backend, caches_.head(layer, h), plan, lane_.setup.record, lane_.head_record(layer, h));
}

void LaneCompression::add_changes(int layer) {
  const Stopwatch watch(lane_.ms[layer]);
  for (int h = 0; h < lane_.config.n_kv_heads; ++h) {
    const Plan& plan = layers_[layer].plan(h);
    if (plan.removals.empty()) continue;
    HeadCache& head = caches_.head(layer, h);
    if (lane_.policy->positions() == Positions::cache && lane_.config.window(layer) == 0) unrotate_keys(lane_.backend, head);
    if (const HeadMaps maps = lane_.maps_of(layer, h); maps.maps) pool_evicted(lane_.backend, head.kv, plan, maps, head.pooled);
    layers_[layer].changes.add(head, plan);
  }
}

void LaneCompression::change_caches() {
  const Stopwatch watch(lane_.ms[0]);
  std::vector<CacheChanges*> all;
  for (Layer& work : layers_) all.push_back(&work.changes);
  CacheChanges::make(lane_.backend, all);
}

bool LaneCompression::updates_before_caches(const Layer& work) const {
  return !work.reloaded && !lane_.edits.any() && !lane_.policy->storage();
}

void LaneCompression::update_slots(int layer) {
  if (std::exchange(layers_[layer].updated, true)) return;
  for (int h = 0; h < lane_.config.n_kv_heads; ++h) update_head(layer, h);
}

void LaneCompression::update_head(int layer, int h) {
  Layer& work = layers_[layer];
  const bool windowed = lane_.config.window(layer) > 0;
  HeadCache& head = caches_.head(layer, h);
  Plan& plan = work.plan(h);
  HeadRecord& record = lane_.head_record(layer, h);
  record_rules(layer, h, plan, record);
  if (plan.changes_slots()) update_statistics(layer, head, plan, record);  // marks alone are the host's
  bool changed = edit_by_hand(layer, h, record) || work.reloaded || (!windowed && !plan.removals.empty());
  if (const Storage* const storage = lane_.policy->storage(); storage && !windowed) {
    const Stopwatch watch(lane_.ms[layer]);
    const PromptQueries* const queries = work.after_prompt ? work.view.asked[h].get() : nullptr;
    changed |= store_rows(lane_.backend, head, *storage, {lane_.config.head_dim, lane_.config.group(), queries}, work.after_prompt);
  }
  if (changed && lane_.setup.record.measures.local)
    measures_.add_changed(layer, h, lane_.at(work.q, lane_.group_size(), h),
                          std::span(work.o).subspan(h * lane_.group_size(), lane_.group_size()));
  else if (changed)
    record.compress_rel_l2 = kNotAvailable;
  describe(head, record);
  if (!work.decided) std::vector<double>().swap(plan.score);  // the next head's come to the same memory
}

void LaneCompression::record_rules(int layer, int h, Plan& plan, HeadRecord& record) const {
  record_limits(lane_, layer, h, caches_.head(layer, h).slots.size() - static_cast<int>(plan.removals.size()), record);
  if (const std::span<const double> p = attention_.layer(layer).heads[h].p_seen;
      lane_.setup.record.measures.agreement && record.budget > 0 && !p.empty())
    record.agreement = agreement(p, lane_.config.group(), record.budget);
  if (lane_.setup.record.slots || lane_.edits.any()) record.score = plan.score;
  if (!plan.terms.empty()) {
    const std::span<const int> pos = caches_.head(layer, h).slots.pos;
    record.parts = score_parts(pos.first(pos.size() - static_cast<std::size_t>(plan.n_observed)), plan.terms);
  }
  record.merge_theta = plan.theta;
}

void LaneCompression::update_statistics(int layer, HeadCache& head, const Plan& plan, HeadRecord& record) {
  if (lane_.setup.record.slots)
    for (const int i : plan.to_residual) record.to_residual.push_back(head.slots.pos[i]);
  std::vector<int> unranked = marked(head.slots.residual);
  unranked.insert(unranked.end(), plan.to_residual.begin(), plan.to_residual.end());
  std::vector<int> gone;
  {
    const Stopwatch watch(lane_.ms[layer]);
    gone = apply_in_layer(lane_.config.layer(layer), head, lane_.policy->needs(layer), plan);
  }
  if (unranked.empty()) {
    if (!gone.empty()) record.cutoff = lowest_kept(plan.score, gone);
  } else {
    unranked.insert(unranked.end(), gone.begin(), gone.end());
    std::ranges::sort(unranked);
    record.cutoff = lowest_kept(plan.score, unranked);
  }
  if (!record.score.empty()) remove_entries(record.score, gone);
}

bool LaneCompression::edit_by_hand(int layer, int h, HeadRecord& record) {
  return lane_.edits.carry_out({.backend = lane_.backend,
                                .config = lane_.config,
                                .policy = *lane_.policy,
                                .options = lane_.setup.record,
                                .step = lane_.record->step,
                                .position = lane_.record->position,
                                .layer = layer,
                                .kv_head = h,
                                .head = caches_.head(layer, h),
                                .history = caches_.history(layer),
                                .maps = lane_.maps_of(layer, h),
                                .record = record});
}

void LaneCompression::describe(const HeadCache& head, HeadRecord& record) const {
  const RecordOptions& options = lane_.setup.record;
  record.n_slots = head.slots.size();
  record.pooled_tokens = head.pooled.n;
  describe_stored(*lane_.policy, lane_.config, lane_.backend.dtype(), head, options.captures, record);
  if (!options.slots) record.score.clear();
  if (options.slots) {
    record.pos = head.slots.pos;
    record.votes = head.slots.votes;
    for (const int i : marked(head.slots.residual)) record.residual.push_back(head.slots.pos[i]);
    std::erase_if(record.to_residual, [&](int pos) { return !std::ranges::binary_search(record.residual, pos); });  // removed by hand
  }
  record.evicted_votes = head.slots.evicted_votes;
  if (!options.captures) return;
  record.statistic = lane_.policy->statistic(head.slots);
  record.bias = bias_of(head.slots, lane_.policy->bias());
}

void LaneCompression::end_step() {
  for (int l = 0; l < lane_.config.n_layers && lane_.finishes_at_the_end(); ++l)
    if (layers_[l].reloaded) caches_.fit(l);
}

}  // namespace kvscope
