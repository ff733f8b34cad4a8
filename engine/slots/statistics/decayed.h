// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slots/statistics/statistic.h"

namespace kvscope::statistics {

/// Decayed attention: S <- lambda S + abar. Every query is lambda times lighter than the next.
struct Decayed {
  using Cell = double;
  KVSCOPE_HOST_DEVICE static Cell init(const NewSlot&) { return 0; }
  KVSCOPE_HOST_DEVICE static void fold(Cell& sum, double abar, const StatParams& p) { sum = p.lambda * sum + abar; }
  KVSCOPE_HOST_DEVICE static PromptSum prompt_sum(const StatParams& p) { return {.power = 1, .decay = p.lambda}; }
  KVSCOPE_HOST_DEVICE static void unite(Cell& sum, const Cell& other) { sum = sum < other ? other : sum; }
  KVSCOPE_HOST_DEVICE static double score(const Cell& sum) { return sum; }
  static constexpr const char* kEquation = "Σ attention of every query so far, older ones lighter";
};

}  // namespace kvscope::statistics
