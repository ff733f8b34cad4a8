// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "policy/policy.h"

namespace kvscope {

/// How a full cache goes on: in every step the slot of lowest score goes among [first, end) of all slots, that of the step's token with
/// them, and the score is one statistic, or the weighted mean of the last rows. Slots that collect what goes stay.
struct LowestGoes {
  std::optional<StatId> by;  // nullopt: Ranking::plain_rows()
  int first = 0, end = 0;
  // as Merger has them; neither: what goes is lost
  std::vector<int> collectors = {};
  std::optional<Merger::IntoNearest> into_nearest = {};
};
/// nullopt: more than that counts, or the head is not as full as it may be.
std::optional<LowestGoes> lowest_goes(const Policy& policy, int layer, int kv_head, const SlotState& slots);

}  // namespace kvscope
