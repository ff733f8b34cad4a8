// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "snapshot/step_record.h"

namespace kvscope {

/// What a token is in one head at one step (UI.md section 4). Precedence: fresh > sink > recent > kept.
enum class Category : std::uint8_t { unseen, fresh, sink, recent, merged, kept, evicted };
inline constexpr int kCategories = 7;

inline constexpr int kNever = std::numeric_limits<int>::max();

/// What has become of one token, as far as it is known.
struct Fate {
  int left = kNever;  // step at which the token's own slot went; kNever: it still has one
  int into = -1;      // pos of the slot it was merged into first; -1: none
  int lost = kNever;  // step at which the slot that stood for it was evicted; kNever: still represented
};

/// What was true of a token in the steps before `until`, when it, or the slot it had been merged into, came back by hand.
struct PastLife {
  int token = 0;
  int until = 0;
  Fate fate;
};

/// The fate of every token in one (layer, KV head) of one lane: everything follows from these by step (UI.md section 3.8).
struct HeadFates {
  std::vector<int> left;  // [tokens] step at which the token's own slot went; kNever: it still has one
  std::vector<int> into;  // [tokens] pos of the slot it was merged into first; -1: none
  std::vector<int> lost;  // [tokens] step at which the slot that stood for it was evicted; kNever: still represented
  std::vector<PastLife> past = {};  // by token, then by `until`; empty unless a what-if brought tokens back
};

/// The fate of one token as it was known after `step`.
Fate fate_at(const HeadFates& fates, int token, int step);
/// True if a slot stood for the token after `step`.
inline bool represented(const HeadFates& fates, int token, int step) { return fate_at(fates, token, step).lost > step; }

/// Fates of all heads of a lane, derived from the events of its steps. Immutable once published.
struct LaneFates {
  int n_tokens = 0;
  std::vector<HeadFates> heads;  // layer-major
};

/// Derives the fates from the steps. n_tokens: tokens seen by the last step.
LaneFates derive_fates(const std::vector<StepPtr>& steps, int n_heads_total);

/// The same, taking over what `before` already knows of the first n_steps_before steps.
LaneFates extend_fates(LaneFates before, int n_steps_before, const std::vector<StepPtr>& steps);

/// Category of every token of one head after `step` (index into the lane's steps). sinks: the lane's protected sinks.
/// prefill_step: at step 0 of prefill mode nothing is "fresh". Result: [n_tokens], unseen for positions after the step's query.
std::vector<Category> categories(const LaneFates& fates, const StepRecord& step, int head, int sinks, bool prefill_step);

/// The same for tokens [first, last] only.
std::vector<Category> categories(const LaneFates& fates, const StepRecord& step, int head, int sinks, bool prefill_step, int first, int last);

/// Pos of the slot that stands for a token after `step`: its own, or the one it was merged into. -1: evicted or not seen yet.
int slot_of(const LaneFates& fates, const StepRecord& step, int head, int token);

}  // namespace kvscope
