// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dots of float activations with quantised weights as products of whole numbers, for one instruction set; included after dots_body.h and a
// whole_*.h, which defines I (vectors of whole numbers) and how blocks become codes.
//
// A unit is kUnit numbers in steps of one vector. Of a row of x it has one scale, a power of two, and whole numbers X of kBits and a sign
// (whole.h), cut into digits of 8 bits with a sign: X = 2^16 d2 + 2^8 d1 + d0. A code c is a byte without a sign, a weight is
// scale (c - kOffset), or scale c - minimum. Four products of neighbours meet in one lane, exactly: the sum of (c - kOffset) X fits 32
// bits, so what overflows before it is complete does no harm. Only then it is rounded to float, and added up as dots() does it: lanes along
// k, then the lanes in halves. So a pair's bits depend on no other row or column.

#include <cstdint>

#include "backend/cpu/kernels.h"

namespace kvscope::cpu::KVSCOPE_ISA {
namespace {

inline constexpr int kUnit = 256, kStep = I::kBytes, kSteps = kUnit / kStep;
inline constexpr int kMinimumOf = 32;  // numbers that have a minimum together

struct alignas(kStep) XStep {
  std::int8_t digits[3][kStep];  // d2, d1, d0
  std::int32_t less[kStep / 4];  // -kOffset times the sum of the lane's X
};

/// Of a row of x.
struct alignas(64) XUnit {
  XStep steps[kSteps];
  alignas(32) float sums[kUnit / kMinimumOf];  // of X, where weights have minima
  float scale;
};

constexpr int units_of(int k) { return (k + kUnit - 1) / kUnit; }

/// The sums of code times X, in lanes.
[[gnu::always_inline]] inline I::V products(I::V codes, const std::int8_t (&digits)[3][kStep]) {
  I::V sum = I::dot(I::zero(), codes, I::load(digits[0]));
  sum = I::dot(I::times256(sum), codes, I::load(digits[1]));
  return I::dot(I::times256(sum), codes, I::load(digits[2]));
}

template <class Q>
void whole_row(const float* x, int k, XUnit* to) {
  for (int i = 0; i < k; i += kUnit, ++to) {
    const int n = k - i < kUnit ? k - i : kUnit;
    const WholeScale scale(I::largest(x + i, n), Q::kBits);
    to->scale = scale.scale;
    for (int s = 0; s < kSteps; ++s) {
      XStep& step = to->steps[s];
      I::split(x + i + s * kStep, n - s * kStep, scale.inverse, step.digits);
      I::store(step.less, I::minus(products(I::splat(Q::kOffset), step.digits)));
      if constexpr (Q::kMinima) {
        alignas(64) std::int32_t lanes[kStep / 4];
        I::store(lanes, products(I::splat(1), step.digits));
        for (int j = 0; j < kStep; j += kMinimumOf) {
          std::int32_t sum = 0;
          for (int l = j / 4; l < (j + kMinimumOf) / 4; ++l) sum += lanes[l];
          to->sums[(s * kStep + j) / kMinimumOf] = static_cast<float>(sum);
        }
      }
    }
  }
}

/// part += the products of a step of x with codes, times the scales of the codes.
template <class Q>
[[gnu::always_inline]] inline F::V add_products(const XStep& x, I::V codes, F::V scale, F::V part) {
  I::V sum = products(codes, x.digits);
  if constexpr (Q::kOffset != 0) sum = I::plus(sum, I::load(x.less));
  return F::fma(I::to_float(sum), scale, part);
}

/// Rows of blocks, straight from where they lie. What comes later is asked for early: across a row's end too, the next row follows.
template <class Q>
struct BlocksInPlace {
  static constexpr int kBytes = kUnit / Q::kNumbers * Q::kBytes, kAhead = 6144, kLine = 64;
  const std::uint8_t* w;
  int k;

  long row_bytes() const { return k / Q::kNumbers * static_cast<long>(Q::kBytes); }

  template <class Step, class Minima>
  [[gnu::always_inline]] void read(int row, int unit, const Step& step, const Minima& minima) const {
    const std::uint8_t* p = w + row * row_bytes() + unit * kBytes;
#pragma GCC unroll 8
    for (int at = 0; at < kBytes; at += kLine) {  // as a number: the address may lie behind the matrix, where a prefetch does nothing
      __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(kAhead + at)));
    }
    std::uint8_t rest[kBytes];
    if ((unit + 1) * kUnit > k) [[unlikely]] {
      const int bytes = static_cast<int>(row_bytes()) - unit * kBytes;
      __builtin_memset(rest, 0, kBytes);
      __builtin_memcpy(rest, p, static_cast<unsigned>(bytes));
      p = rest;
    }
    Q::read(p, step, minima);
  }
};

/// Rows of w as codes and the scales of their lanes.
struct alignas(64) WUnit {
  std::int8_t codes[kSteps][kStep];
  float scales[kSteps][F::kLanes];
  float minima[F::kLanes];
};

inline constexpr int kWholeTileRows = I::kTileRows, kWholeTileCols = I::kTileCols;

constexpr std::size_t whole_bytes(int k) { return static_cast<std::size_t>(units_of(k)) * sizeof(XUnit); }
constexpr std::size_t whole_scratch(int k) { return kWholeTileCols * static_cast<std::size_t>(units_of(k)) * sizeof(WUnit); }

template <class Q>
void fill_panel(const BlocksInPlace<Q>& w, int rows, WUnit* panel) {
  for (int n = 0; n < rows; ++n) {
    for (int u = 0; u < units_of(w.k); ++u, ++panel) {
      const auto keep = [&](int s, I::V codes, F::V scale) __attribute__((always_inline)) {
        I::store(panel->codes[s], codes);
        F::store(panel->scales[s], scale);
      };
      w.read(
          n, u, keep, [&](F::V minima) __attribute__((always_inline)) { F::store(panel->minima, minima); });
    }
  }
}

