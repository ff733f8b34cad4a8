// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// What a cell of the head grid shows. Names are those of the records.
enum class HeadMetric : std::uint8_t { local_l1_wo, local_rel_l2, retained, votes_lost, attention_loss, slots, theta };
inline constexpr int kHeadMetrics = 7;

/// Value of a metric for a head, NaN: not available. retained is slots over tokens seen.
double head_metric(const HeadRecord& head, HeadMetric metric, int tokens_seen);
/// As printed in a cell: "729", "25.1 %".
std::string format_metric(HeadMetric metric, double value);
/// "local error after Wₒ"
const char* metric_name(HeadMetric metric);
/// "L1, this step": after the comma, what holds for a single step only.
const char* metric_unit(HeadMetric metric);
/// Damage is drawn with the damage ramp, what is kept with the sequential one.
bool is_damage(HeadMetric metric);

}  // namespace kvscope::viz
