// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/host_device.h"

namespace kvscope {

/// What the last rows of attention say of a slot that `seen` of them scored: their sum, the oldest weighted 1, the newest 1.2, over `seen`.
/// by_place: every row times its place, 0 the oldest.
KVSCOPE_HOST_DEVICE inline double weighted_rows(double sum, double by_place, int rows, int seen) {
  const double step = rows > 1 ? (1.2 - 1.0) / (rows - 1) : 0.0;  // row r has weight 1 + r step
  return (sum + step * by_place) / seen;
}

}  // namespace kvscope