/// M rows of x, `ldx` units apart, against one row of w.
template <int M, class Q>
[[gnu::always_inline]] inline void accumulate_whole(const XUnit* x, long ldx, const BlocksInPlace<Q>& w, F::V (&acc)[M][1]) {
  const int units = units_of(w.k);
  for (int u = 0; u < units; ++u, ++x) {
    F::V part[M];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) part[m] = F::zero();
    const auto add = [&](int s, I::V codes, F::V scale) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) part[m] = add_products<Q>(x[m * ldx].steps[s], codes, scale, part[m]);
    };
    const auto subtract = [&](F::V minima) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) part[m] = I::less_minima(minima, x[m * ldx].sums, part[m]);
    };
    w.read(0, u, add, subtract);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) acc[m][0] = F::fma(part[m], F::set1(x[m * ldx].scale), acc[m][0]);
  }
}

/// M rows of x, `ldx` units apart, against N rows of w.
template <int M, int N, class Q>
[[gnu::always_inline]] inline void accumulate_panel(const XUnit* x, long ldx, const WUnit* panel, int units, F::V (&acc)[M][N]) {
  for (int u = 0; u < units; ++u, ++x, ++panel) {
    F::V part[M][N];
    clear<F>(part);
    if constexpr (Q::kMinima) {
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n) part[m][n] = I::less_minima(F::load(panel[n * units].minima), x[m * ldx].sums, part[m][n]);
      }
    }
    for (int s = 0; s < kSteps; ++s) {
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n) {
          const WUnit& w = panel[n * units];
          part[m][n] = add_products<Q>(x[m * ldx].steps[s], I::load(w.codes[s]), F::load(w.scales[s]), part[m][n]);
        }
      }
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n) acc[m][n] = F::fma(part[m][n], F::set1(x[m * ldx].scale), acc[m][n]);
    }
  }
}

/// f<M>(row) for tiles of M rows of x from `row` on.
template <class Function>
void in_row_tiles(int rows, const Function& f) {
  for (int r = 0; r < rows;) {
    const int left = rows - r, tiles = (left + kWholeTileRows - 1) / kWholeTileRows, here = (left + tiles - 1) / tiles;
    with_rows<kWholeTileRows>(here, [&]<int M>() { f.template operator()<M>(r); });
    r += here;
  }
}

template <int N, class Q>
void whole_panel(const WholeDots& d, const BlocksInPlace<Q>& w, int col) {
  auto* const panel = static_cast<WUnit*>(d.scratch);
  const long units = units_of(d.k);
  fill_panel(w, N, panel);
  in_row_tiles(d.rows, [&]<int M>(int r) {
    F::V acc[M][N];
    clear<F>(acc);
    accumulate_panel<M, N, Q>(static_cast<const XUnit*>(d.x) + r * units, units, panel, static_cast<int>(units), acc);
    finish<F>(acc, d.y + r * d.ldy + col, d.ldy, d.add);
  });
}

template <class Q>
void whole_dots_of(const WholeDots& d) {
  BlocksInPlace<Q> w{static_cast<const std::uint8_t*>(d.w), d.k};
  int c = 0;
  if (d.rows > kWholeTileRows)
    for (; c + kWholeTileCols <= d.cols; c += kWholeTileCols, w.w += kWholeTileCols * w.row_bytes()) whole_panel<kWholeTileCols>(d, w, c);
  for (; c < d.cols; ++c, w.w += w.row_bytes()) {
    in_row_tiles(d.rows, [&]<int M>(int r) {
      F::V acc[M][1];
      clear<F>(acc);
      accumulate_whole(static_cast<const XUnit*>(d.x) + static_cast<long>(r) * units_of(d.k), units_of(d.k), w, acc);
      finish<F>(acc, d.y + r * d.ldy + c, d.ldy, d.add);
    });
  }
}

/// f(Q{}) with the codes of a type; false: there are none.
template <class Function>
bool with_codes(DType type, const Function& f) {
  switch (type) {
    case DType::q8_0:
      return f(Q8Codes{}), true;
    case DType::q4_0:
      return f(Q4Codes{}), true;
    case DType::iq4_nl:
      return f(Iq4Codes{}), true;
    case DType::q5_0:
      return f(Q5Codes{}), true;
    case DType::q4_k:
      return f(Q4KCodes{}), true;
    case DType::q5_k:
      return f(Q5KCodes{}), true;
    case DType::q6_k:
      return f(Q6KCodes{}), true;
    default:
      return false;
  }
}

bool is_whole(DType type) {
  return with_codes(type, [](auto) {});
}

void whole_row(const float* x, int k, DType type, void* to) {
  with_codes(type, [&]<class Q>(Q) { whole_row<Q>(x, k, static_cast<XUnit*>(to)); });
}

void whole_dots(const WholeDots& d) {
  with_codes(d.w_type, [&]<class Q>(Q) { whole_dots_of<Q>(d); });
}

Kernels<float> with_whole_dots(Kernels<float> kernels, Isa isa, const char* name) {
  kernels.isa = isa;
  kernels.name = name;
  kernels.is_whole = is_whole;
  kernels.whole_bytes = whole_bytes;
  kernels.whole_scratch = whole_scratch;
  kernels.whole_row = whole_row;
  kernels.whole_dots = whole_dots;
  return kernels;
}

}  // namespace
}  // namespace kvscope::cpu::KVSCOPE_ISA
