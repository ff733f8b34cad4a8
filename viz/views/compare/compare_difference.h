// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "viz/reduce/token_count.h"
#include "viz/views/compare/compare_strips.h"

namespace kvscope::viz {

/// A run beside its name, as compare and difference print it: "D SnapKV".
std::string lane_name(const Snapshot& snapshot, int lane);

/// What can be clicked in the difference section.
struct DifferenceHits {
  Rect swap, strip;
  Rect first, second;  // buttons that choose the two runs
  StripScale scale;
};

/// Two lanes at their steps.
struct DifferenceScene {
  int a = 0, b = 0;  // lanes
  int step_a = -1, step_b = -1;
  const LaneDifference* cells = nullptr;
  std::array<std::int64_t, 4> counts{};  // token-heads by Difference
  int token = -1;                        // whose counts are listed; -1: none
  std::vector<TokenCount> token_counts;  // of it, per lane at its shown step
};

/// Heading, axis, four states per head and token, counts, and the fate of one token in every run. `axis`: that of the strips above.
DifferenceHits draw_difference(Painter& p, Rect area, const TokenAxis& axis, const DifferenceScene& scene, StripTextures& textures);

}  // namespace kvscope::viz
