// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "viz/canvas.h"

namespace kvscope::viz {

/// A figure of a paper, as it can be drawn of any run: one number a head, or a layer.
struct PaperFigureInfo {
  const char* name;    // what is counted, short: "sparse attention"
  const char* source;  // paper and figure
  const char* says;    // what the paper shows, one sentence
  const char* value;   // what a bar is here, for axis and table
  double line;         // a value across, from the paper or of chance; NaN: none, or of the runs
  const char* line_words;
  const char* elsewhere = "";  // not empty: the figure cannot be drawn of the runs at hand; why, and the command that measures it
};
std::span<const PaperFigureInfo> paper_figure_infos();

/// The numbers of one figure.
struct PaperFigure {
  struct Bar {
    int layer = 0;
    int kv_head = -1;  // -1: of the whole layer
    double value = kNotAvailable;
  };
  std::string missing;      // why there are no bars, and what would bring them; empty: there are
  bool unmeasured = false;  // MeasureSet::prediction would bring them
  std::vector<Bar> bars;
  double line = kNotAvailable;  // across, with its words
  std::string line_words;
  int n_steps = 0;      // that were counted
  std::string of_runs;  // whose numbers they are: "full cache", "run 2 beside run 1"
};

/// Figure `which` of paper_figure_infos(), of the full cache's run and the selected one. Counted are steps after the prompt, or the
/// selected ones; where the attention of all of them would be more than some millions of numbers, the newest. Attention is that of a KV
/// head: the mean over its query heads. A head without a number (its attention was not recorded) has a bar of NaN.
PaperFigure paper_figure(const Snapshot& snapshot, const Selection& selection, int which);

/// Means of the heads of each layer, as far as they have numbers. Heads are layer-major.
std::vector<PaperFigure::Bar> layer_means(const std::vector<PaperFigure::Bar>& heads);
/// "L2 H1", "L2"
std::string bar_name(const PaperFigure::Bar& bar);
/// A row a bar.
Table paper_figure_table(const PaperFigure& figure, int which);

/// Sum of the highest ⌊share · n⌉ (at least one) of these.
double sum_of_highest(std::vector<float> values, double share);
/// Share of the series whose variance is larger than the mean of their variances within each `window` steps in a row. [steps][tokens],
/// all as long as the first; NaN where there are too few steps.
double share_of_slow(std::span<const std::vector<float>> steps, int window);

}  // namespace kvscope::viz
