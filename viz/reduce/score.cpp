// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/slot.h"

namespace kvscope::viz {

double ScoreRange::place(double score) const {
  if (n == 0 || std::isnan(score)) return 0;
  if (!(high > low)) return 1;
  const double t = std::clamp((score - low) / (high - low), 0.0, 1.0);
  return square_root ? std::sqrt(t) : t;
}

ScoreRange score_range(const StepRecord& step) {
  ScoreRange range;
  double low = std::numeric_limits<double>::infinity(), high = -low, least_positive = low;
  for (const HeadRecord& head : step.heads) {
    for (std::size_t i = 0; i < head.score.size(); ++i) {
      const double score = head.score[i];
      if (!std::isfinite(score) || (i < head.pos.size() && collects(head, head.pos[i]))) continue;
      low = std::min(low, score);
      high = std::max(high, score);
      if (score > 0) least_positive = std::min(least_positive, score);
      ++range.n;
    }
  }
  if (range.n == 0) return range;
  range.low = low;
  range.high = high;
  range.square_root = low >= 0 && spans_two_decades(least_positive, high);
  return range;
}

void bin_scores(const StepRecord& step, int first_head, int last_head, int bin, int first_bin, ScoreOf what, std::span<float> out) {
  const int from = first_bin * bin, to = from + bin * static_cast<int>(out.size());  // tokens
  std::vector<int> n(out.size(), 0);
  std::vector<double> value(out.size(), 0);
  for (int h = first_head; h <= last_head && h < static_cast<int>(step.heads.size()); ++h) {
    const HeadRecord& head = step.heads[static_cast<std::size_t>(h)];
    if (head.score.size() != head.pos.size()) continue;  // nothing was ranked
    for (auto it = std::lower_bound(head.pos.begin(), head.pos.end(), from); it != head.pos.end() && *it < to; ++it) {
      const double score = head.score[static_cast<std::size_t>(it - head.pos.begin())];
      if (!std::isfinite(score) || collects(head, *it)) continue;
      const auto i = static_cast<std::size_t>((*it - from) / bin);
      if (what == ScoreOf::mean)
        value[i] += score;
      else if (n[i] == 0 || (what == ScoreOf::max ? score > value[i] : score < value[i]))
        value[i] = score;
      ++n[i];
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(n[i] == 0 ? kNotAvailable : what == ScoreOf::mean ? value[i] / n[i] : value[i]);
}

}  // namespace kvscope::viz
