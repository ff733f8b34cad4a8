// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "core/host_device.h"

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

// What some of these do with one number, on the host as on a device: the same bits, as long as no product and sum are fused.

/// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2) / 2, and e^r by its Taylor series: the first term left out is below 2^-58.
KVSCOPE_HOST_DEVICE [[gnu::always_inline]] inline double exp_one(double x) {
  constexpr double kInf = INFINITY;
  constexpr double kShift = 0x1.8p52;  // x + kShift holds round(x) in its low bits
  constexpr double kLog2e = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;  // n kLn2High is exact for |n| < 2^20
  double y = x < -708.3 ? -708.3 : x;
  y = y > 709.7 ? 709.7 : y;
  const double shifted = y * kLog2e + kShift;
  const double n = shifted - kShift;
  const double r = (y - n * kLn2High) - n * kLn2Low;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = 1.0 + (r + r * r * p);
  const std::uint64_t power = __builtin_bit_cast(std::uint64_t, shifted) - __builtin_bit_cast(std::uint64_t, kShift);  // n, as an integer
  const double scale = __builtin_bit_cast(double, (power + 1023) << 52);
  const double z = x > 709.7 ? kInf : p * scale;
  return x < -708.3 ? 0.0 : z;
}

/// x = 2^e m with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(f), f = (m - 1) / (m + 1), |f| < 0.1716.
KVSCOPE_HOST_DEVICE [[gnu::always_inline]] inline double log_one(double x) {
  constexpr double kInf = INFINITY, kNan = NAN;
  constexpr double kShift = 0x1.8p52, kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;  // as in exp_one()
  constexpr std::uint64_t kMantissa = 0x000fffffffffffffu, kOneBits = 0x3ff0000000000000u;
  const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, x);
  double m = __builtin_bit_cast(double, (bits & kMantissa) | kOneBits);
  // the exponent as a double: its bits in the low end of kShift
  double e = __builtin_bit_cast(double, (bits >> 52) | __builtin_bit_cast(std::uint64_t, kShift)) - (kShift + 1023);
  const bool high = m > 0x1.6a09e667f3bcdp+0;
  m = high ? 0.5 * m : m;
  e = high ? e + 1 : e;
  const double f = (m - 1) / (m + 1), s = f * f;
  double p = 1.0 / 21;
  p = p * s + 1.0 / 19;
  p = p * s + 1.0 / 17;
  p = p * s + 1.0 / 15;
  p = p * s + 1.0 / 13;
  p = p * s + 1.0 / 11;
  p = p * s + 1.0 / 9;
  p = p * s + 1.0 / 7;
  p = p * s + 1.0 / 5;
  p = p * s + 1.0 / 3;
  const double y = e * kLn2High + (e * kLn2Low + (2 * f + 2 * f * (s * p)));
  const double of_normal = x < kInf ? y : x;  // infinity and NaN stay
  const double of_zero = x == 0 ? -kInf : of_normal;
  return x < 0 ? kNan : of_zero;
}

/// ln(e^x + e^y) is the larger of the two plus ln(1 + e^below_top): minus how far the other one is below it.
KVSCOPE_HOST_DEVICE [[gnu::always_inline]] inline double below_top(double x, double y) {
  const double distance = x > y ? y - x : x - y;
  return x == y ? 0.0 : distance;  // both the same infinity too
}

KVSCOPE_HOST_DEVICE [[gnu::always_inline]] inline double log_add_exp_one(double x, double y) {
  return (x > y ? x : y) + log_one(1.0 + exp_one(below_top(x, y)));
}

/// A number of twice the digits (Dekker 1971): what high cannot hold is in low.
struct DoublePair {
  double high = 0, low = 0;

  /// Knuth's exact sum of two: nothing of x is lost, but what low cannot hold.
  KVSCOPE_HOST_DEVICE [[gnu::always_inline]] void add(double x) {
    const double sum = high + x, of_x = sum - high;
    low += (high - (sum - of_x)) + (x - of_x);
    high = sum;
  }
  /// |times| below 2^26.
  KVSCOPE_HOST_DEVICE [[gnu::always_inline]] void add_times(double times, double x) {
    const double spread = x * 134217729.0, upper = spread - (spread - x);  // 2^27 + 1: two halves whose products are exact
    add(times * upper);
    add(times * (x - upper));
  }
  /// The same number with all that high can hold in it.
  KVSCOPE_HOST_DEVICE [[gnu::always_inline]] DoublePair rounded() const {
    DoublePair out{high, 0};
    out.add(low);
    return out;
  }
};

}  // namespace kvscope
