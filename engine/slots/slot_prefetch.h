// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slots/slot_state.h"

namespace kvscope {

/// Asks the processor to bring the statistics of a head near, without waiting for them. The weights of the model pass through the caches
/// between two steps, so that they have left; asked for before the attention of the step, they are back when it is done.
void prefetch(const SlotState& slots);

}  // namespace kvscope
