// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/metrics.h"

namespace kvscope::viz {

/// For the table and files: a plain number with all its digits, as the trace has it; else as printed.
std::string metric_plain(const Snapshot& snapshot, const LaneMetrics& lane, MetricColumn::Kind kind);
/// Title of the column there, with its unit: "mean KL, nats (steps 1–12)".
std::string metric_title(const MetricColumn& column);

/// What the number means, exactly: for the tooltip.
std::vector<std::string> metric_lines(const Snapshot& snapshot, int lane, const LaneMetrics& metrics, const MetricColumn& column);

/// What a run is sorted by in a column; NaN: no number, it comes last.
double sort_value(const LaneMetrics& lane, MetricColumn::Kind kind);

/// Column by which the runs are sorted.
struct MetricOrder {
  std::optional<MetricColumn::Kind> kind;  // nullopt: as added
  bool descending = false;
};
/// Lanes in the order of their rows: the reference first, equal ones as added.
std::vector<int> sorted_lanes(const std::vector<LaneMetrics>& lanes, const MetricOrder& order);

/// Header of the columns; right edges are where the numbers end.
void draw_metric_header(Painter& p, const Rect& strip, const std::vector<MetricColumn>& columns, const MetricOrder& order);
/// Where all answers begin in a column of this width, so that the first token at which a run differs is among those shown.
std::size_t answer_begin(const Painter& p, const std::vector<LaneMetrics>& lanes, float width);
/// What the longest answer needs to be shown in full, at most `most`.
float answer_width(const Painter& p, const std::vector<LaneMetrics>& lanes, float most);
/// One run's numbers around y, in a row of this height. `answer_from`: the first token of the answer that is shown. `below`: there is
/// room for a second line: the slots that were asked for, where there are others.
void draw_metrics(Painter& p, float right, float y, float row, const std::vector<MetricColumn>& columns, int lane,
                  const LaneMetrics& metrics, std::size_t answer_from, bool below = true);

/// Column under x in a row that ends at `right`; -1: none.
int metric_at(float x, float right, const std::vector<MetricColumn>& columns, float scale);

}  // namespace kvscope::viz
