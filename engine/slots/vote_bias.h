// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace kvscope {

/// What its votes add to the logit of a slot: factor ln p.
KVSCOPE_HOST_DEVICE inline double vote_bias(double factor, int votes) { return factor * std::log(static_cast<double>(votes)); }

}  // namespace kvscope
