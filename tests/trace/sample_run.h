// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "snapshot/snapshot.h"

namespace kvscope {

/// A small run written by hand: one layer, two KV heads, prompt [1, 300, 17] and one token after it, lanes `full` and one that evicts and
/// merges. Every field of every record is set, so that a field lost on the way shows.
inline Snapshot sample_run() {
  Snapshot s;
  s.phase = RunPhase::idle;
  s.model = {.name = "hand",
             .arch = "llama",
             .n_layers = 1,
             .n_heads = 4,
             .n_kv_heads = 2,
             .head_dim = 8,
             .dim = 32,
             .hidden_dim = 48,
             .vocab_size = 512,
             .max_positions = 64};
  s.device = "cpu, AVX-512, 2 threads";
  s.precision = "f64";
  s.weight_bytes = 4096;
  s.temperature = 0.25;
  s.measures = MeasureSet::all();
  s.prompt = "caf\xC3\xA9";
  s.n_prompt = 3;
  s.tokens = {{.id = 1, .piece = "<s>", .special = true, .text_begin = 0, .text_end = 0},
              {.id = 300, .bytes = "caf\xC3", .text_begin = 0, .text_end = 4},  // half a code point
              {.id = 17, .bytes = "\xA9", .text_begin = 4, .text_end = 5},
              {.id = 9, .bytes = " \"x\"\n"}};

  const auto step = [](int index, int next, bool full) {
    StepRecord r;
    r.step = index;
    r.position = 2 + index;
    r.next_token = next;
    r.nll = next >= 0 ? 2.31 : kNotAvailable;
    r.kl = full ? 0 : 0.1 + index;
    r.top1_same = full;
    r.top1 = full ? 4 : 17;
    r.top1_reference = 4;
    r.logits_top = {{17, 9.1}, {4, 8.7}, {9, 1.0 / 3.0}};
    if (full) r.logits_top = {{4, 9.5}, {17, 8.5}, {9, 1.0 / 3.0}};
    r.top_tokens = {{.id = 17, .p = 0.5, .p_reference = 0.25, .logit = 9.1, .logit_reference = 8.5, .rank = 1, .rank_reference = 2},
                    {.id = 4, .p = 0.25, .p_reference = 0.5, .logit = 8.7, .logit_reference = 9.5, .rank = 2, .rank_reference = 1}};
    r.ms = 4;
    r.hidden_rel_l2 = {full ? 0 : 0.0625};
    for (int h = 0; h < 2; ++h) {
      HeadRecord head;
      head.layer = 0;
      head.kv_head = h;
      head.recent = 1;
      head.attended = full || index == 0 ? std::vector<int>{0, 1, 2} : std::vector<int>{1, 2, 3};
      head.attention = {0.5f, 0.25f, 0.1f};
      head.reference_attention.assign(static_cast<std::size_t>(r.position) + 1, 0.125f);
      if (!full) head.agreement = {2, 0, 1, 2, 1, 0, 2, 1};
      head.agreement.resize(full ? 0 : static_cast<std::size_t>(r.position) + 1);
      if (full) {
        for (int p = 0; p <= r.position; ++p) {
          head.pos.push_back(p);
          head.votes.push_back(1);
          head.score.push_back(kNotAvailable);
        }
        head.local_rel_l2 = head.local_l1_wo = head.attention_loss = head.theta = 0;
      } else {
        head.budget = 2;
        head.pos = {1, r.position};
        head.votes = {2, 1};
        head.score = {0.81, kNotAvailable};
        head.statistic = {0.7, 0.2};
        head.bias = {0.6931471805599453, 0};
        head.compress_rel_l2 = 1e-7;
        head.local_rel_l2 = 0.013;
        head.local_l1_wo = 0.4;
        head.attention_loss = 0.02;
        head.theta = 0.5;
        head.predictor_error = 0.25;
        head.predictor_rel_error = 0.375;
        head.cutoff = 0.81;
        head.evicted_votes = index;
      }
      head.n_slots = static_cast<int>(head.pos.size());
      r.heads.push_back(head);
    }
    return r;
  };

  LaneSnapshot full;
  full.spec = full.policy = "full";
  full.title = "Full cache";
  full.params = {{"group", "mean"}};
  full.kv_bytes = 1024;  // 4 slots in 2 heads, twice 8 numbers of 8 bytes each
  full.bytes = 4096;
  full.slots = 4;
  full.fed = {9};
  full.steps = {std::make_shared<StepRecord>(step(0, 9, true)), std::make_shared<StepRecord>(step(1, -1, true))};

  LaneSnapshot lane;
  lane.spec = "pairs:slots=2,form=zip";
  lane.policy = "pairs";
  lane.title = "Pairs";
  lane.params = {{"slots", "2"}, {"threshold", "0.25"}, {"form", "zip"}, {"scores", "1.5.json"}};
  lane.sinks = 1;
  lane.slots_asked = 2;
  lane.sees_question = true;
  lane.statistic = "share";
  lane.half_life = 6.5;
  lane.head_params = {{.layer = 0, .kv_head = 1, .key = "threshold", .value = "0.6"}};
  lane.kv_bytes = 640;  // 2 and 3 slots
  lane.bytes = 1024;
  lane.slots = 2.5;
  lane.fed = {9};
  StepRecord first = step(0, 9, false), second = step(1, -1, false);
  for (HeadRecord& head : first.heads) {
    head.events = {{.kind = Event::Kind::merge,
                    .pos = 0,
                    .into = 1,
                    .w_removed = 0.31,
                    .w_target = 0.69,
                    .score = 0.2,
                    .cos = 0.9,
                    .gamma = 0.97,
                    .form = "zip",
                    .runner_ups = {{2, 0.5}}}};
    head.merges = {{.into = 1,
                    .members = {1, 0},
                    .votes = {1, 1},
                    .mu = {0.6, 0.3},
                    .weights = {0.69, 0.31},
                    .T = {0.1, 0.2},
                    .m = {0.15, 0.25},
                    .extra = 0,
                    .gamma = 0.97,
                    .log_scores = {0.3, 0.4, -0.5, 0.6}}};
  }
  second.heads[0].events = {{.kind = Event::Kind::evict, .pos = 2, .score = 0.125}};
  second.heads[1].events = {
      {.kind = Event::Kind::merge, .pos = 2, .into = 1, .w_removed = 0.5, .w_target = 0.5, .form = "bias", .fallback = true}};
  second.heads[1].events.push_back({.kind = Event::Kind::restore, .pos = 0, .by_hand = true});
  second.heads[1].pos = {0, 1, 3};
  second.heads[1].votes = {1, 2, 1};
  second.heads[1].score = {kNotAvailable, 0.81, kNotAvailable};
  second.heads[1].statistic = {0.1, 0.7, 0.2};
  second.heads[1].bias = {0, 0.6931471805599453, 0};
  second.heads[1].n_slots = 3;
  second.heads[1].evicted_votes = 0;
  second.heads[1].overridden = true;
  second.heads[1].pinned = {0, 3};
  lane.steps = {std::make_shared<StepRecord>(first), std::make_shared<StepRecord>(second)};
  s.lanes = {full, lane};
  return s;
}

}  // namespace kvscope
