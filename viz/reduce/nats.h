// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "snapshot/number_text.h"

namespace kvscope::viz {

/// Below it two distributions are the same for an audience.
inline constexpr double kSameNats = 0.001;

/// A distance for people who have not met nats: what is too small to matter is not spelled out in powers of ten.
inline std::string nats_for_people(double kl) { return kl < kSameNats ? "less than 0.001" : format_number(kl, 3); }

}  // namespace kvscope::viz
