// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "policy/text/lane_edits.h"

namespace kvscope {

/// One head, or all heads of a layer (kvHead -1).
HeadChoice headOrLayer(int layer, int kvHead);
/// It is on, and of every head of the place.
bool covers(const BudgetOverride& budget, const HeadChoice& place);
/// The edits with this budget of the head or layer; nullopt: without the one that it has.
LaneEdits withBudget(LaneEdits now, int layer, int kvHead, std::optional<int> slots);

}  // namespace kvscope
