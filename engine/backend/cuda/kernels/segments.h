// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/kernels/kernels.h"

namespace kvscope::cuda {

/// The one of n segments that holds slot j.
__device__ inline const Segment& segment_of(const Segment* segments, int n, int j) {
  int low = 0, high = n;  // segments[low].begin <= j
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (segments[middle].begin <= j) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return segments[low];
}

/// Where the key of slot j of this segment is, or with value_rows its value, in rows.
__device__ inline long row_of(const Segment& s, const int* rows, int j) { return rows ? rows[j - s.begin] : j - s.begin; }

}  // namespace kvscope::cuda
