// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viz/views/compare/compare_metrics.h"
#include "viz/views/compare/compare_strips.h"

namespace kvscope::viz {

/// Sizes of the comparison, pixels at 100 %.
namespace compare {
/// Column of letters, names and parameters. On a stage, where every name has one line, a longer one has more room, up to a share of
/// `width`.
float names_width(const Painter& p, float width);
/// Of it what no name has: before it letter and mark, behind it the layers beside a strip.
inline float beside_name(const Painter& p) { return p.px(38 + 30); }
inline constexpr float kHeader = 38, kLegend = 30;
inline constexpr float kReference = 26;                                                        // the bar of the full cache
inline constexpr float kName = 34;                                                             // two lines of text
inline constexpr float kRemove = 22;                                                           // column of the buttons that remove a run
inline constexpr float kWaiting = 22;                                                          // a run that is not there yet
inline float difference_least(const Painter& p) { return p.px(p.frame().plain ? 125 : 190); }  // height of the difference of two runs
}  // namespace compare

/// What the strips show: each run's fates, its difference to the reference, or fates with the difference of two runs below.
enum class CompareMode : std::uint8_t { fates, reference, pair };

/// How the height of a frame is shared out.
struct ComparePlan {
  StripScale scale;
  float pad = 0;  // above and below a strip
  float row = 0;  // height of a run's row
  float reference_row = 0;
  bool difference = false;

  float rows_height(std::size_t n_lanes) const { return reference_row + static_cast<float>(n_lanes - 1) * row; }
};
/// Finest rows that fit, with the difference below if that leaves room for it.
ComparePlan plan_compare(const Painter& p, CompareMode mode, float token_px, float height);

/// What one frame of the comparison shows, and where.
struct CompareScene {
  CompareMode mode = CompareMode::fates;
  const std::vector<LaneMetrics>* metrics = nullptr;  // by lane
  MetricOrder order;
  std::vector<MetricColumn> columns;
  std::vector<std::string> left_out;  // titles of the columns that found no room
  float names = 0;                    // width of the column of names
  float right = 0;                    // where the numbers end
  std::size_t answer_from = 0;        // first token of the answers that is shown
  TokenAxis axis;
  ComparePlan plan;
  int reference = 0;  // lane that the others are compared with in the strips

  const LaneMetrics& of(int lane) const { return (*metrics)[static_cast<std::size_t>(lane)]; }
};

/// Where the prompt ends on the axis; -1: not on it.
float prompt_end(const Snapshot& s, const TokenAxis& axis);

}  // namespace kvscope::viz
