// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kvscope {

// Small least-squares problems in doubles, from their normal equations. One order of operations, so the same bits everywhere.

/// Lower Cholesky factor of the symmetric a [width, width], in place, of which only the lower half is read and written; false where it has
/// none: a is not positive definite, or holds what is not finite.
bool factorise(std::span<double> a, std::size_t width);
/// b = a^-1 b for the factor of a, b [width, columns].
void solve_factorised(std::span<const double> factor, std::size_t width, std::span<double> b, std::size_t columns);

/// The x with least <= x_i <= most that makes x'Gx/2 - b'x smallest, G [width, width] symmetric and positive definite: non-negative least
/// squares with an upper bound, G = A'A and b = A'm. Rounds of a few sweeps of projected coordinate descent, which finds the numbers at
/// their bounds, and the minimum of the others by Cholesky solutions (projection, then minimisation inside the face: More and Toraldo, SIAM
/// J. Optimization 1, 1991); the value falls from round to round, and there are finitely many faces. Ends when no gradient that a number
/// could follow is above 1e-12 max |b|, after 200 rounds at the latest. Empty: G has no factor, or holds what is not finite.
std::vector<double> bounded_least_squares(std::span<const double> gram, std::span<const double> b, double least, double most);

}  // namespace kvscope
