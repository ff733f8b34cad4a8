// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums over rows and columns of probabilities for one instruction set. D: its double vectors; T: what the rows are made of.

#include "backend/cpu/kernels.h"

namespace kvscope::cpu::KVSCOPE_ISA {
namespace {

template <class D, bool absolute, class T>
double sum_of(const T* x, int n) {
  const auto number = [](typename D::V v) __attribute__((always_inline)) { return absolute ? D::max(v, D::zero() - v) : v; };
  typename D::V sum[4] = {D::zero(), D::zero(), D::zero(), D::zero()};
  int i = 0;
  for (; i + 4 * D::kLanes <= n; i += 4 * D::kLanes) {
#pragma GCC unroll 4
    for (int a = 0; a < 4; ++a) sum[a] = sum[a] + number(D::load(x + i + a * D::kLanes));
  }
  for (; i < n; i += D::kLanes) sum[0] = sum[0] + number(n - i < D::kLanes ? D::load_part(x + i, n - i) : D::load(x + i));
  return D::sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/// The plain sum of C vectors of columns from column j on, of all heads: one pass, so that its bits do not depend on what else is wanted.
template <class D, int C, class T>
void sum_block(const ColumnTile<T>& t, int j) {
  using V = typename D::V;
  constexpr int L = D::kLanes;
  V sum[C];
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) sum[c] = D::zero();
  for (int r = 0; r < t.rows; ++r) {
    for (int g = 0; g < t.group; ++g) {
      const T* x = t.x + (g * t.rows + r) * t.ldx + j;
      const V factor = D::set1(t.factors[g * t.rows + r] * t.share);
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) sum[c] = D::fma(D::load(x + c * L), factor, sum[c]);
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) D::store(t.sum + j + c * L, sum[c]);
}

/// The other statistics of these columns: abar of all rows into the L1 cache, then one statistic after the other, its sums in registers.
template <class D, int C, class T>
void column_block(const ColumnTile<T>& t, int j) {
  using V = typename D::V;
  constexpr int L = D::kLanes;
  alignas(64) double abar[kColumnRows][C * L];
  const V share = D::set1(t.share);
  for (int r = 0; r < t.rows; ++r) {
    const T* x = t.x + r * t.ldx + j;
    V a[C];
    const V first = D::set1(t.factors[r]);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) a[c] = D::load(x + c * L) * first;
    for (int g = 1; g < t.group; ++g) {
      x += t.rows * t.ldx;
      const V factor = D::set1(t.factors[g * t.rows + r]);
      if (t.largest) {
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) a[c] = D::max(D::load(x + c * L) * factor, a[c]);
      } else {
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) a[c] = D::fma(D::load(x + c * L), factor, a[c]);
      }
    }
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) D::store(abar[r] + c * L, a[c] * share);
  }
  const auto over_rows = [&](double* to, const auto& add) __attribute__((always_inline)) {
    V sum[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) sum[c] = D::zero();
    for (int r = 0; r < t.rows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) sum[c] = add(sum[c], D::load(abar[r] + c * L), r);
    }
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) D::store(to + j + c * L, sum[c]);
  };
  if (t.sum && t.largest)
    over_rows(
        t.sum, [](V sum, V a, int) __attribute__((always_inline)) { return sum + a; });
  if (t.sum_sq)
    over_rows(
        t.sum_sq, [](V sum, V a, int) __attribute__((always_inline)) { return D::fma(a, a, sum); });
  for (int x = 0; x < t.n_decayed; ++x) {
    const V lambda = D::set1(t.lambdas[x]);
    over_rows(
        t.decayed + x * t.ld_decayed, [lambda](V sum, V a, int) __attribute__((always_inline)) { return D::fma(lambda, sum, a); });
  }
  if (t.hits) {
    over_rows(
        t.hits, [&](V sum, V a, int r) __attribute__((always_inline)) {
          return D::add_where(a, D::set1(t.thresholds[r]), sum, D::set1(static_cast<double>(1 << r)));
        });
  }
}

template <class D, int C, class T>
void all_sums(const ColumnTile<T>& t, int j) {
  if (t.sum && !t.largest) sum_block<D, C>(t, j);
  if (t.largest || t.sum_sq || t.n_decayed > 0 || t.hits) column_block<D, C>(t, j);
}

template <class D, class T>
void column_sums(const ColumnTile<T>& t) {
  int j = 0;
  for (; j + 8 * D::kLanes <= t.n; j += 8 * D::kLanes) all_sums<D, 8>(t, j);
  for (; j < t.n; j += D::kLanes) all_sums<D, 1>(t, j);
}

}  // namespace
}  // namespace kvscope::cpu::KVSCOPE_ISA
