// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plausible snapshots for tests of the canvases: a small cache simulation with random importance of tokens, so that slots, events, votes,
// attention and fates agree with each other. The same arguments give the same snapshot on every machine.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/fates.h"
#include "snapshot/snapshot.h"

namespace kvscope::synthetic {

enum class LaneKind : std::uint8_t { full, window, heavy, merging };

struct Shape {
  int n_layers = 6;
  int n_heads = 8;
  int n_kv_heads = 4;
  int n_prompt = 167;
  int n_generated = 12;
  bool prefill = true;  // false: one step per prompt token
  int slots = 42;       // budget per head
  int sinks = 4;
  int recent = 8;
  bool capture = true;  // attention and reference attention
  std::uint64_t seed = 7;
  std::vector<LaneKind> lanes = {LaneKind::full, LaneKind::window, LaneKind::heavy, LaneKind::merging};
};

namespace detail {

inline std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

inline double uniform(std::uint64_t seed, int a, int b = 0, int c = 0) {
  const std::uint64_t x =
      mixed(mixed(mixed(mixed(seed) + static_cast<std::uint64_t>(a)) + static_cast<std::uint64_t>(b)) + static_cast<std::uint64_t>(c));
  return static_cast<double>(x >> 11) * 0x1p-53;
}

inline std::vector<TokenInfo> tokens(int n, int n_prompt) {
  static const std::vector<std::string> words = {" from", " the",    " fl",    "ash",   " of",  " our",  " lam", "ps",    ",",    " as",
                                                 " rays", " fell",   " on",    " them", "\n",   " th",   "at",   " hor",  "ses",  " were",
                                                 " coal", "-",       " black", "\t",    " and", " 日本", "\xE4", "\xBD",  "\xA0", " h",
                                                 "idden", " number", " is",    " 4",    "8",    "2",     ".",    " 🙂", " سلام"};
  std::vector<TokenInfo> result;
  int text = 0;
  for (int t = 0; t < n; ++t) {
    TokenInfo token;
    if (t == 0) {
      token = {1, "", "<s>", true, -1, -1};
    } else {
      const std::size_t w = static_cast<std::size_t>(t - 1) % words.size();
      token.id = 10 + static_cast<int>(w);
      token.bytes = words[w];
      token.piece = words[w];
      if (t < n_prompt) {
        token.text_begin = text;
        token.text_end = text += static_cast<int>(words[w].size());
      }
    }
    result.push_back(std::move(token));
  }
  return result;
}

/// One (layer, KV head) of one lane.
class Head {
 public:
  Head(const Shape& shape, LaneKind kind, int layer, int kv_head)
      : shape_(shape), kind_(kind), layer_(layer), kv_head_(kv_head), id_(layer * shape.n_kv_heads + kv_head) {}

  void add(int token) { slots_.push_back({token, 1, importance(token), 0, {token}}); }

  HeadRecord step(int step, int position) {
    HeadRecord r;
    r.layer = layer_;
    r.kv_head = kv_head_;
    r.budget = kind_ == LaneKind::full ? -1 : shape_.slots;
    attend(r, position, step);
    compress(r, step);
    r.recent = kind_ == LaneKind::full ? 0 : kind_ == LaneKind::window ? shape_.slots - shape_.sinks : shape_.recent;
    r.recent = std::min(r.recent, static_cast<int>(slots_.size()));
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const bool is_protected = slots_[i].pos < shape_.sinks || i + static_cast<std::size_t>(r.recent) >= slots_.size();
      r.pos.push_back(slots_[i].pos);
      r.votes.push_back(slots_[i].votes);
      const bool ranked = kind_ != LaneKind::full && kind_ != LaneKind::window && !is_protected;
      r.score.push_back(ranked ? score(slots_[i], step) : kNotAvailable);
      if (kind_ == LaneKind::merging) {
        r.statistic.push_back(mu(slots_[i], step));
        r.bias.push_back(slots_[i].bias);
      }
    }
    r.evicted_votes = evicted_votes_;
    damage(r);
    return r;
  }

 private:
  struct Slot {
    int pos = 0;
    int votes = 1;
    double importance = 0;
    double bias = 0;
    std::vector<int> members;
  };

  double importance(int token) const {
    const double u = uniform(shape_.seed, id_, token, 1), focus = uniform(shape_.seed, id_, token / 9, 2);
    return std::exp(-3 * u - 2 * focus) * (token < shape_.sinks ? 3 : 1);
  }
  double score(const Slot& s, int step) const {
    return 0.02 * s.importance * (0.9 + 0.2 * uniform(shape_.seed, id_ + 31 * step, s.pos, 3));
  }
  double mu(const Slot& s, int step) const { return 0.01 * s.importance * (0.5 + uniform(shape_.seed, id_ + 31 * step, s.pos, 4)); }
  double weight(int token, int position, int step) const {
    return importance(token) * (0.6 + 0.8 * uniform(shape_.seed, id_ + 17 * step, token, 5)) * (position - token < 6 ? 4 : 1);
  }

