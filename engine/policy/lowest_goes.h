// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "policy/policy.h"

namespace kvscope {

/// How a full cache goes on: in every step the slot of lowest score goes among [first, end) of all slots, that of the step's token with
/// them, and the score is one statistic. Slots that collect what goes stay.
struct LowestGoes {
  StatId by = StatId::sum;
  int first = 0, end = 0;
  std::vector<int> into = {};  // Policy::collectors(); empty: what goes is lost
};
/// nullopt: more than that counts, or the head is not as full as it may be.
std::optional<LowestGoes> lowest_goes(const Policy& policy, int layer, int kv_head, const SlotState& slots);

}  // namespace kvscope
