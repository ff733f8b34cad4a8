// SPDX-License-Identifier: Apache-2.0
// What a lane measures of its own steps (POLICIES.md section 6): its cache against its own full history, its predictions against what came.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "measure/perturbation.h"
#include "policy/apply_plan.h"
#include "runtime/lane/lane.h"
#include "runtime/lane/value_l1.h"

namespace kvscope {

bool Lane::theta_applies() const {
  const bool merged_by_hand =
      std::any_of(what_ifs_.begin(), what_ifs_.end(), [](const WhatIf& w) { return w.kind == WhatIf::Kind::merge; });
  return setup_.record.measures.local && setup_.record.measures.theta && policy_->evict_only() && !merged_by_hand &&
         policy_->positions() == Positions::original;
}

bool Lane::wants_value_norms() const { return theta_applies() && removes() && setup_.record.shadow; }

void Lane::set_unharmed(HeadRecord& record) const {
  record.local_rel_l2 = record.local_l1_wo = record.attention_loss = 0;
  if (theta_applies()) record.theta = 0;
}

void Lane::after_layer(int layer, const void* residual) {
  if (!setup_.record.measures.hidden) return;
  const std::size_t size = bytes(config_.dim);
  auto* const rows = static_cast<std::byte*>(reserve(residuals_, static_cast<std::size_t>(config_.dim) * config_.n_layers));
  backend_.copy(rows + size * layer, residual, size);
}

void Lane::end_step() {
  measure_differences();
  measure_changes();
  for (int l = 0; l < config_.n_layers && finishes_at_the_end(); ++l)
    if (work(l).compression->reloaded) fit(l);
  for (LayerWork& w : work_) w.compression.reset();
  lookups_.reset();
  count_time();
  if (!setup_.record.measures.hidden) return;
  hidden.resize(static_cast<std::size_t>(config_.dim) * config_.n_layers);
  backend_.to_double(hidden, residuals_.data());
}

void Lane::measure_prediction(const SlotState& slots, std::span<const double> z, HeadRecord& record) const {
  const std::vector<double> lshat = policy_->predicted_log_scores(slots);
  if (lshat.empty()) return;
  const PredictorError error = predictor_error(lshat, z, slots.extra, config_.group());
  record.predictor_error = error.log;
  record.predictor_rel_error = error.relative;
}

void Lane::measure(int layer_idx, std::span<const double> o) {
  const Layer& layer = layers_[layer_idx];
  const int group = config_.group();
  const std::size_t group_size = static_cast<std::size_t>(group) * config_.head_dim;
  bool any_removed = false;
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    HeadRecord& record = head_record(layer_idx, h);
    any_removed |= work(layer_idx).heads[h].removed_before;
    if (!work(layer_idx).heads[h].removed_before) set_unharmed(record);
  }
  if (!any_removed || !compares()) return;  // without a shadow the figures stay "not available"

  std::vector<double>& difference = differences_[layer_idx];
  difference.assign(config_.q_dim(), 0.0);
  std::vector<double> full(config_.q_dim());
  backend_.to_double(full, work(layer_idx).o_full.data());
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    if (!work(layer_idx).heads[h].removed_before) continue;
    HeadRecord& record = head_record(layer_idx, h);
    const std::span<const double> o_c = o.subspan(h * group_size, group_size);
    const std::span<const double> o_f = std::span<const double>(full).subspan(h * group_size, group_size);
    record.local_rel_l2 = mean_rel_l2(o_c, o_f, group);
    const std::vector<int>& evicted = layer.heads[h].slots.evicted;
    std::vector<int> missed = record.unread;
    if (!missed.empty()) missed.insert(missed.end(), evicted.begin(), evicted.end());
    record.attention_loss = attention_loss(work(layer_idx).heads[h].host_p_full, group, missed.empty() ? evicted : missed);
    if (wants_value_norms()) {
      const std::span<const double> nu = std::span<const double>(layer.value_l1).subspan(static_cast<std::size_t>(h) * group);
      record.theta = theta_bound(work(layer_idx).heads[h].host_p_full, group, layer.heads[h].slots.pos, nu, config_.n_heads);
    }
    for (std::size_t i = 0; i < group_size; ++i) difference[h * group_size + i] = o_c[i] - o_f[i];
  }
}

