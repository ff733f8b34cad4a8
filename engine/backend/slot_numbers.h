// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "backend/buffer.h"
#include "core/number_rules.h"

namespace kvscope {

/// Numbers about the slots of one head, kept where the attention is made, so that a step need not bring its rows to the host: one row of
/// doubles per slot in backend memory, as NumberRules says. A plain value, as HeadKv: whoever owns it hands it to Backend's functions.
struct SlotNumbers {
  Buffer rows;       // double [capacity, width]
  int n_slots = 0;
  int capacity = 0;
};

/// Slots for which there is room when n have to find it: an eighth more, as for keys and values.
inline int grown_capacity(int capacity, int n) { return std::max({n, capacity + std::max(capacity / 8, 16), 1}); }

/// The rows of one step, as attend() left them, go into the numbers of a head. Slots that have none yet are new.
struct ObserveJob {
  const NumberRules* rules = nullptr;
  SlotNumbers* numbers = nullptr;
  int n = 0;                            // slots
  int step = 0;                         // how many steps went into these numbers before, those of a prompt included
  const void* probabilities = nullptr;  // [group, n] of dtype(), or nullptr where only z is read
  const void* logits = nullptr;         // [group, n] of dtype(), or nullptr where only a is read
  const double* key_norms = nullptr;    // backend memory, of the slots that are new: of their keys before rotation, where the rules have them
};

/// Which slot of a head, or of all heads of a layer, goes first. A NaN counts as -inf; of equal ones the last in the cache goes. ema_share
/// wants votes.
struct LowestJob {
  const NumberRules* rules = nullptr;
  const SlotNumbers* numbers = nullptr;
  SlotScore score = SlotScore::sum;
  int steps = 0;                          // that went into the numbers so far
  int first = 0, last = 0;                // only slots in [first, last) may go ...
  std::span<const int> left_out = {};     // ... but not these, ascending
  /// Backend memory, lowest_numbers() doubles: the slot (-1: there is none), its score (then: inf), ln Z_g [group] where the rules have an EMA
  /// (else 0), then the numbers of that slot and of the one after it (0 where there is none).
  void* out = nullptr;
  /// So many of those that may go must not either: those with the largest standard deviation of abar (standard_deviations(), NaN as -inf), of
  /// equal ones the first.
  int steady = 0;
  Pooling pooling = {};
  /// Heads that decide together, all with the same rules without an EMA, with as many slots, and none of them steady: a slot's score is the
  /// mean of theirs, added up in this order, and so is what decides between equal ones. `numbers` is the first. Empty: it decides alone.
  std::span<const SlotNumbers* const> heads = {};
};
/// It can be answered.
inline bool makes_sense(const LowestJob& job) {
  const NumberRules& rules = *job.rules;
  const int n = job.numbers->n_slots;
  const bool alone = job.heads.empty();
  return can_score(rules, job.score) && job.first >= 0 && job.last <= n && (job.steady <= 0 || (alone && can_tell_spread(rules))) &&
         (alone || (job.heads.front() == job.numbers && rules.ema < 0)) &&
         std::ranges::all_of(job.heads, [n](const SlotNumbers* head) { return head->n_slots == n; });
}
inline constexpr std::size_t lowest_numbers(int group, int width) { return static_cast<std::size_t>(2 + group + 2 * width); }

/// Rows of some slots, to the host or from it.
struct NumberRowsJob {
  const SlotNumbers* numbers = nullptr;
  std::span<const int> slots;
  std::span<double> out;       // [slots, width] host
};
/// No two of one call for the same slot.
struct SetNumbersJob {
  SlotNumbers* numbers = nullptr;
  int slot = 0;
  std::span<const double> row;  // host: all numbers of the slot
};

}  // namespace kvscope
