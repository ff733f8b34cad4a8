// SPDX-License-Identifier: Apache-2.0
#pragma once

// The other kernels of kernels.h for one instruction set; included after dots_body.h and packed_body.h.

#include "backend/cpu/kernels.h"

namespace kvscope::cpu::KVSCOPE_ISA {
namespace {

template <class S>
constexpr bool kFloat = sizeof(typename S::T) == 4;

/// M rows of p against C vectors of a row of v; the last vector may be partial (`tail` of its lanes, else kLanes).
template <class S, int M, int C>
void weighted_tile(const typename S::T* p, long ldp, const typename S::T* v, int n, int width, int tail, typename S::T* out, long ldo) {
  using V = typename S::V;
  constexpr int L = S::kLanes;
  V acc[M][C];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const typename S::T* o = out + m * ldo + c * L;
      acc[m][c] = c == C - 1 && tail < L ? S::load_part(o, tail) : S::load(o);
    }
  }
  const auto step = [&](const V(&row)[C], int j) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const V weight = S::set1(p[m * ldp + j]);
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) acc[m][c] = S::fma(weight, row[c], acc[m][c]);
    }
  };
  for (int j = 0; j < n; ++j, v += width) {
    V row[C];
#pragma GCC unroll 8
    for (int c = 0; c < C - 1; ++c) row[c] = S::load(v + c * L);
    row[C - 1] = tail < L ? S::load_part(v + (C - 1) * L, tail) : S::load(v + (C - 1) * L);
    step(row, j);
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      typename S::T* o = out + m * ldo + c * L;
      if (c == C - 1 && tail < L) {
        S::store_part(o, acc[m][c], tail);
      } else {
        S::store(o, acc[m][c]);
      }
    }
  }
}

template <class S>
void add_weighted_rows(const typename S::T* p, long ldp, int rows, const typename S::T* v, int n, int width, typename S::T* out, long ldo) {
  constexpr int L = S::kLanes, C = S::kTileVectors, kMost = 6;
  for (int r = 0; r < rows;) {
    const int left = rows - r, tiles = (left + kMost - 1) / kMost, m = (left + tiles - 1) / tiles;
    with_rows<kMost>(m, [&]<int M>() {
      for (int c = 0; c < width; c += C * L) {
        const int here = width - c;
        typename S::T* o = out + r * ldo + c;
        const typename S::T* q = p + r * ldp;
        if (here > L) {
          weighted_tile<S, M, C>(q, ldp, v + c, n, width, here >= C * L ? L : here - L, o, ldo);
        } else {
          weighted_tile<S, M, 1>(q, ldp, v + c, n, width, here, o, ldo);
        }
      }
    });
    r += m;
  }
}

template <class S>
typename S::T scale_bias_max(typename S::T* z, int n, typename S::T scale, const double* bias, typename S::T* logits) {
  using V = typename S::V;
  using T = typename S::T;
  const V factor = S::set1(scale);
  const T lowest = -static_cast<T>(__builtin_inf());
  V top = S::set1(lowest);
  int i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) {
    V v = S::load(z + i) * factor;
    if (logits) S::store(logits + i, v);
    if (bias) v = v + S::load(bias + i);
    S::store(z + i, v);
    top = S::max(v, top);
  }
  T lanes[S::kLanes];
  S::store(lanes, top);
  T most = lowest;
  for (T x : lanes) most = x > most ? x : most;
  for (; i < n; ++i) {
    T v = z[i] * scale;
    if (logits) logits[i] = v;
    if (bias) v = v + static_cast<T>(bias[i]);
    z[i] = v;
    most = v > most ? v : most;
  }
  return most;
}

template <class S>
void soft_cap(typename S::T* z, int n, typename S::T scale, typename S::T cap) {
  if constexpr (kFloat<S>) {  // tanh(x) = 1 - 2 / (exp(2 x) + 1)
    using V = typename S::V;
    const V factor = S::set1(2 * scale / cap), size = S::set1(cap), one = S::set1(1), two = S::set1(2);
    const auto capped = [&](V x) { return size * (one - two / (S::exp(x * factor) + one)); };
    int i = 0;
    for (; i + S::kLanes <= n; i += S::kLanes) S::store(z + i, capped(S::load(z + i)));
    if (i < n) S::store_part(z + i, capped(S::load_part(z + i, n - i)), n - i);
  } else {
    for (int i = 0; i < n; ++i) z[i] = cap * __builtin_tanh(z[i] * scale / cap);
  }
}

