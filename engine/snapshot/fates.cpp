// SPDX-License-Identifier: Apache-2.0
#include "snapshot/fates.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace kvscope {
namespace {

/// Replays the events of one head. The tokens that a slot stands for form a linked list that starts at the slot's own token, so a merge is
/// one link and every token is walked once, when its slot is evicted.
class Replay {
 public:
  Replay(HeadFates& fates, int n_tokens) : fates_(fates) {
    const auto n = static_cast<std::size_t>(n_tokens);
    fates_.left.resize(n, kNever);
    fates_.into.resize(n, -1);
    fates_.lost.resize(n, kNever);
    next_.assign(n, -1);
    tail_.resize(n);
    for (int t = 0; t < n_tokens; ++t) tail_[static_cast<std::size_t>(t)] = t;
    adopt(n_tokens);
  }

  void apply(const Event& event, int step) {
    check(event.pos, step);
    if (event.kind == Event::Kind::restore) {
      restore(event.pos, step);
      return;
    }
    if (at(fates_.left, event.pos) != kNever) {
      throw Error(
          fmt::format("step {}: token {} leaves its slot a second time, it left at step {}", step, event.pos, at(fates_.left, event.pos)));
    }
    at(fates_.left, event.pos) = step;
    if (event.kind == Event::Kind::evict) {
      for (int t = event.pos; t >= 0; t = at(next_, t)) at(fates_.lost, t) = step;
      return;
    }
    check(event.into, step);
    const int target = holder(event.into);
    if (target == event.pos || at(fates_.lost, target) != kNever) {
      throw Error(fmt::format("step {}: token {} is merged into token {}, which has no slot", step, event.pos, event.into));
    }
    at(fates_.into, event.pos) = event.into;
    at(next_, at(tail_, target)) = event.pos;  // the whole list of pos
    at(tail_, target) = at(tail_, event.pos);
  }

 private:
  static int& at(std::vector<int>& v, int i) { return v[static_cast<std::size_t>(i)]; }

  void check(int pos, int step) const {
    if (pos < 0 || pos >= static_cast<int>(next_.size())) {
      throw Error(fmt::format("step {}: an event names token {}, expected 0 to {}", step, pos, next_.size() - 1));
    }
  }

  void remember(int token, int step) {
    const PastLife life{token, step, {at(fates_.left, token), at(fates_.into, token), at(fates_.lost, token)}};
    const auto place = std::ranges::upper_bound(fates_.past, token, {}, &PastLife::token);
    fates_.past.insert(place, life);
  }

  // The token has a slot of its own again. What had been merged into it stays where it is: with the slot it went into, or lost.
  void restore(int token, int step) {
    if (at(fates_.left, token) == kNever) throw Error(fmt::format("step {}: token {} comes back, but it has a slot", step, token));
    if (at(fates_.lost, token) == kNever) {
      const int slot = holder(token);
      int before = slot;
      while (at(next_, before) != token) before = at(next_, before);
      at(next_, before) = at(next_, token);
      if (at(tail_, slot) == token) at(tail_, slot) = before;
      for (int t = 0; t < static_cast<int>(next_.size()); ++t) {
        if (at(fates_.into, t) != token || at(fates_.lost, t) != kNever) continue;
        remember(t, step);
        at(fates_.into, t) = at(fates_.into, token);
      }
    }
    at(next_, token) = -1;
    at(tail_, token) = token;
    remember(token, step);
    at(fates_.left, token) = kNever;
    at(fates_.into, token) = -1;
    at(fates_.lost, token) = kNever;
  }

  // Lists of the tokens that had been merged before.
  void adopt(int n_tokens) {
    std::vector<int> slot(static_cast<std::size_t>(n_tokens), -1);  // that stands for a token, once known
    for (int t = 0; t < n_tokens; ++t) {
      if (at(fates_.into, t) < 0 || at(fates_.lost, t) != kNever) continue;
      int end = t;
      while (at(slot, end) < 0 && at(fates_.left, end) != kNever) end = at(fates_.into, end);
      const int found = at(slot, end) >= 0 ? at(slot, end) : end;
      for (int u = t; u != end; u = at(fates_.into, u)) at(slot, u) = found;  // each link is followed once in all
      at(next_, at(tail_, found)) = t;
      at(tail_, found) = t;
    }
  }

