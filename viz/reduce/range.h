// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"
#include "viz/selection.h"

namespace kvscope::viz {

// The one place that computes statistics over steps. A step without a number is left out and not counted, never taken as 0.

/// What a series of numbers comes to.
struct Statistics {
  int n = 0;  // numbers
  double sum = 0;
  double min = kNotAvailable, max = kNotAvailable;

  void add(double value);  // NaN: nothing happens
  double mean() const { return n > 0 ? sum / n : kNotAvailable; }
};

/// The steps of a lane inside the range; nullopt: all of them. No overlap: nullopt.
std::optional<StepRange> steps_within(const LaneSnapshot& lane, const std::optional<StepRange>& range);

/// "step 7", "steps 10–40"
std::string range_text(const StepRange& range);

/// One lane over a range of its steps. A step's own value first becomes one number (mean over its heads where it is a head's value).
struct RangeStatistics {
  int n_steps = 0;
  Statistics kl;              // nats
  Statistics nll;             // nats
  Statistics attention_loss;  // share of the reference's attention, mean of the heads that have one
  Statistics slots;           // logical slots per head
  Statistics ms;              // wall time
  int top1_same = 0;          // steps with the reference's top choice
  int evicted = 0, merged = 0;  // slots that went, all heads
};

/// `heads` false: what needs every head (attention_loss, slots, evicted, merged) stays empty, and the work does not grow with the heads.
RangeStatistics range_statistics(const LaneSnapshot& lane, const StepRange& steps, bool heads = true);

/// A head's number in one step. `tokens_seen`: tokens up to the step's query.
using HeadValue = std::function<double(const HeadRecord& head, int tokens_seen)>;

/// One head over the steps; `head` counts layer-major.
Statistics head_statistics(const LaneSnapshot& lane, const StepRange& steps, int head, const HeadValue& value);

/// Votes that a head lost within the steps, from their running sum; NaN without such a head.
double votes_lost_within(const LaneSnapshot& lane, const StepRange& steps, int head);

}  // namespace kvscope::viz
