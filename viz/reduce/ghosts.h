// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// Which tokens [first, last] of one head are represented after `step` but will have lost their own slot, or the slot that stands for them,
/// after `until`: 1, else 0. Steps that are not computed yet count as if nothing left in them.
std::vector<char> leaving(const HeadFates& fates, int step, int until, int first, int last);

/// The last step of which is known what leaves: `step` + `ahead`, or the lane's latest. At most `step` where nothing is known.
int ghosts_until(const LaneSnapshot& lane, int step, int ahead);

}  // namespace kvscope::viz
