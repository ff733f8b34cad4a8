// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "snapshot/snapshot.h"
#include "viz/reduce/characters.h"

namespace kvscope::viz {

/// What a cell of the head grid shows. Names are those of the records.
/// Behind them the habits, in their order: properties of the model, the same in every lane and step.
enum class HeadMetric : std::uint8_t {
  local_l1_wo,
  local_rel_l2,
  retained,
  votes_lost,
  attention_loss,
  slots,
  theta,
  disagreement,
  cause,
  key_error,
  value_error,
  first_habit
};
inline constexpr int kRecordMetrics = static_cast<int>(HeadMetric::first_habit), kHeadMetrics = kRecordMetrics + kHabits;

std::optional<Habit> habit_in(HeadMetric metric);
/// True for what a head has lost: drawn with the damage ramp, the rest with the sequential one.
bool is_damage(HeadMetric metric);
/// True for what compares with the uncompressed history: not there where a run does not keep it.
bool needs_history(HeadMetric metric);
/// "sum of |x|, this step": after the comma, what holds for a single step only.
std::string metric_unit(const Snapshot& snapshot, HeadMetric metric);
/// True for what one step says of all heads together: of a range of steps the shown one counts.
bool is_of_one_step(HeadMetric metric);
/// Value of a metric of the record for a head, NaN: not available (always for habits and what needs other heads). retained is slots over
/// tokens seen.
double head_metric(const HeadRecord& head, HeadMetric metric, int tokens_seen);
/// As printed in a cell: "729", "25.1 %".
std::string format_metric(HeadMetric metric, double value);
/// "local error after Wₒ"
const char* metric_name(HeadMetric metric);

}  // namespace kvscope::viz
