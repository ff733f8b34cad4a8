// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/compare.h"

namespace kvscope::viz {

/// One column of numbers at the right of the runs.
struct MetricColumn {
  enum class Kind : std::uint8_t { answer, differs, kl, mean_kl, top1, nll, attention, slots, bytes, policy };
  Kind kind;
  std::string title, unit;  // two lines of the header
  float width = 0;          // pixels at 100 %
};

/// Which columns are wanted: all, how good the answers are, or what they cost.
enum class MetricSet : std::uint8_t { all, quality, cost };

/// Columns of the set that fit into `room` pixels; the least important ones go first, their titles into `left_out`.
std::vector<MetricColumn> metric_columns(const Snapshot& snapshot, const std::vector<LaneMetrics>& lanes, float room, float scale,
                                         MetricSet set = MetricSet::all, std::vector<std::string>* left_out = nullptr);

float total_width(const std::vector<MetricColumn>& columns, float scale);

/// As printed: "2.828", "4.57e−4", "9", "36.2 %"; "n/a" where there is no number. The answer: its tokens.
std::string metric_text(const Snapshot& snapshot, const LaneMetrics& lane, MetricColumn::Kind kind);

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
/// One run's numbers around y, in a row of this height. `asked`: slots asked for, printed where the real number differs. `below`: there is
/// room for a second line.
void draw_metrics(Painter& p, float right, float y, float row, const std::vector<MetricColumn>& columns, int lane,
                  const LaneMetrics& metrics, int asked, bool below = true);

/// Column under x in a row that ends at `right`; -1: none.
int metric_at(float x, float right, const std::vector<MetricColumn>& columns, float scale);

}  // namespace kvscope::viz
