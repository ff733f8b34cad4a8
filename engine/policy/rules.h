// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kvscope {

/// floor(x + 0.5), kept inside [-1e9, 1e9].
int round_half_up(double x);

/// A value with a decimal point is a fraction of c (floor(x*c + 0.5)), else a count. The text must have been checked (parse_lane_spec).
int count_or_fraction(std::string_view value, int c);

/// Integers near `shares` with the exact sum `total` (POLICIES.md section 8): every share is rounded to a multiple of 1e-9, base = floor,
/// the rest goes one by one in order (fraction descending, index ascending), in rounds. caps (empty: none): what a share cannot take is
/// passed on.
std::vector<int> largest_remainder(std::span<const double> shares, int total, std::span<const int> caps = {});

/// The standard finaliser, its own += 0x9E3779B97F4A7C15 included.
std::uint64_t splitmix64(std::uint64_t x);
/// Uniform number in [0, 1) of removal e of one (step, layer, KV head): counter-based, so that a replay is identical.
double uniform_draw(std::uint64_t seed, int step, int layer, int kv_head, int e);
/// Entry e of a matrix of normal numbers of variance 1/divisor of one (layer, KV head), from draws 2e and 2e + 1 of step 0 (Box and
/// Muller).
double normal_draw(std::uint64_t seed, int layer, int kv_head, std::size_t e, double divisor);

}  // namespace kvscope
