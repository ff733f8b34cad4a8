// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slots/statistics/statistic.h"

namespace kvscope::statistics {

/// Accumulated attention: A = sum over all queries so far of abar; no normalisation by age.
struct Sum {
  using Cell = double;
  KVSCOPE_HOST_DEVICE static Cell init(const NewSlot&) { return 0; }
  KVSCOPE_HOST_DEVICE static void fold(Cell& sum, double abar, const StatParams&) { sum += abar; }
  KVSCOPE_HOST_DEVICE static PromptSum prompt_sum(const StatParams&) { return {.power = 1, .decay = 1}; }
  KVSCOPE_HOST_DEVICE static double score(const Cell& sum) { return sum; }
  static constexpr const char* kEquation = "Σ attention of every query so far";
};

}  // namespace kvscope::statistics
