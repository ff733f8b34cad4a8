// SPDX-License-Identifier: Apache-2.0
#pragma once

// A run small enough to check by hand: one head, a streamed prompt of 8 tokens "t0" ... "t7", one step per token.

#include <memory>
#include <string>

#include "snapshot/fates.h"
#include "snapshot/snapshot.h"

namespace kvscope::viz::testing {

inline Event merge_event(int pos, int into, double w_removed, double cos, double score) {
  Event e;
  e.kind = Event::Kind::merge;
  e.pos = pos;
  e.into = into;
  e.w_removed = w_removed;
  e.w_target = 1 - w_removed;
  e.cos = cos;
  e.score = score;
  e.form = "bias";
  return e;
}

inline Event evict_event(int pos, double score) {
  Event e;
  e.pos = pos;
  e.score = score;
  return e;
}

/// Budget 4, no sinks, one recent slot:
///   step 4: slots 0 1 2 3 4, token 1 (score 0.10) merges into 2 with weight 0.25, cosine 0.90
///   step 5: token 2, two votes by now (score 0.20), merges into 3 with weight 0.40, cosine 0.85
///   step 6: token 0 (score 0.05) is evicted
///   step 7: token 5 (score 0.30) merges into 3 with weight 0.30, cosine 0.95
/// After step 7 slot 3 stands for 1, 2, 3 and 5 with four votes; 4, 6 and 7 stand for themselves.
inline Snapshot small_snapshot() {
  Snapshot s;
  s.generation = s.sequence = 1;
  s.prefill_mode = false;
  s.n_prompt = 8;
  s.model.n_layers = 1;
  s.model.n_heads = 2;
  s.model.n_kv_heads = 1;
  s.model.head_dim = 4;
  LaneSnapshot full, lane;
  full.title = "Full cache";
  full.policy = full.spec = "full";
  lane.title = "Merging";
  lane.policy = "merging";
  lane.spec = "merging:slots=4";
  lane.params = {{"slots", "4"}, {"recent", "1"}, {"threshold", "0.80"}};
  lane.slots_asked = 4;
  lane.statistic = "share";
  lane.half_life = 6.6;
  std::vector<int> slots, votes(8, 1);
  for (int t = 0; t < 8; ++t) {
    TokenInfo token;
    token.id = 100 + t;
    token.bytes = "t" + std::to_string(t);
    s.tokens.push_back(token);
    auto r = std::make_shared<StepRecord>();
    r->step = r->position = t;
    r->top1 = r->top1_reference = 100 + t;
    HeadRecord h;
    h.budget = 4;
    h.recent = 1;
    slots.push_back(t);
    for (const int pos : slots) {
      h.attended.push_back(pos);
      h.attention.push_back(1.0f / static_cast<float>(slots.size()));
    }
    h.reference_attention.assign(static_cast<std::size_t>(t) + 1, 1.0f / static_cast<float>(t + 1));
    if (t == 4) h.events = {merge_event(1, 2, 0.25, 0.90, 0.10)};
    if (t == 5) h.events = {merge_event(2, 3, 0.40, 0.85, 0.20)};
    if (t == 6) h.events = {evict_event(0, 0.05)};
    if (t == 7) h.events = {merge_event(5, 3, 0.30, 0.95, 0.30)};
    for (const Event& e : h.events) {
      std::erase(slots, e.pos);
      if (e.into >= 0) votes[static_cast<std::size_t>(e.into)] += votes[static_cast<std::size_t>(e.pos)];
    }
    if (t >= 6) h.evicted_votes = 1;
    for (const int pos : slots) {
      h.pos.push_back(pos);
      h.votes.push_back(votes[static_cast<std::size_t>(pos)]);
      h.score.push_back(pos == t ? kNotAvailable : 0.5 + 0.1 * pos);
      h.statistic.push_back(0.01 * (pos + 1));
      h.bias.push_back(pos == 3 && t >= 5 ? 1.25 : 0.0);
    }
    if (t == 7) {
      // mu 0.00300 and 0.00700: weights 0.3 and 0.7; P = 1 + 3 = 4.
      h.merges.push_back({3, {3, 5}, {3, 1}, {0.00700, 0.00300}, {0.7, 0.3}, {2.5, 4.5}, {2.4, 4.6}, -0.0031, kNotAvailable});
    }
    h.cutoff = h.events.empty() ? kNotAvailable : 0.5 + 0.1 * slots.front();
    h.compress_rel_l2 = h.events.empty() ? 0 : 0.0125;
    h.attention_loss = 0.2;
    h.local_rel_l2 = 1.135;
    h.local_l1_wo = 729;
    h.n_slots = static_cast<int>(h.pos.size());
    r->heads.push_back(h);
    lane.steps.push_back(r);
    auto reference = std::make_shared<StepRecord>(*r);
    HeadRecord& all = reference->heads[0];
    all = HeadRecord{};
    for (int p = 0; p <= t; ++p) {
      all.pos.push_back(p);
      all.votes.push_back(1);
      all.score.push_back(kNotAvailable);
    }
    all.attention_loss = 0;
    full.steps.push_back(reference);
  }
  lane.fates = std::make_shared<const LaneFates>(derive_fates(lane.steps, 1));
  full.fates = std::make_shared<const LaneFates>(derive_fates(full.steps, 1));
  s.lanes = {full, lane};
  return s;
}

}  // namespace kvscope::viz::testing
