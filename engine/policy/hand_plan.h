// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "policy/plan.h"
#include "slots/slot_state.h"

namespace kvscope {

/// These slots (ascending) go and their votes are lost; at least one slot stays (the newest is spared when all were named).
Plan evict_by_hand(const SlotState& slots, std::span<const int> gone);

/// Slot `from` goes into slot `target`. Where the policy keeps log-scores, exactly as KeepKV form=bias would merge these two (POLICIES.md
/// section 5); elsewhere key and value become means weighted by votes, and the target keeps its statistics. cos: of the two keys.
Plan merge_by_hand(const SlotState& slots, const StatNeeds& needs, int group, int from, int target, double cos);

}  // namespace kvscope
