// SPDX-License-Identifier: Apache-2.0
// What a lane measures of its own steps (POLICIES.md section 6): its cache against its own full history, its predictions against what came.
#include <cmath>

#include "measure/perturbation.h"
#include "runtime/lane.h"

namespace kvscope {

bool Lane::theta_applies() const {
  return setup_.record.measures.local && setup_.record.measures.theta && policy_->evict_only() &&
         policy_->positions() == Positions::original;
}

bool Lane::wants_value_norms() const { return theta_applies() && policy_->compresses() && setup_.record.shadow; }

void Lane::set_unharmed(HeadRecord& record) const {
  record.local_rel_l2 = record.local_l1_wo = record.attention_loss = 0;
  if (theta_applies()) record.theta = 0;
}

void Lane::after_layer(int layer, const void* residual) {
  if (!setup_.record.measures.hidden) return;
  const std::size_t dim = config_.dim;
  hidden.resize(dim * config_.n_layers);
  backend_.to_double(std::span(hidden).subspan(dim * layer, dim), residual);
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
    any_removed |= jobs_[h].removed_before;
    if (!jobs_[h].removed_before) set_unharmed(record);
  }
  if (!any_removed || !compares()) return;  // without a shadow the figures stay "not available"

  std::vector<double> difference(config_.q_dim(), 0.0), full(config_.q_dim());
  backend_.to_double(full, o_full_.data());
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    if (!jobs_[h].removed_before) continue;
    HeadRecord& record = head_record(layer_idx, h);
    const std::span<const double> o_c = o.subspan(h * group_size, group_size);
    const std::span<const double> o_f = std::span<const double>(full).subspan(h * group_size, group_size);
    record.local_rel_l2 = mean_rel_l2(o_c, o_f, group);
    record.attention_loss = attention_loss(jobs_[h].host_p_full, group, layer.heads[h].slots.evicted);
    if (wants_value_norms()) {
      const std::span<const double> nu = std::span<const double>(layer.value_l1).subspan(static_cast<std::size_t>(h) * group);
      record.theta = theta_bound(jobs_[h].host_p_full, group, layer.heads[h].slots.pos, nu, config_.n_heads);
    }
    for (std::size_t i = 0; i < group_size; ++i) difference[h * group_size + i] = o_c[i] - o_f[i];
  }
  std::vector<double> l1(config_.n_heads);
  backend_.from_double(o_full_.data(), difference);
  backend_.wo_l1(o_full_.data(), model_.layers[layer_idx].wo, 1, l1);
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    if (!jobs_[h].removed_before) continue;
    double sum = 0;
    for (int g = 0; g < group; ++g) sum += l1[h * group + g];
    head_record(layer_idx, h).local_l1_wo = sum;
  }
}

}  // namespace kvscope
