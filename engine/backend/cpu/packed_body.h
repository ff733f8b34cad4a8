// SPDX-License-Identifier: Apache-2.0
#pragma once

// dots_packed of kernels.h for one instruction set; included after dots_body.h.
//
// dots() keeps the partial sums of one pair in the lanes of a vector. Here the lanes are different columns, and the partial sums of a pair
// are different vectors; adding them in halves (l and l + lanes / 2 first) gives the order of dots().

#include "backend/cpu/kernels.h"

namespace kvscope::cpu::KVSCOPE_ISA {
namespace {

template <class S, int M>
struct Column {
  typename S::V row[M];
};

/// Sum of the partial sums l, l + Stride, l + 2 Stride, ... of M rows.
template <class S, int M, int Chunks, int Lane, int Stride>
[[gnu::always_inline]] inline Column<S, M> partial_sums(const typename S::T* x, long ldx, const typename S::T* packed) {
  Column<S, M> out;
  if constexpr (Stride == S::kLanes) {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) out.row[m] = S::zero();
#pragma GCC unroll 8
    for (int c = 0; c < Chunks; ++c) {
      const int i = Lane + c * S::kLanes;
      const typename S::V w = S::load(packed + i * S::kLanes);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) out.row[m] = S::fma(S::set1(x[m * ldx + i]), w, out.row[m]);
    }
  } else {
    out = partial_sums<S, M, Chunks, Lane, 2 * Stride>(x, ldx, packed);
    const Column<S, M> other = partial_sums<S, M, Chunks, Lane + Stride, 2 * Stride>(x, ldx, packed);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) out.row[m] = out.row[m] + other.row[m];
  }
  return out;
}

template <class S, int Chunks>
void packed_rows(const typename S::T* x, long ldx, int rows, const typename S::T* packed, int n_blocks, typename S::T* y, long ldy) {
  for (int b = 0; b < n_blocks; ++b, packed += Chunks * S::kLanes * S::kLanes) {
    for (int r = 0; r < rows;) {
      const int tiles = (rows - r + S::kPackedRows - 1) / S::kPackedRows, m = (rows - r + tiles - 1) / tiles;
      with_rows<S::kPackedRows>(m, [&]<int M>() {
        const Column<S, M> sum = partial_sums<S, M, Chunks, 0, 1>(x + r * ldx, ldx, packed);
        for (int i = 0; i < M; ++i) S::store(y + (r + i) * ldy + b * S::kLanes, sum.row[i]);
      });
      r += m;
    }
  }
}

template <class S>
bool packs(int k) {
  return S::kPackedRows > 0 && (k == S::kLanes || k == 2 * S::kLanes || k == 4 * S::kLanes);
}

template <class S>
void dots_packed(const typename S::T* x, long ldx, int rows, const typename S::T* packed, int n_blocks, int k, typename S::T* y, long ldy) {
  if constexpr (S::kPackedRows > 0) {
    if (k == S::kLanes) return packed_rows<S, 1>(x, ldx, rows, packed, n_blocks, y, ldy);
    if (k == 2 * S::kLanes) return packed_rows<S, 2>(x, ldx, rows, packed, n_blocks, y, ldy);
    if (k == 4 * S::kLanes) return packed_rows<S, 4>(x, ldx, rows, packed, n_blocks, y, ldy);
  }
  __builtin_trap();  // not packs(k)
}

}  // namespace
}  // namespace kvscope::cpu::KVSCOPE_ISA
