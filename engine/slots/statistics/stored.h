// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/not_available.h"
#include "slots/statistics/statistic.h"

namespace kvscope::statistics {

/// In which form key and value of the slot stand in the cache. Set by what a policy stores, not by queries.
struct Stored {
  struct Cell {
    int block = -1;      // keys of one block share what they were stored with; -1: the key stands in full precision
    bool value = false;  // the value does not
    // relative error of the row, ||x' - x||_2 / ||x||_2; not a number: it stands in full precision
    double key_error = kNotAvailable, value_error = kNotAvailable;
  };
  KVSCOPE_HOST_DEVICE static Cell init(const NewSlot&) { return {}; }
};

}  // namespace kvscope::statistics
