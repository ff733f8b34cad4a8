// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "snapshot/step_record.h"

namespace kvscope::viz {

/// What one number stands for the ranking scores of several slots.
enum class ScoreOf : std::uint8_t { mean, max, min };

/// Finite scores of all heads of a step.
struct ScoreRange {
  double low = kNotAvailable, high = kNotAvailable;
  int n = 0;
  bool square_root = false;  // positive scores over more than two decades

  /// Place of a score on the ramp, 0 to 1.
  double place(double score) const;
};
ScoreRange score_range(const StepRecord& step);

/// For bins [first_bin, first_bin + out.size()) of `bin` tokens: mean, max or min of the scores of the slots of heads [first_head,
/// last_head] whose pos lies there; NaN: no slot there was ranked. Slots that were merged into others have no score of their own.
void bin_scores(const StepRecord& step, int first_head, int last_head, int bin, int first_bin, ScoreOf what, std::span<float> out);

}  // namespace kvscope::viz
