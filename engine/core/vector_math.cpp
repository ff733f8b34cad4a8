// SPDX-License-Identifier: Apache-2.0
#include "core/vector_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace kvscope {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Numbers but NaN as integers of the same order.
[[gnu::always_inline]] inline std::int64_t rank(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x);
  return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}

/// The double with as many others down to x as up to y, x <= y.
[[gnu::always_inline]] inline double between(double x, double y) {
  const std::int64_t low = rank(x);
  const std::int64_t middle = low + static_cast<std::int64_t>((static_cast<std::uint64_t>(rank(y)) - static_cast<std::uint64_t>(low)) / 2);
  return std::bit_cast<double>(middle < 0 ? std::numeric_limits<std::int64_t>::min() - middle : middle);
}

constexpr std::size_t kLanes = 8;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));  // whatever the processor has: the compiler takes it apart

[[gnu::always_inline]] inline void load(const double* from, Lanes& to) { std::memcpy(&to, from, sizeof to); }

[[gnu::always_inline]] inline void load(const float* from, Lanes& to) {
  float __attribute__((vector_size(kLanes * sizeof(float)))) narrow;
  std::memcpy(&narrow, from, sizeof narrow);
  to = __builtin_convertvector(narrow, Lanes);
}

/// The first n < kLanes numbers, then zeros.
template <class T>
[[gnu::always_inline]] inline void load(const T* from, std::size_t n, Lanes& to) {
  T part[kLanes] = {};
  for (std::size_t i = 0; i < n; ++i) part[i] = from[i];
  load(part, to);
}

using Four = double __attribute__((vector_size(4 * sizeof(double))));

[[gnu::always_inline]] inline void load(const double* from, Four& to) { std::memcpy(&to, from, sizeof to); }

[[gnu::always_inline]] inline void load(const float* from, Four& to) {
  float __attribute__((vector_size(4 * sizeof(float)))) narrow;
  std::memcpy(&narrow, from, sizeof narrow);
  to = __builtin_convertvector(narrow, Four);
}

/// Eight sums that stay in registers, which an array of them, or one of Lanes where vectors are shorter, would not.
struct EightSums {
  Four low = {}, high = {};
  [[gnu::always_inline]] void add(double x, const Four& a, const Four& b) {
    low += x * a;
    high += x * b;
  }
  /// The products of x[0], ..., x[7] and a and b.
  template <class T>
  [[gnu::always_inline]] void add(const T* x, const Four& a, const Four& b) {
    Four first, second;
    load(x, first);
    load(x + 4, second);
    low += first * a;
    high += second * b;
  }
  [[gnu::always_inline]] void store(double* to) const {
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + 4, &high, sizeof high);
  }
};

/// out[r] = rows[r] . other(r): number i in the partial sum i mod 8, those added up as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). Eight
/// rows at a time, so that their partial sums are added up together; four of them are read together, because sums of one wait for each
/// other.
template <class T, class Other>
[[gnu::always_inline]] inline void products(const T* rows, std::size_t stride, std::size_t width, std::span<double> out,
                                            const Other& other) {
  const std::size_t whole = width - width % kLanes;
  for (std::size_t first = 0; first < out.size(); first += kLanes) {
    Lanes s[kLanes] = {};
    for (std::size_t r = 0; r < kLanes && first + r < out.size(); r += 4) {
      const auto row = [&](std::size_t i) __attribute__((always_inline)) {
        return rows + std::min(first + r + i, out.size() - 1) * stride;
      };
      const T *const a = row(0), *const b = row(1), *const c = row(2), *const d = row(3);
      EightSums of_a, of_b, of_c, of_d;
      for (std::size_t i = 0; i < whole; i += kLanes) {
        const auto add = [&](EightSums & sums, const T* x) __attribute__((always_inline)) {
          Four low, high;
          load(other(x) + i, low);
          load(other(x) + i + 4, high);
          sums.add(x + i, low, high);
        };
        add(of_a, a);
        add(of_b, b);
        add(of_c, c);
        add(of_d, d);
      }
      double sums[4][kLanes];
      of_a.store(sums[0]);
      of_b.store(sums[1]);
      of_c.store(sums[2]);
      of_d.store(sums[3]);
      for (std::size_t t = 0; t < 4; ++t) {
        for (std::size_t i = whole; i < width; ++i)
          sums[t][i - whole] += static_cast<double>(row(t)[i]) * static_cast<double>(other(row(t))[i]);
        load(sums[t], s[r + t]);
      }
    }
    Lanes fours[4], twos[2];
    for (std::size_t r = 0; r < 4; ++r)
      fours[r] = __builtin_shufflevector(s[2 * r], s[2 * r + 1], 0, 1, 2, 3, 8, 9, 10, 11) +
                 __builtin_shufflevector(s[2 * r], s[2 * r + 1], 4, 5, 6, 7, 12, 13, 14, 15);
    for (std::size_t r = 0; r < 2; ++r)
      twos[r] = __builtin_shufflevector(fours[2 * r], fours[2 * r + 1], 0, 1, 4, 5, 8, 9, 12, 13) +
                __builtin_shufflevector(fours[2 * r], fours[2 * r + 1], 2, 3, 6, 7, 10, 11, 14, 15);
    const Lanes sums = __builtin_shufflevector(twos[0], twos[1], 0, 2, 4, 6, 8, 10, 12, 14) +
                       __builtin_shufflevector(twos[0], twos[1], 1, 3, 5, 7, 9, 11, 13, 15);
    std::memcpy(out.data() + first, &sums, std::min(kLanes, out.size() - first) * sizeof(double));
  }
}

