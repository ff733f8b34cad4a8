// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "snapshot/step_record.h"

namespace kvscope {

/// What a token is in one head at one step (engine/README.md section 6). Precedence: unread > fresh > sink > recent > kept.
enum class Category : std::uint8_t { unseen, fresh, sink, recent, merged, kept, evicted, unread };
inline constexpr int kCategories = 8;

inline constexpr int kNever = std::numeric_limits<int>::max();

/// What has become of one token, as far as it is known.
struct Fate {
  int left = kNever;  // step at which the token's own slot went; kNever: it still has one
  int into = -1;      // pos of the slot it was merged into first; -1: none
  int lost = kNever;  // step at which the slot that stood for it was evicted; kNever: still represented
};

/// What was true of a token in the steps before `until`, when it, or the slot it had been merged into, came back by hand.
struct EarlierFate {
  int token = 0;
  int until = 0;
  Fate fate;
  bool moved = false;  // it did not come back itself: it stays with the slot that stood for the one that did
};

/// The fate of every token in one (layer, KV head) of one lane: everything follows from these by step (engine/README.md section 6). Copies
/// share their chunks, so that what a step adds costs what it changes, whatever the length of the text; FateWriter changes them.
class HeadFates {
 public:
  static constexpr int kChunkTokens = 256;
  /// Columns of so many tokens in a row. As made: nothing has happened to them.
  struct Chunk {
    Chunk();
    std::array<int, kChunkTokens> left;  // step at which the token's own slot went; kNever: it still has one
    std::array<int, kChunkTokens> into;  // pos of the slot it was merged into first; -1: none
    std::array<int, kChunkTokens> lost;  // step at which the slot that stood for it was evicted; kNever: still represented
    std::array<int, kChunkTokens> next;  // tokens of one slot form a ring: distance to the next of them; 0: alone
  };

  int n_tokens() const { return n_tokens_; }
  int left(int token) const { return of(token).left[at(token)]; }
  int into(int token) const { return of(token).into[at(token)]; }
  int lost(int token) const { return of(token).lost[at(token)]; }

  /// For loops over all tokens: chunk i has tokens from i * kChunkTokens on, the last one fewer than it has room for.
  int n_chunks() const { return static_cast<int>(chunks_.size()); }
  const Chunk& chunk(int i) const { return *chunks_[static_cast<std::size_t>(i)]; }
  int tokens_in(int i) const { return std::min(kChunkTokens, n_tokens_ - i * kChunkTokens); }
  /// True where nothing has happened to any token of the chunk.
  bool untouched(int i) const;
  /// Chunks that are not those of `other`: what a copy costs beside it.
  int n_chunks_apart_from(const HeadFates& other) const;

  std::vector<EarlierFate> past = {};  // by token, then by `until`; empty unless a what-if brought tokens back

 private:
  friend class FateWriter;
  static std::size_t at(int token) { return static_cast<std::size_t>(token) % kChunkTokens; }
  const Chunk& of(int token) const { return *chunks_[static_cast<std::size_t>(token) / kChunkTokens]; }

  int n_tokens_ = 0;
  std::vector<std::shared_ptr<const Chunk>> chunks_;
};

/// Changes the fates of one head. A chunk that it has not made itself is copied before the first change.
class FateWriter {
 public:
  /// Grows the head to n_tokens first.
  FateWriter(HeadFates& fates, int n_tokens);
  int n_tokens() const { return fates_.n_tokens_; }
  const HeadFates& fates() const { return fates_; }
  std::vector<EarlierFate>& past() { return fates_.past; }
  int& left(int token) { return own(token).left[HeadFates::at(token)]; }
  int& into(int token) { return own(token).into[HeadFates::at(token)]; }
  int& lost(int token) { return own(token).lost[HeadFates::at(token)]; }
  /// The next token of the ring, itself if it is alone.
  int next(int token) const { return token + fates_.of(token).next[HeadFates::at(token)]; }
  void set_next(int token, int next) { own(token).next[HeadFates::at(token)] = next - token; }

 private:
  HeadFates::Chunk& own(int token);

  HeadFates& fates_;
  std::vector<HeadFates::Chunk*> owned_;  // by chunk; nullptr: others may read it
};

/// The fate of one token as it was known after `step`.
Fate fate_at(const HeadFates& fates, int token, int step);
/// True if a slot stood for the token after `step`.
inline bool represented(const HeadFates& fates, int token, int step) {
  return (fates.past.empty() ? fates.lost(token) : fate_at(fates, token, step).lost) > step;
}

/// Fates of all heads of a lane, derived from the events of its steps. Immutable once published.
struct LaneFates {
  int n_tokens = 0;
  std::vector<HeadFates> heads;  // layer-major
};

/// Derives the fates from the steps. n_tokens: tokens seen by the last step.
LaneFates derive_fates(const std::vector<StepPtr>& steps, int n_heads_total);

/// The same, taking over what `before` already knows of the first n_steps_before steps. Copies what these steps change and no more.
LaneFates extend_fates(LaneFates before, int n_steps_before, const std::vector<StepPtr>& steps);

/// Category of every token of one head after `step` (index into the lane's steps). sinks: the lane's protected sinks.
/// prefill_step: at step 0 of prefill mode nothing is "fresh". Result: [n_tokens], unseen for positions after the step's query.
std::vector<Category> categories(const LaneFates& fates, const StepRecord& step, int head, int sinks, bool prefill_step);

/// The same for tokens [first, last] only.
std::vector<Category> categories(const LaneFates& fates, const StepRecord& step, int head, int sinks, bool prefill_step, int first,
                                 int last);

/// Pos of the slot that stands for a token after `step`: its own, or the one it was merged into. -1: evicted or not seen yet.
int slot_of(const LaneFates& fates, const StepRecord& step, int head, int token);

}  // namespace kvscope