  // Slot that stands for a token: follows merges until a token that still has its own slot.
  int holder(int token) {
    while (at(fates_.left, token) != kNever && at(fates_.into, token) >= 0) token = at(fates_.into, token);
    return token;
  }

  HeadFates& fates_;
  std::vector<int> next_, tail_;
};

int tokens_of(const std::vector<StepPtr>& steps) { return steps.empty() ? 0 : steps.back()->position + 1; }

}  // namespace

Fate fate_at(const HeadFates& fates, int token, int step) {
  const auto i = static_cast<std::size_t>(token);
  if (!fates.past.empty()) {
    const auto of_token = std::ranges::equal_range(fates.past, token, {}, &PastLife::token);
    for (const PastLife& life : of_token)
      if (step < life.until) return life.fate;
  }
  return {fates.left[i], fates.into[i], fates.lost[i]};
}

LaneFates derive_fates(const std::vector<StepPtr>& steps, int n_heads_total) {
  LaneFates fates;
  fates.heads.resize(static_cast<std::size_t>(n_heads_total));
  return extend_fates(std::move(fates), 0, steps);
}

LaneFates extend_fates(LaneFates before, int n_steps_before, const std::vector<StepPtr>& steps) {
  const int n_tokens = std::max(before.n_tokens, tokens_of(steps));
  before.n_tokens = n_tokens;
  for (std::size_t h = 0; h < before.heads.size(); ++h) {
    Replay replay(before.heads[h], n_tokens);
    for (std::size_t s = static_cast<std::size_t>(std::max(n_steps_before, 0)); s < steps.size(); ++s) {
      if (h >= steps[s]->heads.size()) continue;
      for (const Event& event : steps[s]->heads[h].events) replay.apply(event, static_cast<int>(s));
    }
  }
  return before;
}

std::vector<Category> categories(const LaneFates& fates, const StepRecord& step, int head, int sinks, bool prefill_step) {
  return categories(fates, step, head, sinks, prefill_step, 0, fates.n_tokens - 1);
}

std::vector<Category> categories(const LaneFates& fates, const StepRecord& step, int head, int sinks, bool prefill_step, int first,
                                 int last) {
  KVSCOPE_ASSERT(head >= 0 && head < static_cast<int>(fates.heads.size()));
  const HeadFates& f = fates.heads[static_cast<std::size_t>(head)];
  first = std::max(first, 0);
  last = std::min(last, fates.n_tokens - 1);
  if (last < first) return {};
  int recent_from = kNever;  // lowest pos that is protected as recent
  if (static_cast<std::size_t>(head) < step.heads.size()) {
    const HeadRecord& record = step.heads[static_cast<std::size_t>(head)];
    const int n_slots = static_cast<int>(record.pos.size());
    if (record.recent > 0 && n_slots > 0) recent_from = record.pos[static_cast<std::size_t>(std::max(0, n_slots - record.recent))];
  }
  std::vector<Category> result(static_cast<std::size_t>(last - first + 1), Category::unseen);
  for (int t = first; t <= std::min(last, step.position); ++t) {
    const auto i = static_cast<std::size_t>(t);
    Category c = Category::kept;
    const Fate fate = f.past.empty() ? Fate{f.left[i], f.into[i], f.lost[i]} : fate_at(f, t, step.step);
    if (fate.left <= step.step) {
      c = fate.lost <= step.step ? Category::evicted : Category::merged;
    } else if (t == step.position && !prefill_step) {
      c = Category::fresh;
    } else if (t < sinks) {
      c = Category::sink;
    } else if (t >= recent_from) {
      c = Category::recent;
    }
    result[static_cast<std::size_t>(t - first)] = c;
  }
  return result;
}

int slot_of(const LaneFates& fates, const StepRecord& step, int head, int token) {
  KVSCOPE_ASSERT(head >= 0 && head < static_cast<int>(fates.heads.size()));
  const HeadFates& f = fates.heads[static_cast<std::size_t>(head)];
  if (token < 0 || token >= fates.n_tokens || token > step.position || !represented(f, token, step.step)) return -1;
  for (Fate fate = fate_at(f, token, step.step); fate.left <= step.step; fate = fate_at(f, token, step.step)) token = fate.into;
  return token;
}

}  // namespace kvscope