  void attend(HeadRecord& r, int position, int step) {
    double seen = 0, all = 0;
    std::vector<double> weights(static_cast<std::size_t>(position) + 1);
    for (int t = 0; t <= position; ++t) all += weights[static_cast<std::size_t>(t)] = weight(t, position, step);
    for (const Slot& s : slots_) {
      r.attended.push_back(s.pos);
      for (int m : s.members) seen += weights[static_cast<std::size_t>(m)];
    }
    attention_loss_ = std::max(0.0, 1 - seen / all);
    if (!shape_.capture) return;
    for (const Slot& s : slots_) {
      double own = 0;
      for (int m : s.members) own += weights[static_cast<std::size_t>(m)];
      r.attention.push_back(static_cast<float>(own / seen));
    }
    for (double w : weights) r.reference_attention.push_back(static_cast<float>(w / all));
  }

  void compress(HeadRecord& r, int step) {
    if (kind_ == LaneKind::full) return;
    const int recent = kind_ == LaneKind::window ? shape_.slots - shape_.sinks : shape_.recent;
    double worst_kept = kNotAvailable;
    std::vector<std::pair<double, int>> order;  // unprotected slots by score: index into slots_
    for (std::size_t i = 0; i + static_cast<std::size_t>(recent) < slots_.size(); ++i) {
      if (slots_[i].pos >= shape_.sinks)
        order.push_back({kind_ == LaneKind::window ? slots_[i].pos : score(slots_[i], step), static_cast<int>(i)});
    }
    const int too_many = static_cast<int>(slots_.size()) - shape_.slots;
    if (too_many <= 0) return;
    std::sort(order.begin(), order.end());
    std::vector<char> gone(slots_.size(), 0);
    for (int i = 0; i < too_many && i < static_cast<int>(order.size()); ++i)
      gone[static_cast<std::size_t>(order[static_cast<std::size_t>(i)].second)] = 1;
    if (too_many < static_cast<int>(order.size())) worst_kept = order[static_cast<std::size_t>(too_many)].first;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (gone[i]) remove(r, i, gone, step);
    }
    if (kind_ != LaneKind::window) r.cutoff = worst_kept;
    std::vector<Slot> left;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!gone[i]) left.push_back(std::move(slots_[i]));
    }
    slots_ = std::move(left);
  }

  void remove(HeadRecord& r, std::size_t i, const std::vector<char>& gone, int step) {
    Slot& s = slots_[i];
    Event e;
    e.pos = s.pos;
    e.score = kind_ == LaneKind::window ? kNotAvailable : score(s, step);
    if (kind_ == LaneKind::merging) {
      std::size_t target = i;
      for (std::size_t d = 1; d < 12 && target == i; ++d) {  // nearest slot that stays, never a sink
        if (i + d < slots_.size() && !gone[i + d])
          target = i + d;
        else if (i >= d && !gone[i - d] && slots_[i - d].pos >= shape_.sinks)
          target = i - d;
      }
      e.cos = 0.55 + 0.4 * uniform(shape_.seed, id_, s.pos, 6);
      if (target != i && e.cos >= 0.8) {
        merge(r, e, s, slots_[target], step);
        return;
      }
    }
    evicted_votes_ += s.votes;
    r.events.push_back(std::move(e));
  }

  void merge(HeadRecord& r, Event& e, Slot& s, Slot& into, int step) {
    const double a = mu(s, step), b = mu(into, step);
    e.kind = Event::Kind::merge;
    e.into = into.pos;
    e.form = "bias";
    e.w_removed = a / (a + b);
    e.w_target = b / (a + b);
    MergeDetail* detail = nullptr;
    for (MergeDetail& m : r.merges) {
      if (m.into == into.pos) detail = &m;
    }
    if (detail == nullptr) {
      r.merges.push_back({});
      detail = &r.merges.back();
      detail->into = into.pos;
      detail->members = {into.pos};
      detail->votes = {into.votes};
      detail->mu = {b};
    }
    detail->members.push_back(s.pos);
    detail->votes.push_back(s.votes);
    detail->mu.push_back(a);
    const double sum = std::accumulate(detail->mu.begin(), detail->mu.end(), 0.0);
    detail->weights.clear();
    for (double m : detail->mu) detail->weights.push_back(m / sum);
    detail->T.clear();
    detail->m.clear();
    for (int q = 0; q < shape_.n_heads / shape_.n_kv_heads; ++q) {
      detail->T.push_back(2.0 + uniform(shape_.seed, id_, into.pos, 7 + q));
      detail->m.push_back(2.0 + uniform(shape_.seed, id_, into.pos, 17 + q));
    }
    into.votes += s.votes;
    into.members.insert(into.members.end(), s.members.begin(), s.members.end());
    into.bias = detail->extra = std::log(into.votes);
    r.events.push_back(std::move(e));
  }

  void damage(HeadRecord& r) {
    r.attention_loss = kind_ == LaneKind::full ? 0 : attention_loss_;
    r.local_rel_l2 = r.attention_loss * (0.3 + 1.2 * uniform(shape_.seed, id_, 0, 40));
    r.local_l1_wo = r.attention_loss * std::pow(10, -1 + 4 * uniform(shape_.seed, id_, 0, 41));
    r.compress_rel_l2 = r.events.empty() ? 0 : 0.002 * uniform(shape_.seed, id_, static_cast<int>(r.events.size()), 42);
  }

  const Shape& shape_;
  LaneKind kind_;
  int layer_, kv_head_, id_;
  std::vector<Slot> slots_;
  int evicted_votes_ = 0;
  double attention_loss_ = 0;
};

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
  result.bytes = slots * static_cast<double>(heads.size()) * 2 * 32 * 4;
  result.compress_ms = 12;
  result.fates = std::make_shared<const LaneFates>(derive_fates(result.steps, static_cast<int>(heads.size())));
  return result;
}

}  // namespace detail

