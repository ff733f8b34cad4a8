// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/group_reduce.h"

namespace kvscope {

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
  int ema = -1;     // [group], not without ema_n: lS_g <- ln(alpha exp(lS_g) + (1 - alpha) exp(z_g + extra)); where z_g is -inf nothing changes
                    // (POLICIES.md section 5)
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

}  // namespace kvscope
