// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "viz/draw/draw.h"
#include "viz/draw/theme.h"
#include "viz/reduce/compare.h"

namespace kvscope::viz {

// How a run looks beside others. There are five colours beside that of the reference: later runs have a paler one and another marker, so
// that no two of the first thirty look alike, whichever is selected.

inline constexpr int kRunsBeside = 5;

inline int marker_of_lane(int lane) { return lane <= 0 ? run_of_lane(lane) : run_of_lane(lane) + (lane - 1) / kRunsBeside; }

inline Rgb lane_colour(const Theme& theme, int lane) {
  const Rgb own = theme.runs[static_cast<std::size_t>(run_of_lane(lane))];
  return lane > kRunsBeside ? mix(own, theme.text, 0.5) : own;
}

}  // namespace kvscope::viz
