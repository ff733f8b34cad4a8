// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viz/reduce/compare.h"

namespace kvscope::viz {

/// One column of numbers at the right of the runs.
struct MetricColumn {
  enum class Kind : std::uint8_t { answer, differs, kl, mean_kl, top1, nll, attention, slots, bytes, read, policy };
  Kind kind;
  std::string title, unit;  // two lines of the header
  float width = 0;          // pixels at 100 %
};

/// Which columns are wanted: all, how good the answers are, what they cost, or the few of which the scenes of a lecture speak.
enum class MetricSet : std::uint8_t { all, quality, cost, lecture };

/// What must be among the columns: a set, and the one by which the runs are sorted.
struct WantedMetrics {
  MetricSet set = MetricSet::all;
  std::optional<MetricColumn::Kind> sorted_by = {};
};

/// Columns wanted that fit into `room` pixels; the least important ones go first, their titles into `left_out`.
std::vector<MetricColumn> metric_columns(const Snapshot& snapshot, const std::vector<LaneMetrics>& lanes, float room, float scale,
                                         const WantedMetrics& wanted = {}, std::vector<std::string>* left_out = nullptr);

float total_width(const std::vector<MetricColumn>& columns, float scale);

/// As printed: "2.828", "4.57e−4", "9", "36.2 %"; "n/a" where there is no number. The answer: its tokens.
std::string metric_text(const Snapshot& snapshot, const LaneMetrics& lane, MetricColumn::Kind kind);

}  // namespace kvscope::viz
