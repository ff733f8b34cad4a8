// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/slot.h"
#include "viz/views/inspector/lineage.h"

namespace kvscope::viz {

/// Lines of a lineage that were merged away, the heaviest merge weight first; those without a weight last, by token.
std::vector<LineageLine> members_by_weight(const Lineage& lineage);

/// The lineage as text: token, what it went into, when, with which weight, similarity and votes. Rows that do not fit are counted. Returns
/// the rows, for clicks and tooltips.
std::vector<LineageHit> draw_members(Painter& p, const Rect& area, const Snapshot& snapshot, const Lineage& lineage);

}  // namespace kvscope::viz
