// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <vector>

#include "policy/head_view.h"
#include "policy/plan.h"
#include "slots/slot_updates.h"

namespace kvscope {

/// All host-side effects of a plan: members, votes, extra, log-scores, lost tokens; then the removed slots go.
/// Returns the indices (before the removal) of those that went, ascending.
std::vector<int> apply_plan(SlotState& state, const StatNeeds& needs, const Plan& plan);

/// b_i = factor ln p_i + extra_i of every slot.
std::vector<double> bias_of(const SlotState& state, Bias bias);

}  // namespace kvscope
