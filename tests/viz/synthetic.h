// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plausible snapshots for tests of the canvases: a small cache simulation with random importance of tokens, so that slots, events, votes,
// attention and fates agree with each other. The same arguments give the same snapshot on every machine. Sizes beyond a simulation:
// snapshot/synthetic.h.

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/fates.h"
#include "viz/synthetic_head.h"
#include "viz/synthetic_shape.h"

namespace kvscope::synthetic {
namespace detail {

inline void output_effect(StepRecord& r, const Shape& shape, int lane, double loss) {
  const std::uint64_t seed = shape.seed + 100;
  const int s = r.step;
  const double hit = uniform(seed, lane, s, 1);
  r.kl = loss == 0 ? 0 : std::pow(hit, 6) * 4.2 * loss * 3 + 1e-4 * hit;
  r.top1_reference = 10 + s % 30;
  r.top1_same = r.kl < 0.5;
  r.top1 = r.top1_same ? r.top1_reference : 10 + (s + 7) % 30;
  r.next_token = r.top1_reference;
  r.nll = 0.02 + (r.top1_same ? 0.3 * hit : r.kl);
  r.ms = 2 + hit;
  for (int k = 0; k < 10; ++k) {
    TopToken t;
    t.id = k == 0 ? r.top1_reference : k == 1 && !r.top1_same ? r.top1 : 10 + (s + 11 + k) % 38;
    t.p_reference = 0.9 * std::pow(0.35, k);
    t.p = loss == 0     ? t.p_reference
          : r.top1_same ? t.p_reference * (0.8 + 0.3 * uniform(seed, lane, s, 2 + k))
          : k == 1      ? 0.6
                        : 0.2 * std::pow(0.6, k);
    t.logit_reference = std::log(t.p_reference) + 12;
    t.logit = std::log(t.p) + 12;
    t.rank_reference = k + 1;
    t.rank = r.top1_same ? k + 1 : k == 0 ? 2 : k == 1 ? 1 : k + 1;
    r.top_tokens.push_back(t);
    if (k < 5) r.logits_top.push_back({t.id, t.logit});
  }
}

inline LaneSnapshot lane(const Shape& shape, LaneKind kind, int index) {
  LaneSnapshot result;
  const char* const names[] = {"full", "streaming", "h2o", "keepkv"};
  const char* const titles[] = {"Full cache", "Streaming", "H2O", "KeepKV"};
  result.policy = names[static_cast<int>(kind)];
  result.title = titles[static_cast<int>(kind)];
  result.spec = result.policy;
  if (kind != LaneKind::full) {
    result.spec += ":slots=" + std::to_string(shape.slots);
    result.sinks = shape.sinks;
    result.slots_asked = shape.slots;
    result.params = {
        {"slots", std::to_string(shape.slots)}, {"sinks", std::to_string(shape.sinks)}, {"recent", std::to_string(shape.recent)}};
  }
  if (kind == LaneKind::merging) {
    result.statistic = "EMA share";
    result.half_life = 6.6;
    result.sees_question = shape.prefill;
    result.params.push_back({"threshold", "0.8"});
  }
  std::vector<Head> heads;
  for (int l = 0; l < shape.n_layers; ++l) {
    for (int h = 0; h < shape.n_kv_heads; ++h) heads.emplace_back(shape, kind, l, h);
  }
  const int n_steps = (shape.prefill ? 1 : shape.n_prompt) + shape.n_generated;
  int n_tokens = 0;
  for (int s = 0; s < n_steps; ++s) {
    auto record = std::make_shared<StepRecord>();
    record->step = s;
    const int n_new = shape.prefill && s == 0 ? shape.n_prompt : 1;
    record->position = n_tokens + n_new - 1;
    double loss = 0;
    for (Head& head : heads) {
      for (int t = 0; t < n_new; ++t) head.add(n_tokens + t);
      record->heads.push_back(head.step(s, record->position));
      record->heads.back().n_slots = static_cast<int>(record->heads.back().pos.size());
      loss += record->heads.back().attention_loss / static_cast<double>(heads.size());
    }
    n_tokens += n_new;
    output_effect(*record, shape, index, loss);
    if (record->position + 1 >= shape.n_prompt) result.fed.push_back(record->next_token);
    result.steps.push_back(std::move(record));
  }
  double slots = 0;
  for (const HeadRecord& h : result.steps.back()->heads) slots += static_cast<double>(h.pos.size()) / static_cast<double>(heads.size());
  result.slots = slots;
  result.kv_bytes = result.bytes = slots * static_cast<double>(heads.size()) * 2 * 32 * 4;
  result.compress_ms = 12;
  result.fates = std::make_shared<const LaneFates>(derive_fates(result.steps, static_cast<int>(heads.size())));
  return result;
}

}  // namespace detail

inline Snapshot make_snapshot(const Shape& shape = {}) {
  Snapshot s;
  s.generation = 1;
  s.sequence = 1;
  s.phase = RunPhase::idle;
  s.progress = 1;
  s.model = model(shape);
  s.device = "cpu";
  s.precision = "f32";
  s.prefill_mode = shape.prefill;
  s.n_prompt = shape.n_prompt;
  s.tokens = tokens(shape.n_prompt + shape.n_generated, shape.n_prompt);
  for (const TokenInfo& t : s.tokens) {
    if (t.text_begin >= 0) s.prompt += t.bytes;
  }
  for (std::size_t i = 0; i < shape.lanes.size(); ++i) s.lanes.push_back(detail::lane(shape, shape.lanes[i], static_cast<int>(i)));
  return s;
}

}  // namespace kvscope::synthetic
