// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "slots/log_scores.h"

namespace kvscope {

/// mu_i of every slot (POLICIES.md section 5): mean over the query heads g of p_i exp(lshat_{g,i}) / Z_g, its predicted share of the
/// attention. [n]; alpha: of the EMA.
std::vector<double> predicted_shares(const SlotState& slots, Predict predict, int group, double alpha);

}  // namespace kvscope