/// Blocks of kLanes * n numbers from number i on, as many as there are.
template <int n, class T>
[[gnu::always_inline]] inline void combine_blocks(std::span<const T* const> rows, std::span<const double> weights, double scale,
                                                  std::span<T> out, std::size_t& i) {
  for (; i + n * kLanes <= out.size(); i += n * kLanes) {
    Lanes s[n] = {};
    for (std::size_t r = 0; r < rows.size(); ++r)
#pragma GCC unroll 4
      for (int b = 0; b < n; ++b) {
        Lanes x;
        load(rows[r] + i + static_cast<std::size_t>(b) * kLanes, x);
        s[b] += weights[r] * x;
      }
    for (int b = 0; b < n; ++b)
      for (std::size_t j = 0; j < kLanes; ++j) out[i + static_cast<std::size_t>(b) * kLanes + j] = static_cast<T>(scale * s[b][j]);
  }
}

template <class T>
[[gnu::always_inline]] inline void combine(std::span<const T* const> rows, std::span<const double> weights, double scale,
                                           std::span<T> out) {
  KVSCOPE_ASSERT(rows.size() == weights.size());
  std::size_t i = 0;
  combine_blocks<4>(rows, weights, scale, out, i);
  combine_blocks<1>(rows, weights, scale, out, i);
  for (; i < out.size(); ++i) {
    double s = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) s += weights[r] * static_cast<double>(rows[r][i]);
    out[i] = static_cast<T>(scale * s);
  }
}

}  // namespace

KVSCOPE_EVERY_WIDTH void exp_all(std::span<double> x) {
  double* const p = x.data();
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) p[i] = exp_one(p[i]);
}

KVSCOPE_EVERY_WIDTH void log_all(std::span<double> x) {
  double* const p = x.data();
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) p[i] = log_one(p[i]);
}

KVSCOPE_EVERY_WIDTH void log_add_exp_all(std::span<double> x, std::span<const double> y) {
  KVSCOPE_ASSERT(x.size() == y.size());
  constexpr std::size_t kBlock = 128;
  double d[kBlock], top[kBlock];
  for (std::size_t first = 0; first < x.size(); first += kBlock) {  // in passes: one loop with all of it runs half as fast
    const std::size_t n = std::min(kBlock, x.size() - first);
    double* const p = x.data() + first;
    const double* const q = y.data() + first;
    for (std::size_t i = 0; i < n; ++i) {
      top[i] = p[i] > q[i] ? p[i] : q[i];
      d[i] = below_top(p[i], q[i]);
    }
    for (std::size_t i = 0; i < n; ++i) d[i] = exp_one(d[i]);
    for (std::size_t i = 0; i < n; ++i) d[i] = log_one(1.0 + d[i]);
    for (std::size_t i = 0; i < n; ++i) p[i] = top[i] + d[i];
  }
}

KVSCOPE_EVERY_WIDTH void add_to_sums(std::span<double> high, std::span<double> low, std::span<const double> plus,
                                     std::span<const double> minus) {
  const std::size_t n = high.size();
  KVSCOPE_ASSERT(low.size() == n && plus.size() == n && minus.size() == n);
  double* __restrict const h = high.data(), * __restrict const l = low.data();
  const double *const p = plus.data(), *const m = minus.data();
  for (std::size_t i = 0; i < n; ++i) {
    DoublePair sum{h[i], l[i]};
    sum.add(p[i]);
    sum.add(-m[i]);
    sum = sum.rounded();
    h[i] = sum.high;
    l[i] = sum.low;
  }
}

