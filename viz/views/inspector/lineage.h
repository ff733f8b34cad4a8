// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/slot.h"

namespace kvscope::viz {

/// Where a line of the tree can be clicked.
struct LineageHit {
  Rect rect;
  int token = -1;
};

/// River of the tokens that were merged into one slot: x = step, y = token, width = votes, colour of the turn = cosine. Draws inside
/// `area`, its legend at the bottom. Returns the rows, for clicks and tooltips.
std::vector<LineageHit> draw_lineage(Painter& p, const Rect& area, const Snapshot& snapshot, const Lineage& lineage);

/// "slot 58 · 7 merges", "slot 58 · no merges", "slot 12 · evicted at step 40"
std::string lineage_headline(const Lineage& lineage);

/// Tooltip of one line of the tree.
std::vector<std::string> lineage_lines(std::span<const TokenInfo> tokens, const Lineage& lineage, int token);

}  // namespace kvscope::viz