SlotSegments Lane::slots_seen(int layer, int kv_head, Buffer& buffer) const {
  SinkView sinks;
  if (policy_->positions() == Positions::ceiling && config_.window(layer) == 0)
    sinks = {policy_->ceiling(layer, kv_head), policy_->sinks()};
  return segments_of(backend_, config_, layers_[static_cast<std::size_t>(layer)].heads[static_cast<std::size_t>(kv_head)], sinks, buffer);
}

void Lane::measure_changes() {
  std::vector<Changed> changed;
  for (LayerWork& w : work_) std::ranges::move(std::exchange(w.changed, {}), std::back_inserter(changed));
  if (changed.empty()) return;
  const std::size_t group_size = static_cast<std::size_t>(config_.group()) * config_.head_dim;
  std::vector<AttentionJob> jobs;
  for (const Changed& c : changed) {
    const HeadCache& head = layers_[c.layer].heads[c.kv_head];
    HeadJob& job = work(c.layer).heads[c.kv_head];
    job.cache = slots_seen(c.layer, c.kv_head, job.sinks);
    job.bias = bias_of(head.slots, policy_->bias());
    jobs.push_back({.slots = job.cache,
                    .q = query_for(backend_, config_, head, c.q, record_->position, job.q),
                    .bias = job.bias.empty() ? nullptr : job.bias.data(),
                    .out = reserve(job.after_o, group_size),
                    .rotate_by_index = head.unrotated,
                    .reads_out = true,
                    .rule = config_.layer(c.layer).logits,
                    .rope = head.rope});
  }
  backend_.attend(jobs);
  std::vector<double> after(group_size);
  for (const Changed& c : changed) {
    backend_.to_double(after, work(c.layer).heads[c.kv_head].after_o.data());
    head_record(c.layer, c.kv_head).compress_rel_l2 = mean_rel_l2(after, c.before, config_.group());
  }
}

void Lane::measure_differences() {
  std::vector<int> layers;
  std::vector<double> all;
  for (int l = 0; l < config_.n_layers; ++l) {
    if (differences_[l].empty()) continue;
    layers.push_back(l);
    all.insert(all.end(), differences_[l].begin(), differences_[l].end());
    differences_[l].clear();
  }
  if (layers.empty()) return;
  const auto* const rows = static_cast<const std::byte*>(reserve(difference_rows_, all.size()));
  backend_.from_double(difference_rows_.data(), all);
  const std::size_t n_heads = config_.n_heads;
  std::vector<double> l1(layers.size() * n_heads);
  std::vector<WoNormJob> jobs;
  for (std::size_t i = 0; i < layers.size(); ++i)
    jobs.push_back({.x = rows + bytes(config_.q_dim()) * i,
                    .wo = &model_.layers[layers[i]].wo,
                    .rows = 1,
                    .out = std::span(l1).subspan(i * n_heads, n_heads)});
  backend_.wo_l1(jobs);
  const std::size_t group = config_.group();
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (int h = 0; h < config_.n_kv_heads; ++h) {  // 0 where nothing was removed before this step
      const auto of_head = l1.begin() + static_cast<std::ptrdiff_t>(i * n_heads + h * group);
      head_record(layers[i], h).local_l1_wo = std::accumulate(of_head, of_head + static_cast<std::ptrdiff_t>(group), 0.0);
    }
}

void Lane::append_value_norms(std::span<const LayerRows> layers, int row) {
  if (!wants_value_norms()) return;
  std::vector<ValueRows> values;
  for (const LayerRows& rows : layers)
    values.push_back({.wo = &model_.layers[rows.layer].wo,
                      .v = static_cast<const std::byte*>(rows.v) + bytes(config_.kv_dim()) * row,
                      .rows = 1,
                      .out = &layers_[rows.layer].value_l1});
  append_value_l1(backend_, config_, values);
}

}  // namespace kvscope
