// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "viz/views/timeline/timeline_layout.h"

namespace kvscope::viz {

/// The range of steps that limits statistics: what does not count recedes.
void draw_step_range(Painter& p, const TimelineLayout& l, const LaneSnapshot& lane);
/// Flags of the steps that the user marked.
void draw_step_marks(Painter& p, const TimelineLayout& l, int n_steps);

/// What shows that step: the last one follows what comes.
SetStep go_to(int step, int n_steps);

/// A drag below the bars, or with Shift, selects the range of steps under it.
class StepBrush {
 public:
  /// Once a frame. `at`: step under the mouse. True while the drag is the brush's, but for its end.
  bool react(const Painter& p, const TimelineLayout& l, int at, int n_steps, std::vector<Intent>& intents);

 private:
  int from_ = -1;  // step where a range began to be dragged; -1: none is
  int to_ = -1;
};

}  // namespace kvscope::viz
