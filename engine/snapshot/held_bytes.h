// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "snapshot/snapshot.h"

namespace kvscope {

/// Memory that a snapshot keeps alive: its records, fates, tokens and texts; what is shared counts once. Without the allocator's own share
/// and without strings short enough to need no memory of their own.
double held_bytes(const Snapshot& snapshot);
/// The same of one step.
double held_bytes(const StepRecord& step);
/// The same of what runs recorded.
double held_bytes(std::span<const LaneSnapshot> lanes);

/// A copy that keeps figures and events: no slots, nothing by token or by slot.
StepRecord figures_of(const StepRecord& step);
/// The record says how many slots there are, and not which.
inline bool only_figures(const HeadRecord& head) { return head.pos.empty() && head.n_slots > 0; }

}  // namespace kvscope
