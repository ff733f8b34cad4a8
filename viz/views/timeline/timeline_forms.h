// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "viz/reduce/timeline.h"
#include "viz/views/timeline/timeline_layout.h"

namespace kvscope::viz {

/// A bar of categories from the bottom of its column up, as stack_pixels() divides it; `least` in pixels.
void draw_stack(Painter& p, const Rect& column, std::span<const Category> kinds, std::span<const double> parts, double whole, float least);

/// What the highest bar of KL stands for, nats: the largest of the run, but not less than what nobody would notice, or bars of nothing
/// would look like bars of much.
double kl_scale(const std::vector<StepSummary>& steps);

// The two forms of the timeline. steps: of the lane that is selected; step: the one shown.
void draw_step_columns(Painter& p, const TimelineLayout& l, const std::vector<StepSummary>& steps, int step);
void draw_step_bands(Painter& p, const TimelineLayout& l, const std::vector<StepSummary>& steps, int step);

}  // namespace kvscope::viz
