// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/buffer.h"
#include "core/group_reduce.h"

namespace kvscope {

/// Numbers about the slots of one head, kept where the attention is made, so that a step need not bring its rows to the host: one row of
/// doubles per slot in backend memory, as NumberRules says. A plain value, as HeadKv: whoever owns it hands it to Backend's functions.
struct SlotNumbers {
  Buffer rows;       // double [capacity, width]
  int n_slots = 0;
  int capacity = 0;
};

/// Which numbers a slot has and what a step does to them. abar_i: the step's attention to slot i, its group of query heads reduced to one;
/// z_{g,i}: its logit without bias. A number that nobody asked for has no place (-1). A slot that is new stands for one token and was never
/// scored: votes 1, ema -inf, all others 0.
struct NumberRules {
  int width = 0;    // numbers of a slot
  int times = -1;   // steps that scored the slot: += 1
  int sum = -1;     // += abar
  int decayed = -1; // <- lambda decayed + abar
  int ring = -1;    // the abar of the last ring_rows steps, that of step s at ring + s % ring_rows
  int votes = -1;   // the host's (SlotState::votes); steps leave these three as they are
  int extra = -1;
  int bias = -1;    // added to the slot's logits
  int ema_n = -1;   // += 1 where the step scored the slot (where z_0 is not -inf)
  int ema = -1;     // [group], not without ema_n: lS_g <- ln(alpha exp(lS_g) + (1 - alpha) exp(z_g + extra)); where z_g is -inf nothing changes (POLICIES.md section 5)
  GroupReduce group = GroupReduce::mean;
  double lambda = 1, alpha = 0;
  int ring_rows = 0;
  /// Steps give it abar.
  bool reads_a() const { return sum >= 0 || decayed >= 0 || ring >= 0; }
  /// Steps give it z.
  bool reads_z() const { return ema >= 0; }
  bool operator==(const NumberRules&) const = default;
};

/// Every number has its place in the row.
inline bool fits(const NumberRules& rules, int group) {
  const auto inside = [&](int first, int n) { return first + n <= rules.width; };
  const auto one = [&](int place) { return inside(place, 1); };
  return rules.width > 0 && one(rules.times) && one(rules.sum) && one(rules.decayed) && one(rules.votes) && one(rules.extra) &&
         one(rules.bias) && one(rules.ema_n) && (rules.ring < 0 || (rules.ring_rows > 0 && inside(rules.ring, rules.ring_rows))) &&
         (rules.ema < 0 || (rules.ema_n >= 0 && inside(rules.ema, group)));
}

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
};

/// What a slot is worth; the lowest goes first.
enum class SlotScore : std::uint8_t {
  sum,
  mean,       // sum / times
  decayed,
  window,     // the last m = min(ring_rows, steps) rows, weighted linspace(1, 1.2) from the oldest, over min(times, m) (WeightedRowsRanking)
  ema_share,  // mean over g of votes exp(lshat_g - ln Z_g), lshat_g = lS_g - ln(1 - alpha^ema_n), Z_g = sum of votes exp(lshat_g) over all slots
};

/// The numbers that it is made of are there.
inline bool can_score(const NumberRules& rules, SlotScore score) {
  switch (score) {
    case SlotScore::sum:
      return rules.sum >= 0;
    case SlotScore::mean:
      return rules.sum >= 0 && rules.times >= 0;
    case SlotScore::decayed:
      return rules.decayed >= 0;
    case SlotScore::window:
      return rules.ring >= 0 && rules.times >= 0;
    case SlotScore::ema_share:
      return rules.ema >= 0 && rules.votes >= 0;
  }
  return false;
}

/// Which slot of a head goes first. A NaN counts as -inf; of equal ones the last in the cache goes. ema_share wants votes.
struct LowestJob {
  const NumberRules* rules = nullptr;
  const SlotNumbers* numbers = nullptr;
  SlotScore score = SlotScore::sum;
  int steps = 0;                          // that went into the numbers so far
  int first = 0, last = 0;                // only slots in [first, last) may go ...
  std::span<const int> left_out = {};     // ... but not these, ascending
  /// Backend memory, double [2 + group]: the slot (-1: there is none), its score (then: inf), and ln Z_g where the rules have an EMA (else 0).
  void* out = nullptr;
};
inline constexpr int lowest_numbers(int group) { return 2 + group; }

/// Rows of some slots, to the host or from it.
struct NumberRowsJob {
  const SlotNumbers* numbers = nullptr;
  std::span<const int> slots;
  std::span<double> out;       // [slots, width] host
};
/// No two of one call for the same slot. They are cheapest before slots of the same head are removed, not after.
struct SetNumbersJob {
  SlotNumbers* numbers = nullptr;
  int slot = 0;
  std::span<const double> row;  // [width] host
};

}  // namespace kvscope
