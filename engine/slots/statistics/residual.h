// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slots/statistics/statistic.h"

namespace kvscope::statistics {

/// 1: the slot collects others. Set by what a policy decides, not by queries.
struct Residual {
  using Cell = char;
  KVSCOPE_HOST_DEVICE static Cell init(const NewSlot&) { return 0; }
};

}  // namespace kvscope::statistics
