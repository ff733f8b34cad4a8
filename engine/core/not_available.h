// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

namespace kvscope {

/// "No such number": what was not measured, not ranked or not captured. Written as null, shown as n/a, never as 0.
inline constexpr double kNotAvailable = std::numeric_limits<double>::quiet_NaN();

}  // namespace kvscope
