// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numbers>

namespace kvscope {

/// x times the standard normal distribution function of x.
inline double gelu(double x) { return x * 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }

}  // namespace kvscope
