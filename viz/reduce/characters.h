// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// What a head habitually looks at (HeadCharacters), in the order in which they are shown.
enum class Habit : std::uint8_t { sink, near, previous, induction, retrieval, entropy };
inline constexpr int kHabits = 6;

/// What stands for the numbers where there are none: the command that measures them, or why their file is of no use. Empty: there are some.
std::string habits_missing(const Snapshot& snapshot);

/// What the number is: "share on the first 4", "nats".
std::string habit_unit(const HeadCharacters& characters, Habit habit);
/// 0.716 -> "71.6 %"; entropy in nats: "5.49".
std::string format_habit(Habit habit, double value);

/// The query heads that share a KV head, and their numbers. Empty: not measured.
std::vector<double> habit_values(const Snapshot& snapshot, Habit habit, int layer, int kv_head);
/// The highest of them; NaN: not measured.
double habit_of(const Snapshot& snapshot, Habit habit, int layer, int kv_head);

/// A sentence about a KV head for a reader who does not know the words yet.
struct HabitCaption {
  std::string name;      // "Retrieval head"; empty: not measured, `words` says so
  std::string words;     // "looks back at the token to copy next, however far away: 71.6 % of its attention (query head 2)"
  std::string plain;     // "looks back at the token to copy next, however far away"
  std::string share;     // "71.6 %" of the attention of `reader`; empty: no one habit
  std::string reader;    // "query head 2"; "it" where the group has but one
  std::string besides;   // "also a sink head, 92.8 % (query head 3)"; empty: nothing else
  std::string measured;  // "full cache, mean on hidden-number texts"
};
HabitCaption habit_caption(const Snapshot& snapshot, int layer, int kv_head);

/// From which share of its attention on a head is called by a habit.
inline constexpr double kHabitFrom = 0.3;

}  // namespace kvscope::viz
