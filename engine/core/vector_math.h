// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>

// Elementary functions over arrays, several numbers at a time, in doubles. Every number gets the same operations in the same order whatever
// its neighbours and whatever the processor (wider vectors, no fused multiply-add), so results are the same bits everywhere.

/// Compiled once for every width of vectors and chosen when the program starts. Not under sanitizers, whose run time is not up by then.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KVSCOPE_EVERY_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KVSCOPE_EVERY_WIDTH
#endif

namespace kvscope {

inline constexpr double kMinusInf = -std::numeric_limits<double>::infinity();  // ln 0

/// x = e^x. Relative error below 3e-16; 0 below -708.3 (no subnormal results), infinity above 709.7, NaN stays NaN.
void exp_all(std::span<double> x);
/// x = ln x for normal numbers, relative error below 5e-16 (around 1 too); ln 0 = -infinity, infinity and NaN stay, a negative x gives NaN.
void log_all(std::span<double> x);
/// x = ln(e^x + e^y), where e^-infinity is 0; NaN in either gives NaN.
void log_add_exp_all(std::span<double> x, std::span<const double> y);
/// high[i] + low[i] += plus[i] - minus[i], all of the same length. Each pair is one number of twice the digits (Dekker 1971, by Knuth's
/// exact sum of two), its high part that number as a double: what a sum is made of in another order gives the same high part.
void add_to_sums(std::span<double> high, std::span<double> low, std::span<const double> plus, std::span<const double> minus);
/// high[i] + low[i] += times plus[i], |times| below 2^26.
void add_times_to_sums(std::span<double> high, std::span<double> low, int times, std::span<const double> plus);
/// to[i] = from[i]; `from` has as many numbers.
void widen(const float* from, std::span<double> to);
/// sum[i] += weight x[i]; `x` has as many numbers.
void add_scaled(std::span<double> sum, double weight, const float* x);
void add_scaled(std::span<double> sum, double weight, const double* x);
/// out[i] = scale times the sum over r of weights[r] rows[r][i], r ascending from 0, made in double. `out` may be one of the rows.
void combine_rows(std::span<const float* const> rows, std::span<const double> weights, double scale, std::span<float> out);
void combine_rows(std::span<const double* const> rows, std::span<const double> weights, double scale, std::span<double> out);
/// out[r] = rows[r] . rows[r], rows [out.size(), width], added up as in row_products().
void row_squares(const float* rows, std::size_t width, std::span<double> out);
void row_squares(const double* rows, std::size_t width, std::span<double> out);
/// Smallest of the numbers that are not left out, NaN taken as -infinity; infinity where there is none. `left_out` has as many entries.
double lowest(std::span<const double> x, std::span<const char> left_out);
/// Where the k largest of some numbers end: they are the `above` numbers above `least`, and k - above of those equal to it.
struct Largest {
  double least = 0;
  int above = 0;
};
/// Of the k largest of x, 0 < k < x.size(). Empty where NaN or an infinity among x stands in the way.
std::optional<Largest> largest(std::span<const double> x, int k);
/// out[r] = rows[r] . x, rows [out.size(), x.size()]: eight partial sums, number i in the sum i mod 8, added up in pairs at the end.
/// stride: numbers from one row to the next; 0: x.size().
void row_products(const double* rows, std::span<const double> x, std::span<double> out, std::size_t stride = 0);
/// out[q, k] = sum over i of a[q, i] b[i, k], i ascending from 0: a [m, width], b [width, n], out [m, n]. Where many rows meet the same
/// others, several times as fast as row_products().
void matrix_products(std::span<const double> a, std::span<const double> b, std::size_t n, std::span<double> out);
/// Eight partial sums, number i in the sum i mod 8 (what is left over in the first), added up from the first on.
double sum_of(std::span<const double> x);
/// most[i] = max(most[i], x[i] scale); `x` has as many numbers.
void keep_most(std::span<double> most, const double* x, double scale);
/// x[i] = the nearest of the ascending levels, of two that are as near the lower; the lowest in place of NaN.
void round_to_levels(std::span<double> x, std::span<const double> levels);
/// out[i] = sqrt(max(sum_sq[i] / n[i] - (sum[i] / n[i])^2, 0)), NaN where that is not a number.
void standard_deviations(std::span<const double> sum, std::span<const double> sum_sq, std::span<const int> n, std::span<double> out);

}  // namespace kvscope
