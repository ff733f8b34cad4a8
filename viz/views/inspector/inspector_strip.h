// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "viz/reduce/slot.h"
#include "viz/views/inspector/inspector_bars.h"

namespace kvscope::viz {

/// Where the rows of the inspector's strip lie; rows that are left out have no height.
struct StripRows {
  Rect axis, score, statistic, probed, attention, agreement, fate, votes, text, legend;
  Rect all() const { return {axis.x0, axis.y0, axis.x1, text.y1}; }
};

/// Everything one frame of the strip needs. References live for the frame.
struct StripScene {
  const Snapshot& snapshot;
  const HeadPick& pick;
  const HeadColumns& columns;
  const SlotFacts& slot;  // the slot looked at
  int token = -1;         // the token looked at: the slot's own or a member
  bool zoomed = false;
  std::optional<int> dragged_slots;  // while the cut-off is being dragged
  double dragged_score = kNotAvailable;
};

/// What can be grabbed or clicked in the strip after it was drawn.
struct StripHits {
  ValueScale score_scale;
  std::optional<Rect> cutoff;  // line with its handle; only where it can be dragged
  Rect cutoff_tag;
  Rect previous, next;  // head
};

/// Which rows have something to show, beside those that always do.
struct StripContent {
  bool score = false, statistic = false, probed = false, agreement = false;
};

/// Splits `area`; rows without content are dropped and their height goes to the others, and so does the statistic's where a probe's
/// attention, of which it is made, has a row. A low area has room for one of statistic (or probe) and agreement.
StripRows strip_rows(const Painter& p, Rect area, StripContent content, bool agreement_first);

/// Draws axis, value rows, fates, votes, token text and legend.
StripHits draw_strip(Painter& p, const StripRows& rows, const TokenAxis& axis, const StripScene& scene);

/// The left edge at which something so many pixels wide stands over the lowest bars of the tokens in sight. height: of a token's bar.
float place_over_lowest(const TokenAxis& axis, float width, const std::function<double(int token)>& height);

}  // namespace kvscope::viz
