// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/figures.h"
#include "snapshot/snapshot.h"
#include "viz/selection.h"

namespace kvscope::viz {

/// The steps of a lane inside the range; nullopt: all of them. No overlap: nullopt.
std::optional<StepRange> steps_within(const LaneSnapshot& lane, const std::optional<StepRange>& range);

/// "step 7", "steps 10–40"
std::string range_text(const StepRange& range);

/// A head's number in one step. `tokens_seen`: tokens up to the step's query.
using HeadValue = std::function<double(const HeadRecord& head, int tokens_seen)>;

/// One head over the steps; `head` counts layer-major.
Statistics head_statistics(const LaneSnapshot& lane, const StepRange& steps, int head, const HeadValue& value);

/// Votes that a head lost within the steps, from their running sum; NaN without such a head.
double votes_lost_within(const LaneSnapshot& lane, const StepRange& steps, int head);

}  // namespace kvscope::viz
