// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slots/statistics/statistic.h"

namespace kvscope::statistics {

/// What a probe of the prompt found out about the slot (StatNeeds::probe), as it came in; NaN: the slot is younger than the probe.
struct Probed {
  using Cell = double;
  KVSCOPE_HOST_DEVICE static Cell init(const NewSlot& slot) { return slot.probed; }
  KVSCOPE_HOST_DEVICE static double score(const Cell& found) { return found; }
  static constexpr const char* kEquation = "what a probe of the prompt found";
};

}  // namespace kvscope::statistics