inline ModelConfig model(const Shape& shape) {
  ModelConfig m;
  m.name = "synthetic";
  m.arch = "llama";
  m.n_layers = shape.n_layers;
  m.n_heads = shape.n_heads;
  m.n_kv_heads = shape.n_kv_heads;
  m.head_dim = 32;
  m.dim = 256;
  m.hidden_dim = 688;
  m.vocab_size = 2048;
  m.max_positions = 4096;
  return m;
}

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
  s.tokens = detail::tokens(shape.n_prompt + shape.n_generated, shape.n_prompt);
  for (const TokenInfo& t : s.tokens) {
    if (t.text_begin >= 0) s.prompt += t.bytes;
  }
  for (std::size_t i = 0; i < shape.lanes.size(); ++i) s.lanes.push_back(detail::lane(shape, shape.lanes[i], static_cast<int>(i)));
  return s;
}

/// A snapshot of any size without events or attention: one prefill step and fates straight from a formula. Lane 0 full, lane 1 keeps about
/// a quarter. For 32 x 32 heads x 32768 tokens this takes about 0.9 GB and a second.
inline Snapshot make_huge_snapshot(int n_layers, int n_kv_heads, int n_tokens) {
  Shape shape;
  shape.n_layers = n_layers;
  shape.n_kv_heads = shape.n_heads = n_kv_heads;
  Snapshot s;
  s.generation = s.sequence = 1;
  s.phase = RunPhase::idle;
  s.model = model(shape);
  s.n_prompt = n_tokens;
  s.tokens = detail::tokens(n_tokens, n_tokens);
  for (int l = 0; l < 2; ++l) {
    LaneSnapshot lane;
    lane.policy = l == 0 ? "full" : "keepkv";
    lane.title = l == 0 ? "Full cache" : "KeepKV";
    lane.spec = lane.policy;
    lane.sinks = l == 0 ? 0 : 4;
    lane.slots_asked = l == 0 ? -1 : n_tokens / 4;
    auto record = std::make_shared<StepRecord>();
    record->position = n_tokens - 1;
    auto fates = std::make_shared<LaneFates>();
    fates->n_tokens = n_tokens;
    const auto n = static_cast<std::size_t>(n_tokens);
    for (int h = 0; h < n_layers * n_kv_heads; ++h) {
      HeadRecord r;
      r.layer = h / n_kv_heads;
      r.kv_head = h % n_kv_heads;
      r.budget = lane.slots_asked;
      r.recent = l == 0 ? 0 : 64;
      r.local_l1_wo = 10.0 * detail::uniform(3, h);
      HeadFates f;
      f.left.assign(n, kNever);
      f.into.assign(n, -1);
      f.lost.assign(n, kNever);
      if (l == 1) {
        for (int t = 4; t < n_tokens - 64; ++t) {
          const std::uint64_t x = detail::mixed(static_cast<std::uint64_t>(h) * 1'000'003u + static_cast<std::uint64_t>(t)) % 8;
          if (x < 2) continue;
          const auto i = static_cast<std::size_t>(t);
          f.left[i] = 0;
          if (x == 2)
            f.into[i] = n_tokens - 1;
          else
            f.lost[i] = 0;
        }
        for (int t = 0; t < n_tokens; ++t) {
          if (f.left[static_cast<std::size_t>(t)] == kNever) r.pos.push_back(t);
        }
        r.votes.assign(r.pos.size(), 1);
        r.score.assign(r.pos.size(), kNotAvailable);
      }
      record->heads.push_back(std::move(r));
      fates->heads.push_back(std::move(f));
    }
    lane.steps.push_back(std::move(record));
    lane.fates = std::move(fates);
    s.lanes.push_back(std::move(lane));
  }
  return s;
}

}  // namespace kvscope::synthetic
