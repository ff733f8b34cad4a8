// SPDX-License-Identifier: Apache-2.0
#include "snapshot/fates.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "snapshot/held_bytes.h"

namespace kvscope {
namespace {

using Chunk = HeadFates::Chunk;

// One for all: most chunks of a long text stay as they were made.
const std::shared_ptr<const Chunk>& untouched_chunk() {
  static const auto chunk = std::make_shared<const Chunk>();
  return chunk;
}

/// Replays the events of one head. The tokens that a slot stands for form a ring, so a merge is one exchange of links and every token is
/// walked once, when its slot is evicted.
class Replay {
 public:
  Replay(HeadFates& fates, int n_tokens) : fates_(fates), write_(fates, n_tokens) {}

  void apply(const Event& event, int step) {
    check(event.pos, step);
    if (event.kind == Event::Kind::restore) {
      restore(event.pos, step);
      return;
    }
    if (fates_.left(event.pos) != kNever) {
      throw Error(
          fmt::format("step {}: token {} leaves its slot a second time, it left at step {}", step, event.pos, fates_.left(event.pos)));
    }
    if (event.kind == Event::Kind::evict) {
      write_.left(event.pos) = step;
      int t = event.pos;
      do {
        write_.lost(t) = step;
        t = write_.next(t);
      } while (t != event.pos);
      return;
    }
    check(event.into, step);
    const int target = holder(event.into);
    if (target == event.pos || fates_.lost(target) != kNever) {
      throw Error(fmt::format("step {}: token {} is merged into token {}, which has no slot", step, event.pos, event.into));
    }
    write_.left(event.pos) = step;
    write_.into(event.pos) = event.into;
    const int after_target = write_.next(target), after_pos = write_.next(event.pos);
    write_.set_next(target, after_pos);  // two rings become one
    write_.set_next(event.pos, after_target);
  }

 private:
  void check(int pos, int step) const {
    if (pos < 0 || pos >= write_.n_tokens()) {
      throw Error(fmt::format("step {}: an event names token {}, expected 0 to {}", step, pos, write_.n_tokens() - 1));
    }
  }

  void remember(int token, int step, bool moved) {
    const EarlierFate earlier{token, step, {fates_.left(token), fates_.into(token), fates_.lost(token)}, moved};
    const auto place = std::ranges::upper_bound(write_.past(), token, {}, &EarlierFate::token);
    write_.past().insert(place, earlier);
  }

  // The token has a slot of its own again. What had been merged into it stays where it is: with the slot it went into, or lost.
  void restore(int token, int step) {
    if (fates_.left(token) == kNever) throw Error(fmt::format("step {}: token {} comes back, but it has a slot", step, token));
    const bool stood_for = fates_.lost(token) == kNever;
    int before = token;
    for (int t = write_.next(token); t != token; t = write_.next(t)) {
      before = t;
      if (!stood_for || fates_.into(t) != token) continue;
      remember(t, step, true);
      write_.into(t) = fates_.into(token);
    }
    write_.set_next(before, write_.next(token));
    write_.set_next(token, token);
    remember(token, step, false);
    write_.left(token) = kNever;
    write_.into(token) = -1;
    write_.lost(token) = kNever;
  }

  // Slot that stands for a token: follows merges until a token that still has its own slot.
  int holder(int token) const {
    while (fates_.left(token) != kNever && fates_.into(token) >= 0) token = fates_.into(token);
    return token;
  }

  const HeadFates& fates_;
  FateWriter write_;
};

int tokens_of(const std::vector<StepPtr>& steps) { return steps.empty() ? 0 : steps.back()->position + 1; }

}  // namespace

HeadFates::Chunk::Chunk() {
  left.fill(kNever);
  into.fill(-1);
  lost.fill(kNever);
  next.fill(0);
}

bool HeadFates::untouched(int i) const { return chunks_[static_cast<std::size_t>(i)] == untouched_chunk(); }

int HeadFates::n_chunks_apart_from(const HeadFates& other) const {
  int n = 0;
  for (std::size_t i = 0; i < chunks_.size(); ++i) n += i >= other.chunks_.size() || chunks_[i] != other.chunks_[i] ? 1 : 0;
  return n;
}

FateWriter::FateWriter(HeadFates& fates, int n_tokens) : fates_(fates) {
  fates_.n_tokens_ = std::max(fates_.n_tokens_, n_tokens);
  fates_.chunks_.resize(static_cast<std::size_t>((fates_.n_tokens_ + HeadFates::kChunkTokens - 1) / HeadFates::kChunkTokens),
                        untouched_chunk());
}

HeadFates::Chunk& FateWriter::own(int token) {
  if (owned_.empty()) owned_.assign(fates_.chunks_.size(), nullptr);
  const std::size_t i = static_cast<std::size_t>(token) / HeadFates::kChunkTokens;
  if (owned_[i] == nullptr) {
    auto copy = std::make_shared<HeadFates::Chunk>(*fates_.chunks_[i]);
    owned_[i] = copy.get();
    fates_.chunks_[i] = std::move(copy);
  }
  return *owned_[i];
}

Fate fate_at(const HeadFates& fates, int token, int step) {
  if (!fates.past.empty()) {
    for (auto earlier = std::ranges::lower_bound(fates.past, token, {}, &EarlierFate::token);
         earlier != fates.past.end() && earlier->token == token; ++earlier)
      if (step < earlier->until) return earlier->fate;
  }
  return {fates.left(token), fates.into(token), fates.lost(token)};
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

namespace {

/// Lowest pos of the `n` newest slots after the step, where the record does not list them.
int newest_slots(const HeadFates& f, const StepRecord& step, int n) {
  int from = kNever;
  for (int t = std::min(step.position, f.n_tokens() - 1); t >= 0 && n > 0; --t) {
    if (fate_at(f, t, step.step).left <= step.step) continue;
    from = t;
    --n;
  }
  return from;
}

}  // namespace

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
    if (only_figures(record)) recent_from = newest_slots(f, step, record.recent);
  }
  std::vector<Category> result(static_cast<std::size_t>(last - first + 1), Category::unseen);
  const int end = std::min(last, step.position) + 1;
  const auto at = [&](int token) -> Category& { return result[static_cast<std::size_t>(token - first)]; };
  for (int t = first; t < end;) {
    const int chunk = t / HeadFates::kChunkTokens, from = t % HeadFates::kChunkTokens;
    const int n = std::min(HeadFates::kChunkTokens - from, end - t);
    const int *const left = f.chunk(chunk).left.data() + from, *const lost = f.chunk(chunk).lost.data() + from;
    Category* const out = &at(t);
    for (int k = 0; k < n; ++k) out[k] = left[k] > step.step ? Category::kept : lost[k] > step.step ? Category::merged : Category::evicted;
    t += n;
  }
  for (const EarlierFate& earlier : f.past) {  // they were read as they are now
    if (earlier.token < first || earlier.token >= end) continue;
    const Fate fate = fate_at(f, earlier.token, step.step);
    at(earlier.token) = fate.left > step.step ? Category::kept : fate.lost > step.step ? Category::merged : Category::evicted;
  }
  const auto protect = [&](int from, int until, Category as) {
    for (int t = std::max(from, first); t < std::min(until, end); ++t)
      if (at(t) == Category::kept) at(t) = as;
  };
  if (static_cast<std::size_t>(head) < step.heads.size())
    for (const int t : step.heads[static_cast<std::size_t>(head)].unread) protect(t, t + 1, Category::unread);
  if (!prefill_step) protect(step.position, step.position + 1, Category::fresh);
  protect(0, sinks, Category::sink);
  protect(recent_from, end, Category::recent);
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
