// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "policy/lane_spec.h"

namespace kvscope {

/// What people read as the name of a run: its policy's title, the name that the run has in the file it comes from, or the one that was
/// given to parts of a user's own choice. Throws UsageError.
std::string title_of(const LaneSpec& spec);
/// The same run without the name that its user gave it: what it computes. Throws UsageError.
LaneSpec unnamed(const LaneSpec& spec);

}  // namespace kvscope
