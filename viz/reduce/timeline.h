// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// One step of a lane over all heads.
struct StepSummary {
  int step = 0;
  int position = 0;
  std::array<double, kCategories> counts{};  // token-heads by category; they sum to (position + 1) x heads
  int evicted = 0, merged = 0;               // slots that went in this step, all heads
  double kl = kNotAvailable;
  bool changed = false;  // the lane's top choice differs from the reference
  double ms = 0;

  double tokens() const;  // (position + 1) x heads
  double slots() const;   // logical slots, all heads
};

/// All steps of a lane; counts follow from the fates, so they agree with the atlas.
std::vector<StepSummary> summarise_steps(const Snapshot& snapshot, const LaneSnapshot& lane);

/// Pixels of each part of a bar, from the bottom up, of `height` for `whole`. Edges lie where rounding puts them, but no part that is there
/// is lower than `least` while there is room: what is rare is seen.
std::vector<int> stack_pixels(std::span<const double> parts, double whole, int height, int least);

/// Several steps that share a pixel: nothing rare is lost.
struct StepBin {
  int first = 0, last = 0;                        // steps, both included
  std::array<double, kCategories> mean_counts{};  // mean over the steps
  double kl_min = kNotAvailable, kl_max = kNotAvailable;
  bool changed = false;                 // in any of the steps
  int evicted_max = 0, merged_max = 0;  // of the step that removed most
};

/// Bins of equal width such that there are at most `max_bins`.
std::vector<StepBin> bin_steps(const std::vector<StepSummary>& steps, int max_bins);

}  // namespace kvscope::viz