template <class S>
typename S::T exp_sum(typename S::T* z, int n, typename S::T top) {
  using V = typename S::V;
  using T = typename S::T;
  V sum = S::zero();
  int i = 0;
  if constexpr (kFloat<S>) {
    const V shift = S::set1(top);
    for (; i + S::kLanes <= n; i += S::kLanes) {
      const V e = S::exp(S::load(z + i) - shift);
      S::store(z + i, e);
      sum = sum + e;
    }
    if (i < n) {
      T part[S::kLanes] = {};
      S::store(part, S::exp(S::load_part(z + i, n - i) - shift));
      for (int l = n - i; l < S::kLanes; ++l) part[l] = 0;
      S::store_part(z + i, S::load(part), n - i);
      sum = sum + S::load(part);
    }
  } else {
    for (int j = 0; j < n; ++j) z[j] = __builtin_exp(z[j] - top);
    for (; i + S::kLanes <= n; i += S::kLanes) sum = sum + S::load(z + i);
    if (i < n) sum = sum + S::load_part(z + i, n - i);
  }
  return S::sum(sum);
}

template <class S>
void divide(const typename S::T* x, int n, typename S::T divisor, typename S::T* y) {
  const typename S::V d = S::set1(divisor);
  int i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) S::store(y + i, S::load(x + i) / d);
  for (; i < n; ++i) y[i] = x[i] / divisor;
}

template <class S>
void convert(const void* from, DType type, int n, typename S::T* to) {
  switch (type) {
    case DType::f32:
      return convert_row<S>(static_cast<const float*>(from), n, to);
    case DType::f64:
      return convert_row<S>(static_cast<const double*>(from), n, to);
    case DType::f16:
      return convert_row<S>(static_cast<const Half*>(from), n, to);
    case DType::bf16:
      return convert_row<S>(static_cast<const Bfloat*>(from), n, to);
    default:
      with_block(type, [&]<class Q>(Q) { DecodedRows<S, Q>{{static_cast<const std::uint8_t*>(from), n}}.widened(0, 0, n, to); });
  }
}

template <class D, class T>
double sum_of_squares(const T* x, int n) {
  typename D::V sum[4] = {D::zero(), D::zero(), D::zero(), D::zero()};
  int i = 0;
  for (; i + 4 * D::kLanes <= n; i += 4 * D::kLanes) {
#pragma GCC unroll 4
    for (int a = 0; a < 4; ++a) {
      const typename D::V v = D::load(x + i + a * D::kLanes);
      sum[a] = D::fma(v, v, sum[a]);
    }
  }
  for (; i < n; i += D::kLanes) {
    const typename D::V v = n - i < D::kLanes ? D::load_part(x + i, n - i) : D::load(x + i);
    sum[0] = D::fma(v, v, sum[0]);
  }
  return D::sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

template <class D>
double largest_product(const double* x, const double* y, int n) {
  const double lowest = -__builtin_inf();
  typename D::V top[2] = {D::set1(lowest), D::set1(lowest)};
  int i = 0;
  for (; i + 2 * D::kLanes <= n; i += 2 * D::kLanes) {
#pragma GCC unroll 2
    for (int a = 0; a < 2; ++a) top[a] = D::max(D::load(x + i + a * D::kLanes) * D::load(y + i + a * D::kLanes), top[a]);
  }
  double lanes[D::kLanes], most = lowest;
  D::store(lanes, D::max(top[0], top[1]));
  for (const double l : lanes) most = l > most ? l : most;
  for (; i < n; ++i) most = x[i] * y[i] > most ? x[i] * y[i] : most;
  return most;
}

template <class D>
int next_product(const double* x, const double* y, int begin, int n, double bound) {
  constexpr int kAtOnce = 4 * D::kLanes;
  const typename D::V least = D::set1(bound), one = D::set1(1);
  int i = begin;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    typename D::V found = D::zero();
#pragma GCC unroll 4
    for (int a = 0; a < 4; ++a) found = D::add_where(D::load(x + i + a * D::kLanes) * D::load(y + i + a * D::kLanes), least, found, one);
    if (D::sum(found) > 0) break;
  }
  while (i < n && !(x[i] * y[i] >= bound)) ++i;
  return i;
}

