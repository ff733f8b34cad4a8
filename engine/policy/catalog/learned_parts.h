// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/catalog/custom.h"

namespace kvscope {

// Choices of the parts that were trained or measured for one model, and come from a file.

PartChoice network_ranking();   // of the key `stat`
PartChoice gate_ranking();      // of `stat`
PartChoice curve_allocation();  // of `alloc`

}  // namespace kvscope
