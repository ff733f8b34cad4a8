// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/lane_spec.h"

namespace kvscope::cli {

/// The lanes that --lane, --budget and --what-if ask for together. `lane=N` in an edit counts as the result does: 0 is the full cache, 1
/// the first --lane; without it lane 1 is meant, or 0 where no lane was given. --budget changes its lane. --what-if adds one fork of its
/// lane with all what-ifs of that lane, after the lanes, so that the lane itself stays beside it. Throws UsageError.
std::vector<LaneSpec> lanes_of(const std::vector<std::string>& lanes, const std::vector<std::string>& budgets,
                               const std::vector<std::string>& what_ifs);

}  // namespace kvscope::cli
