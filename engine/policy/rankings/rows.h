// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "policy/policy.h"

namespace kvscope {

// What several rankings do with the rows and scores of a head.

/// Key rows of all slots as they stand in the cache, [n, head_dim].
std::vector<double> all_keys(const HeadView& head);
/// R x for a rotation R, or a mean of some: number f and number f + dims/2 of the first dims of x are mixed, `stride` numbers apart.
/// rotation [dims]: cosines, then sines.
void rotate(std::span<double> x, std::span<const double> rotation, std::size_t stride = 1);
/// x = softmax(x).
void softmax(std::span<double> x);

struct Moments {
  double mean = 0, deviation = 0;  // deviation: with n - 1; 0 for one number
};
Moments moments(std::span<const double> x);

/// (x - mean)/max(deviation, 1e-6) as a multiple of 1e-9, so that the last bits decide nothing between equal tokens.
double standardised(double x, const Moments& m);

/// The finite scores of all heads of a layer are standardised, by the moments of all of them together: these.
Moments normalise_layer(std::span<const std::span<double>> heads);

}  // namespace kvscope
