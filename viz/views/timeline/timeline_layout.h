// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/draw/draw.h"

namespace kvscope::viz {

inline constexpr float kTimelineLabels = 12;  // where labels of the rows begin

/// Where the rows and the steps of a frame of the timeline stand, in logical pixels of the canvas.
struct TimelineLayout {
  Rect top;          // fates, or slots
  Rect counts;       // evicted and merged, or removed
  Rect kl;           // bars; y1 is the base line
  float kl_y = 0;    // middle of the row of KL numbers; columns only
  float step_y = 0;  // middle of the step labels
  Rect legend;
  float x0 = 0, x1 = 0;
  float pitch = 0;  // pixels per step

  float x_of(int step) const { return x0 + static_cast<float>(step) * pitch; }
};

/// `wide`: in columns with numbers, else in bands.
TimelineLayout lay_out_timeline(const Painter& p, std::size_t n_steps, bool wide);
/// The canvas is high enough for the legend of the categories.
bool timeline_has_legend(float height, float scale);

}  // namespace kvscope::viz
