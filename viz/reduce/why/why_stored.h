// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "viz/reduce/text.h"

namespace kvscope::viz {

/// How the slot at `pos` stands in the cache and whether this step's query read it, with the equation and the numbers of the slot. Empty:
/// it stands in full precision and everything is read, or the record does not say.
std::vector<WhyStep> why_stored_steps(const HeadPick& pick, int pos);

}  // namespace kvscope::viz
