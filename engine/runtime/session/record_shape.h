// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/session/run_request.h"

namespace kvscope {

/// What decides how much memory the records of one lane take.
struct RecordShape {
  int n_heads = 0;          // KV heads of all layers
  int first = 1, last = 1;  // tokens seen by the first and by the last step
  double slots = -1;        // budget per head, mean; -1: none
  bool compresses = false, statistic = false, agreement = false;
  Detail detail = Detail::why;
};

/// Bytes of the records, computed. It leaves out merges and the allocator's own share.
double record_bytes(const RecordShape& shape);

}  // namespace kvscope
