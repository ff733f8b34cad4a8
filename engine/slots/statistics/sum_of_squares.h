// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slots/statistics/statistic.h"

namespace kvscope::statistics {

/// Accumulated squares: Q = sum over all queries so far of abar^2. With A and the number n of queries the variance is Q/n - (A/n)^2.
struct SumOfSquares {
  using Cell = double;
  KVSCOPE_HOST_DEVICE static Cell init(const NewSlot&) { return 0; }
  KVSCOPE_HOST_DEVICE static void fold(Cell& sum, double abar, const StatParams&) { sum += abar * abar; }
  KVSCOPE_HOST_DEVICE static PromptSum prompt_sum(const StatParams&) { return {.power = 2, .decay = 1}; }
};

}  // namespace kvscope::statistics
