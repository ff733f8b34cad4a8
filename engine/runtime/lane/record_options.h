// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "snapshot/measure_set.h"

namespace kvscope {

/// What the records of a run hold, and what is measured on the way.
struct RecordOptions {
  bool captures = true;  // attention, reference attention, statistic, bias, merge details
  MeasureSet measures = {};
  bool slots = true;    // which there are, with votes and scores, in every step; else how many
  bool history = true;  // keep the uncompressed history beside the cache
  /// True if records made so answer a request for `other`.
  bool covers(const RecordOptions& other) const {
    return captures == other.captures && slots == other.slots && history == other.history && measures.covers(other.measures);
  }
};

}  // namespace kvscope
