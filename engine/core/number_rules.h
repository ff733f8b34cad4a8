// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/group_reduce.h"
#include "core/host_device.h"

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
  int sum_sq = -1;     // += abar^2
  int key_norm = -1;   // of a slot that is new what ObserveJob says; it stays
  int ring_mean = -1;  // not without ring: the mean of its rows, made anew in every step, in the order of their places
  /// Which of the last hit_rows steps s hit the slot (abar >= 1/n, n the slots of that step): bit p % 32 of the number at hits + p / 32, a whole
  /// one, p = s % hit_rows. Not without hit_count: how many these are.
  int hits = -1;
  int hit_count = -1;
  int hit_rows = 0;
  /// Steps give it abar.
  bool reads_a() const { return sum >= 0 || decayed >= 0 || ring >= 0 || sum_sq >= 0 || hits >= 0; }
  /// Steps give it z.
  bool reads_z() const { return ema >= 0; }
  bool operator==(const NumberRules&) const = default;
};

/// Numbers that hold the hits of so many steps.
inline constexpr int kHitBits = 32;
inline int hit_numbers(int rows) { return (rows + kHitBits - 1) / kHitBits; }

/// Place in the row of what step `step` left in the ring.
KVSCOPE_HOST_DEVICE inline int place_in_ring(const NumberRules& rules, int step) { return rules.ring + step % rules.ring_rows; }

/// Every number has its place in the row.
inline bool fits(const NumberRules& rules, int group) {
  const auto inside = [&](int first, int n) { return first + n <= rules.width; };
  const auto one = [&](int place) { return inside(place, 1); };
  return rules.width > 0 && one(rules.times) && one(rules.sum) && one(rules.decayed) && one(rules.votes) && one(rules.extra) &&
         one(rules.bias) && one(rules.ema_n) && one(rules.sum_sq) && one(rules.key_norm) && one(rules.ring_mean) && one(rules.hit_count) &&
         (rules.ring < 0 || (rules.ring_rows > 0 && inside(rules.ring, rules.ring_rows))) && (rules.ring_mean < 0 || rules.ring >= 0) &&
         (rules.hits < 0 || (rules.hit_rows > 0 && rules.hit_count >= 0 && inside(rules.hits, hit_numbers(rules.hit_rows)))) &&
         (rules.ema < 0 || (rules.ema_n >= 0 && inside(rules.ema, group)));
}

/// What a slot is worth; the lowest goes first.
enum class SlotScore : std::uint8_t {
  sum,
  mean,       // sum / times
  decayed,
  window,     // the last m = min(ring_rows, steps) rows, weighted linspace(1, 1.2) from the oldest, over min(times, m) (WeightedRowsRanking)
  ema_share,  // mean over g of votes exp(lshat_g - ln Z_g), lshat_g = lS_g - ln(1 - alpha^ema_n), Z_g = sum of votes exp(lshat_g) over all slots
  key_norm,   // less the norm
  hits,       // hit_count; of equal ones the lower sum goes first
  pooled,     // ring_mean, pooled over neighbours as Pooling says
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
    case SlotScore::key_norm:
      return rules.key_norm >= 0;
    case SlotScore::hits:
      return rules.hits >= 0 && rules.sum >= 0;
    case SlotScore::pooled:
      return rules.ring_mean >= 0;
  }
  return false;
}

/// Standard deviations of abar can be told.
inline bool can_tell_spread(const NumberRules& rules) { return rules.sum >= 0 && rules.sum_sq >= 0 && rules.times >= 0; }

/// How SlotScore::pooled looks at slots [0, n - unranked): stride 1, an odd kernel, no further than these slots. The others have no score.
struct Pooling {
  int kernel = 1;
  int unranked = 0;
  bool averages = false;  // the mean of those there are; else the largest, no number if the slot's own is none
};

}  // namespace kvscope
