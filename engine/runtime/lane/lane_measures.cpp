// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane_measures.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "measure/perturbation.h"
#include "policy/apply_plan.h"

namespace kvscope {

LaneMeasures::LaneMeasures(LaneContext& lane, LaneCaches& caches)
    : lane_(lane), caches_(caches), changed_(lane.n_works()), differences_(lane.config.n_layers) {}

void LaneMeasures::set_unharmed(HeadRecord& record) const {
  record.local_rel_l2 = record.local_l1_wo = record.attention_loss = 0;
  if (lane_.bounds_loss()) record.theta = 0;
}

void LaneMeasures::measure(int layer, const StepAttention::Layer& attention, std::span<const double> o) {
  const ModelConfig& config = lane_.config;
  const int group = config.group();
  const std::size_t group_size = lane_.group_size();
  bool any_removed = false;
  for (int h = 0; h < config.n_kv_heads; ++h) {
    any_removed |= attention.heads[h].removed_before;
    if (!attention.heads[h].removed_before) set_unharmed(lane_.head_record(layer, h));
  }
  if (!any_removed || !lane_.compares()) return;  // without the history the figures stay "not available"

  std::vector<double>& difference = differences_[layer];
  difference.assign(config.q_dim(), 0.0);
  std::vector<double> full(config.q_dim());
  lane_.backend.to_double(full, attention.o_full.data());
  for (int h = 0; h < config.n_kv_heads; ++h) {
    const StepAttention::Head& head = attention.heads[h];
    if (!head.removed_before) continue;
    HeadRecord& record = lane_.head_record(layer, h);
    const SlotState& slots = caches_.head(layer, h).slots;
    const std::span<const double> o_c = o.subspan(h * group_size, group_size);
    const std::span<const double> o_f = std::span<const double>(full).subspan(h * group_size, group_size);
    record.local_rel_l2 = mean_rel_l2(o_c, o_f, group);
    std::vector<int> missed = record.unread;
    if (!missed.empty()) missed.insert(missed.end(), slots.evicted.begin(), slots.evicted.end());
    record.attention_loss = attention_loss(head.host_p_full, group, missed.empty() ? slots.evicted : missed);
    if (lane_.keeps_value_norms()) {
      const std::span<const double> nu = caches_.value_l1(layer).subspan(static_cast<std::size_t>(h) * group);
      record.theta = theta_bound(head.host_p_full, group, slots.pos, nu, config.n_heads);
    }
    for (std::size_t i = 0; i < group_size; ++i) difference[h * group_size + i] = o_c[i] - o_f[i];
  }
}

void LaneMeasures::measure_changes() {
  std::vector<Changed> changed;
  for (std::vector<Changed>& of_layer : changed_) std::ranges::move(std::exchange(of_layer, {}), std::back_inserter(changed));
  if (changed.empty()) return;
  if (looks_.size() < changed.size()) looks_.resize(changed.size());
  std::vector<AttentionJob> jobs;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const Changed& c = changed[i];
    const HeadCache& head = caches_.head(c.layer, c.kv_head);
    SecondLook& look = looks_[i];
    look.cache = caches_.seen(c.layer, c.kv_head, look.sinks);
    look.bias = bias_of(head.slots, lane_.policy->bias());
    look.further = caches_.further(c.layer, c.kv_head, c.q);
    jobs.push_back({.slots = look.cache,
                    .q = query_for(lane_.backend, lane_.config, head, c.q, lane_.record->position, look.q),
                    .bias = look.bias.empty() ? nullptr : look.bias.data(),
                    .out = lane_.reserve(look.out, lane_.group_size()),
                    .rotate_by_index = head.unrotated,
                    .reads_out = true,
                    .rule = lane_.config.layer(c.layer).logits,
                    .rope = head.rope,
                    .further = look.further ? &*look.further : nullptr});
  }
  lane_.backend.attend(jobs);
  std::vector<double> after(lane_.group_size());
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const Changed& c = changed[i];
    lane_.backend.to_double(after, looks_[i].out.data());
    lane_.head_record(c.layer, c.kv_head).compress_rel_l2 = mean_rel_l2(after, c.before, lane_.config.group());
  }
}

void LaneMeasures::after_layer(int layer, const void* residual) {
  if (!lane_.setup.record.measures.hidden) return;
  const auto dim = static_cast<std::size_t>(lane_.config.dim);
  void* const rows = lane_.reserve(residuals_, dim * lane_.config.n_layers);
  lane_.backend.copy(lane_.at(rows, dim, layer), residual, lane_.bytes(dim));
}

void LaneMeasures::end_step(std::vector<double>& hidden) {
  measure_differences();
  measure_changes();
  if (!lane_.setup.record.measures.hidden) return;
  hidden.resize(static_cast<std::size_t>(lane_.config.dim) * lane_.config.n_layers);
  lane_.backend.to_double(hidden, residuals_.data());
}

void LaneMeasures::measure_differences() {
  std::vector<int> layers;
  std::vector<double> all;
  for (int l = 0; l < lane_.config.n_layers; ++l) {
    if (differences_[l].empty()) continue;
    layers.push_back(l);
    all.insert(all.end(), differences_[l].begin(), differences_[l].end());
    differences_[l].clear();
  }
  if (layers.empty()) return;
  const void* const rows = lane_.reserve(difference_rows_, all.size());
  lane_.backend.from_double(difference_rows_.data(), all);
  const std::size_t n_heads = lane_.config.n_heads;
  std::vector<double> l1(layers.size() * n_heads);
  std::vector<WoNormJob> jobs;
  for (std::size_t i = 0; i < layers.size(); ++i)
    jobs.push_back({.x = lane_.at(rows, lane_.config.q_dim(), static_cast<int>(i)),
                    .wo = &lane_.model.layers[layers[i]].wo,
                    .rows = 1,
                    .out = std::span(l1).subspan(i * n_heads, n_heads)});
  lane_.backend.wo_l1(jobs);
  const std::size_t group = lane_.config.group();
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (int h = 0; h < lane_.config.n_kv_heads; ++h) {  // 0 where nothing was removed before this step
      const auto of_head = l1.begin() + static_cast<std::ptrdiff_t>(i * n_heads + h * group);
      lane_.head_record(layers[i], h).local_l1_wo = std::accumulate(of_head, of_head + static_cast<std::ptrdiff_t>(group), 0.0);
    }
}

}  // namespace kvscope
