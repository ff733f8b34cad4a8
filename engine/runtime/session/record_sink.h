// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "snapshot/step_record.h"

namespace kvscope {

/// Takes the records of a run as they become final, so that the session need not keep them.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// The next step of lanes[lane] of the snapshot to come: nothing about it will change any more.
  virtual void take(int lane, const StepRecord& step) = 0;
};

}  // namespace kvscope
