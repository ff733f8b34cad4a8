// SPDX-License-Identifier: Apache-2.0
#pragma once

// One head of a small cache simulation: slots, events, votes, attention and scores that agree with each other.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "viz/synthetic_shape.h"

namespace kvscope::synthetic::detail {

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

}  // namespace kvscope::synthetic::detail
