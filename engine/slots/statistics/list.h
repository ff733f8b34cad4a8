// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slots/statistics/decayed.h"
#include "slots/statistics/key_norm.h"
#include "slots/statistics/learned.h"
#include "slots/statistics/probed.h"
#include "slots/statistics/residual.h"
#include "slots/statistics/stored.h"
#include "slots/statistics/sum.h"
#include "slots/statistics/sum_of_squares.h"

/// Every statistic of a slot: what its flag in StatNeeds and its column in SlotState are called, and its type in kvscope::statistics.
#define KVSCOPE_STATISTICS(X) \
  X(sum, Sum)                 \
  X(sum_sq, SumOfSquares)     \
  X(decayed, Decayed)         \
  X(key_norm, KeyNorm)        \
  X(probed, Probed)           \
  X(learned, Learned)         \
  X(residual, Residual)       \
  X(stored, Stored)

namespace kvscope {

/// One of them, as a value.
enum class StatId : int {
#define KVSCOPE_ID(name, Type) name,
  KVSCOPE_STATISTICS(KVSCOPE_ID)
#undef KVSCOPE_ID
};

}  // namespace kvscope
