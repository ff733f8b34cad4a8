// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "viz/reduce/text.h"

namespace kvscope::viz {

/// What the slot at `pos` got when what stayed was fitted (POLICIES.md section 4.4, refit), and what that did for its head. Empty: it was
/// not, or the record does not say.
std::vector<WhyStep> why_refitted_steps(const HeadPick& pick, int pos);

}  // namespace kvscope::viz