KVSCOPE_EVERY_WIDTH void add_times_to_sums(std::span<double> high, std::span<double> low, int times, std::span<const double> plus) {
  const std::size_t n = high.size();
  KVSCOPE_ASSERT(low.size() == n && plus.size() == n && std::abs(times) < 1 << 26);
  double* __restrict const h = high.data(), * __restrict const l = low.data();
  const double* const p = plus.data();
  const double factor = times;
  for (std::size_t i = 0; i < n; ++i) {
    DoublePair sum{h[i], l[i]};
    sum.add_times(factor, p[i]);
    sum = sum.rounded();
    h[i] = sum.high;
    l[i] = sum.low;
  }
}

KVSCOPE_EVERY_WIDTH void widen(const float* from, std::span<double> to) {
  double* __restrict const y = to.data();
  const std::size_t n = to.size();
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<double>(from[i]);
}

KVSCOPE_EVERY_WIDTH void add_scaled(std::span<double> sum, double weight, const float* x) {
  double* __restrict const s = sum.data();
  const std::size_t n = sum.size();
  for (std::size_t i = 0; i < n; ++i) s[i] += weight * static_cast<double>(x[i]);
}

KVSCOPE_EVERY_WIDTH void add_scaled(std::span<double> sum, double weight, const double* x) {
  double* __restrict const s = sum.data();
  const std::size_t n = sum.size();
  for (std::size_t i = 0; i < n; ++i) s[i] += weight * x[i];
}

KVSCOPE_EVERY_WIDTH void row_products(const double* rows, std::span<const double> x, std::span<double> out, std::size_t stride) {
  products(rows, stride > 0 ? stride : x.size(), x.size(), out, [&](const double*) { return x.data(); });
}

KVSCOPE_EVERY_WIDTH void matrix_products(std::span<const double> a, std::span<const double> b, std::size_t n, std::span<double> out) {
  const std::size_t width = b.size() / n, m = out.size() / n, whole = n - n % kLanes;
  for (std::size_t q = 0; q < m; q += 4) {
    const auto row = [&](std::size_t r) { return std::min(q + r, m - 1); };  // the last one again where there are fewer
    const double *const a0 = &a[row(0) * width], *const a1 = &a[row(1) * width], *const a2 = &a[row(2) * width],
                        *const a3 = &a[row(3) * width];
    for (std::size_t k = 0; k < whole; k += kLanes) {
      EightSums s0, s1, s2, s3;
      for (std::size_t i = 0; i < width; ++i) {
        Four low, high;
        std::memcpy(&low, &b[i * n + k], sizeof low);
        std::memcpy(&high, &b[i * n + k + 4], sizeof high);
        s0.add(a0[i], low, high);
        s1.add(a1[i], low, high);
        s2.add(a2[i], low, high);
        s3.add(a3[i], low, high);
      }
      s0.store(&out[row(0) * n + k]);
      s1.store(&out[row(1) * n + k]);
      s2.store(&out[row(2) * n + k]);
      s3.store(&out[row(3) * n + k]);
    }
    for (std::size_t r = q; r < std::min(q + 4, m); ++r)
      for (std::size_t k = whole; k < n; ++k) {
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i) sum += a[r * width + i] * b[i * n + k];
        out[r * n + k] = sum;
      }
  }
}

KVSCOPE_EVERY_WIDTH void combine_rows(std::span<const float* const> rows, std::span<const double> weights, double scale,
                                      std::span<float> out) {
  combine(rows, weights, scale, out);
}

KVSCOPE_EVERY_WIDTH void combine_rows(std::span<const double* const> rows, std::span<const double> weights, double scale,
                                      std::span<double> out) {
  combine(rows, weights, scale, out);
}

KVSCOPE_EVERY_WIDTH void row_squares(const float* rows, std::size_t width, std::span<double> out) {
  products(rows, width, width, out, [](const auto* row) { return row; });
}

KVSCOPE_EVERY_WIDTH void row_squares(const double* rows, std::size_t width, std::span<double> out) {
  products(rows, width, width, out, [](const auto* row) { return row; });
}

