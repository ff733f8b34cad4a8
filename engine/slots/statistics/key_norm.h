// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slots/statistics/statistic.h"

namespace kvscope::statistics {

/// ||k||_2 of the key before rotation, as it came in. Keys of small norm stay: the score is -||k||.
struct KeyNorm {
  using Cell = double;
  KVSCOPE_HOST_DEVICE static Cell init(const NewSlot& slot) { return slot.key_norm; }
  KVSCOPE_HOST_DEVICE static double score(const Cell& norm) { return -norm; }
  static constexpr const char* kEquation = "−‖k‖, before rotation";
  static constexpr StatText kText{"knorm", "minus the norm of the key, before rotation", "minus the key's norm"};
};

}  // namespace kvscope::statistics