template <class S>
void scale_by_weight(const typename S::T* x, double scale, const void* w, DType w_type, int n, typename S::T* y) {
  using T = typename S::T;
  constexpr int kPiece = 256;
  T weight[kPiece];
  for (int i = 0; i < n; i += kPiece) {
    const int here = n - i < kPiece ? n - i : kPiece;
    int bytes = i * (w_type == DType::f64 ? 8 : w_type == DType::f32 ? 4 : 2);
    with_block(w_type, [&]<class Q>(Q) { bytes = i / Q::kNumbers * Q::kBytes; });
    convert<S>(static_cast<const char*>(w) + bytes, w_type, here, weight);
    for (int j = 0; j < here; ++j) y[i + j] = static_cast<T>(x[i + j] * scale) * weight[j];
  }
}

template <class S>
void silu_mul(const typename S::T* gate, const typename S::T* up, int n, typename S::T* y) {
  using V = typename S::V;
  int i = 0;
  if constexpr (kFloat<S>) {
    const V one = S::set1(1);
    for (; i + S::kLanes <= n; i += S::kLanes) {
      const V g = S::load(gate + i);
      S::store(y + i, g / (one + S::exp(S::zero() - g)) * S::load(up + i));
    }
    if (i < n) {
      const V g = S::load_part(gate + i, n - i);
      S::store_part(y + i, g / (one + S::exp(S::zero() - g)) * S::load_part(up + i, n - i), n - i);
    }
  } else {
    for (; i < n; ++i) y[i] = gate[i] / (1.0 + __builtin_exp(-gate[i])) * up[i];
  }
}

template <class S>
void gelu_mul(const typename S::T* gate, const typename S::T* up, int n, typename S::T* y) {
  using V = typename S::V;
  using T = typename S::T;
  constexpr T a = static_cast<T>(-1.5957691216057307117597842397375), b = static_cast<T>(0.044715);  // a = -2 sqrt(2 / pi)
  if constexpr (kFloat<S>) {
    const V one = S::set1(1), slope = S::set1(a), bend = S::set1(b);
    const auto gelu = [&](V g) { return g / (one + S::exp(slope * (g + bend * g * g * g))); };
    int i = 0;
    for (; i + S::kLanes <= n; i += S::kLanes) S::store(y + i, gelu(S::load(gate + i)) * S::load(up + i));
    if (i < n) S::store_part(y + i, gelu(S::load_part(gate + i, n - i)) * S::load_part(up + i, n - i), n - i);
  } else {
    for (int i = 0; i < n; ++i) y[i] = gate[i] / (1.0 + __builtin_exp(a * (gate[i] + b * gate[i] * gate[i] * gate[i]))) * up[i];
  }
}

template <class S>
void rotate(const typename S::T* x, int half, const typename S::T* cosines, const typename S::T* sines, typename S::T* y) {
  using V = typename S::V;
  int i = 0;
  for (; i + S::kLanes <= half; i += S::kLanes) {
    const V a = S::load(x + i), b = S::load(x + half + i), c = S::load(cosines + i), s = S::load(sines + i);
    S::store(y + i, a * c - b * s);
    S::store(y + half + i, b * c + a * s);
  }
  for (; i < half; ++i) {
    const typename S::T a = x[i], b = x[half + i];
    y[i] = a * cosines[i] - b * sines[i];
    y[half + i] = b * cosines[i] + a * sines[i];
  }
}

template <class S, class Double>
constexpr Kernels<typename S::T> table(Isa isa, const char* name) {
  return {isa,
          name,
          S::kLanes,
          dots<S>,
          dots_packed<S>,
          packs<S>,
          add_weighted_rows<S>,
          scale_bias_max<S>,
          soft_cap<S>,
          exp_sum<S>,
          divide<S>,
          convert<S>,
          sum_of_squares<Double, typename S::T>,
          sum_of<Double, false, typename S::T>,
          sum_of<Double, true, typename S::T>,
          column_sums<Double, typename S::T>,
          largest_product<Double>,
          next_product<Double>,
          scale_by_weight<S>,
          silu_mul<S>,
          gelu_mul<S>,
          rotate<S>};
}

}  // namespace
}  // namespace kvscope::cpu::KVSCOPE_ISA
