// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "policy/decision.h"

namespace kvscope {

/// The kept slot of most similar key for every slot of head.gone, in that order; of equal ones the lowest pos. Without any kept slot: no
/// target, cosine NaN.
std::vector<Nearest> nearest_kept(const HeadDecision& head);
/// Tells the head's keys that it is going to be asked for.
void expect_nearest_kept(const HeadDecision& head);

}  // namespace kvscope
