// SPDX-License-Identifier: Apache-2.0
#pragma once

// Snapshots of any size, up to 32 x 32 heads x 32 768 tokens: fates straight from a formula, events only while generating.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/fates.h"
#include "viz/synthetic_shape.h"

namespace kvscope::synthetic {
namespace detail {

/// One head of a lane of any length: the prefill keeps the text in patches, lets a part of the rest merge into the next slot and drops the
/// remainder; every generated token then pushes one slot out.
class LongHead {
 public:
  static constexpr int kSinks = 4, kRecent = 64;

  LongHead(int head, int lane, int n_prompt, int n_tokens) : seed_(static_cast<std::uint64_t>(lane) * 7919 + 3), head_(head) {
    const auto n = static_cast<std::size_t>(n_tokens);
    fates.left.assign(n, kNever);
    fates.into.assign(n, -1);
    fates.lost.assign(n, kNever);
    std::vector<int> waiting;  // to be merged into the next slot
    for (int t = 0; t < n_prompt; ++t) {
      const double patch = uniform(seed_, head, t / 512, 1), u = uniform(seed_, head, t, 2);
      const auto i = static_cast<std::size_t>(t);
      if (t < kSinks || t >= n_prompt - kRecent || u < 0.1 * patch * patch * patch) {
        for (int m : waiting) fates.into[static_cast<std::size_t>(m)] = t;
        slots_.push_back({t, 1 + static_cast<int>(waiting.size()), std::move(waiting)});
        waiting.clear();
        continue;
      }
      fates.left[i] = 0;
      if (u > 1 - 0.6 * patch)
        waiting.push_back(t);
      else
        fates.lost[i] = 0;
    }
  }

  /// The slots after a step; with `token` >= 0 that token comes in first and one slot goes.
  HeadRecord step(int step, int token) {
    HeadRecord r;
    if (token >= 0) {
      slots_.push_back({token, 1, {}});
      remove(r, step);
    }
    r.recent = kRecent;
    for (const Slot& s : slots_) {
      r.pos.push_back(s.pos);
      r.votes.push_back(s.votes);
      const bool ranked = s.pos >= kSinks && r.pos.size() + kRecent <= slots_.size();
      r.score.push_back(ranked ? 0.01 * uniform(seed_, head_ + 31 * step, s.pos, 3) : kNotAvailable);
    }
    return r;
  }

  HeadFates fates;

 private:
  struct Slot {
    int pos = 0, votes = 1;
    std::vector<int> members;  // besides its own
  };

  void remove(HeadRecord& r, int step) {
    const std::size_t n = slots_.size() - kSinks - kRecent - 1;
    const std::size_t at = kSinks + static_cast<std::size_t>(uniform(seed_, head_, step, 4) * static_cast<double>(n));
    Slot gone = std::move(slots_[at]);
    slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(at));
    Event e;
    e.pos = gone.pos;
    e.score = 0.001 * uniform(seed_, head_, step, 5);
    fates.left[static_cast<std::size_t>(gone.pos)] = step;
    if (uniform(seed_, head_, step, 6) < 0.3) {
      Slot& into = slots_[at];
      e.kind = Event::Kind::merge;
      e.into = into.pos;
      fates.into[static_cast<std::size_t>(gone.pos)] = into.pos;
      into.votes += gone.votes;
      into.members.push_back(gone.pos);
      into.members.insert(into.members.end(), gone.members.begin(), gone.members.end());
    } else {
      fates.lost[static_cast<std::size_t>(gone.pos)] = step;
      for (int m : gone.members) fates.lost[static_cast<std::size_t>(m)] = step;
    }
    r.events.push_back(std::move(e));
  }

  std::uint64_t seed_;
  int head_;
  std::vector<Slot> slots_;
};

inline LaneSnapshot long_lane(int index, int n_layers, int n_kv_heads, int n_prompt, int n_generated) {
  LaneSnapshot lane;
  const bool full = index == 0;
  lane.policy = full ? "full" : "keepkv";
  lane.title = full ? "Full cache" : "KeepKV";
  lane.spec = lane.policy;
  lane.sinks = full ? 0 : LongHead::kSinks;
  auto fates = std::make_shared<LaneFates>();
  fates->n_tokens = n_prompt + n_generated;
  const int n_heads = n_layers * n_kv_heads;
  std::vector<std::shared_ptr<StepRecord>> steps;
  for (int s = 0; s <= n_generated; ++s) {
    steps.push_back(std::make_shared<StepRecord>());
    steps.back()->step = s;
    steps.back()->position = n_prompt - 1 + s;
    steps.back()->ms = 1;
    steps.back()->kl = full ? 0 : 0.01 * uniform(5, index, s);
  }
  for (int h = 0; h < n_heads; ++h) {
    std::unique_ptr<LongHead> head = full ? nullptr : std::make_unique<LongHead>(h, index, n_prompt, fates->n_tokens);
    for (int s = 0; s <= n_generated; ++s) {
      HeadRecord r = full ? HeadRecord{} : head->step(s, s == 0 ? -1 : n_prompt - 1 + s);
      r.layer = h / n_kv_heads;
      r.kv_head = h % n_kv_heads;
      r.budget = full ? -1 : static_cast<int>(r.pos.size());
      r.local_l1_wo = full ? 0 : 10.0 * uniform(3, h);
      r.attention_loss = full ? 0 : uniform(4, h, s);
      steps[static_cast<std::size_t>(s)]->heads.push_back(std::move(r));
    }
    if (full) {
      const auto n = static_cast<std::size_t>(fates->n_tokens);
      fates->heads.push_back({std::vector<int>(n, kNever), std::vector<int>(n, -1), std::vector<int>(n, kNever)});
    } else {
      fates->heads.push_back(std::move(head->fates));
    }
  }
  lane.steps.assign(steps.begin(), steps.end());
  lane.fates = std::move(fates);
  return lane;
}

}  // namespace detail

/// Lane 0 keeps everything, the others keep slots for a few tokens of a hundred and let others live on merged. Steps: one prefill of
/// n_prompt tokens, then n_generated of one token. Nothing is captured (no attention). 12 bytes a lane, head and token: 32 x 32 heads x
/// 32 768 tokens take 0.4 GB and about a second per lane.
inline Snapshot make_huge_snapshot(int n_layers, int n_kv_heads, int n_prompt, int n_generated = 0, int n_lanes = 2) {
  Shape shape;
  shape.n_layers = n_layers;
  shape.n_kv_heads = shape.n_heads = n_kv_heads;
  Snapshot s;
  s.generation = s.sequence = 1;
  s.phase = RunPhase::idle;
  s.model = model(shape);
  s.n_prompt = n_prompt;
  s.tokens = detail::tokens(n_prompt + n_generated, n_prompt);
  for (int lane = 0; lane < n_lanes; ++lane) s.lanes.push_back(detail::long_lane(lane, n_layers, n_kv_heads, n_prompt, n_generated));
  return s;
}

}  // namespace kvscope::synthetic
