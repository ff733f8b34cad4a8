// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slots/statistics/statistic.h"

namespace kvscope::statistics {

/// What something that was trained for the model makes of the token's hidden state (StatNeeds::scorer), as it came in.
struct Learned {
  using Cell = double;
  KVSCOPE_HOST_DEVICE static Cell init(const NewSlot& slot) { return slot.learned; }
  KVSCOPE_HOST_DEVICE static double score(const Cell& worth) { return worth; }
  static constexpr const char* kEquation = "what a network makes of the token's hidden state";
};

}  // namespace kvscope::statistics
