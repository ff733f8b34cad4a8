// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/catalog/custom.h"

namespace kvscope {

// Choices of the parts that let a few slots answer the prompt's queries as all slots did.

PartChoice reference_ranking();  // of the key `stat`
PartChoice refit_merger();       // of `merge`

}  // namespace kvscope