KVSCOPE_EVERY_WIDTH double lowest(std::span<const double> x, std::span<const char> left_out) {
  KVSCOPE_ASSERT(x.size() == left_out.size());
  const double* const p = x.data();
  const char* const out = left_out.data();
  double low[kLanes];
  std::fill_n(low, kLanes, kInf);
  const auto lower = [ p, out ](double& least, std::size_t i) __attribute__((always_inline)) {
    const double number = p[i] != p[i] ? -kInf : p[i], y = out[i] ? kInf : number;
    least = y < least ? y : least;
  };
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) lower(low[j], i + j);
  for (; i < x.size(); ++i) lower(low[0], i);
  return *std::min_element(low, low + kLanes);
}

KVSCOPE_EVERY_WIDTH std::optional<Largest> largest(std::span<const double> x, int k) {
  const double* const p = x.data();
  const std::size_t n = x.size();
  if (n == 0) return std::nullopt;
  const auto most_up_to = [ p, n ](double bound) __attribute__((always_inline)) {
    double tops[kLanes];
    std::fill_n(tops, kLanes, -kInf);
    const auto raise = [bound](double& top, double y) __attribute__((always_inline)) { top = y > top && y <= bound ? y : top; };
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (std::size_t j = 0; j < kLanes; ++j) raise(tops[j], p[i + j]);
    for (; i < n; ++i) raise(tops[0], p[i]);
    return *std::max_element(tops, tops + kLanes);
  };
  double high = most_up_to(kInf), low = p[0];
  for (std::size_t i = 0; i < n; ++i) low = p[i] < low ? p[i] : low;
  if (!(low > -kInf && high < kInf)) return std::nullopt;
  // the last of the k largest lies between low and high: mostly a few halvings find a number between it and the next one, because they
  // halve the number of doubles in between, not the distance
  constexpr int kQuick = 12, kHalvings = 80;
  for (int h = 0; h < kHalvings; ++h) {
    const double middle = h == kQuick ? high : between(low, high);
    if (!(middle >= low && middle <= high)) break;
    std::int64_t above = 0;
    for (std::size_t i = 0; i < n; ++i) above += p[i] > middle ? 1 : 0;
    if (above == k) return Largest{middle, k};
    if (above > k) {
      if (middle == low) break;
      low = middle;
    } else if (h < kQuick) {
      high = middle;
    } else {  // among equals: those of the next number below, or further down
      const double next = most_up_to(middle);
      std::int64_t equal = 0;
      for (std::size_t i = 0; i < n; ++i) equal += p[i] == next ? 1 : 0;
      if (above + equal >= k) return Largest{next, static_cast<int>(above)};
      high = next;
    }
  }
  return std::nullopt;
}

KVSCOPE_EVERY_WIDTH double sum_of(std::span<const double> x) {
  EightSums sums;
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    Four low, high;
    load(&x[i], low);
    load(&x[i + 4], high);
    sums.low += low;
    sums.high += high;
  }
  double parts[kLanes];
  sums.store(parts);
  for (; i < x.size(); ++i) parts[0] += x[i];
  return std::accumulate(parts, parts + kLanes, 0.0);
}

KVSCOPE_EVERY_WIDTH void keep_most(std::span<double> most, const double* x, double scale) {
  double* __restrict const y = most.data();
  const std::size_t n = most.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double scaled = x[i] * scale;
    y[i] = y[i] < scaled ? scaled : y[i];
  }
}

KVSCOPE_EVERY_WIDTH void round_to_levels(std::span<double> x, std::span<const double> levels) {
  constexpr std::size_t kBlock = 128;
  double nearest[kBlock];
  for (std::size_t first = 0; first < x.size(); first += kBlock) {
    const std::size_t n = std::min(kBlock, x.size() - first);
    double* const p = x.data() + first;
    std::fill_n(nearest, n, levels[0]);
    for (std::size_t l = 1; l < levels.size(); ++l) {  // true for all levels up to the nearest, and false from there on
      const double lower = levels[l - 1], upper = levels[l];
      for (std::size_t i = 0; i < n; ++i) nearest[i] = upper - p[i] < p[i] - lower ? upper : nearest[i];
    }
    std::copy_n(nearest, n, p);
  }
}

KVSCOPE_EVERY_WIDTH void standard_deviations(std::span<const double> sum, std::span<const double> sum_sq, std::span<const int> n,
                                             std::span<double> out) {
  const double *const s = sum.data(), *const q = sum_sq.data();
  const int* const counts = n.data();
  double* __restrict const y = out.data();
  const std::size_t size = out.size();
  for (std::size_t i = 0; i < size; ++i) {
    const double count = counts[i], mean = s[i] / count, variance = q[i] / count - mean * mean;
    y[i] = std::sqrt(variance < 0 ? 0.0 : variance);
  }
}

}  // namespace kvscope
