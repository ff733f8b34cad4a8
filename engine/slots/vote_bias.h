// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/host_device.h"
#include "core/vector_math.h"

namespace kvscope {

/// What its votes add to the logit of a slot: factor ln p.
KVSCOPE_HOST_DEVICE inline double vote_bias(double factor, int votes) { return factor * log_one(votes); }

/// What is added to it in all.
KVSCOPE_HOST_DEVICE inline double slot_bias(double factor, int votes, double extra) {
  return factor == 0 ? 0 : extra + vote_bias(factor, votes);
}

}  // namespace kvscope
