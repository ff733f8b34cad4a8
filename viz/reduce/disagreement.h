// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "snapshot/step_record.h"

namespace kvscope::viz {

/// How differently the heads of a layer chose: for every head (layer-major), the share of its layer's other heads that hold no slot for a
/// token, mean over the tokens for which this head holds one. 0: all of them keep the same tokens. NaN: the layer has one head, or the head
/// no slot.
std::vector<double> disagreement(const StepRecord& record);

}  // namespace kvscope::viz
