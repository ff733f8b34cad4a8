// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/catalog/custom.h"

namespace kvscope {

// Choices of the parts that look at the full cache once more after the prompt, or let a method say itself how much stays.

PartChoice probe_ranking();        // of the key `stat`
PartChoice flat_allocation();      // of `alloc`
PartChoice threshold_selection();  // of `select`

}  // namespace kvscope
