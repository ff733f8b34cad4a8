// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dots of kernels.h for one instruction set. The includer defines KVSCOPE_ISA and includes its simd_*.h first.
//
// A tile of M rows of x times N rows of w keeps one vector accumulator per pair and walks along k; whatever the shape of the tile, a pair's
// accumulator sees the same operations in the same order. Three ways to walk, all with the same result for a pair:
//   direct   few rows: every weight is loaded (and widened) once per tile, straight from where it lies
//   panels   many rows: four rows of w at a time are widened into the L1 cache and meet all rows of x
//   blocks   many rows and long k: k in pieces, the accumulators of a block of y wait in memory between the pieces
// Quantised weights go the same ways; what is direct there decodes pieces of its rows of w into the L1 cache once per tile.

#include <cstdint>

#include "backend/cpu/kernels.h"

namespace kvscope::cpu::KVSCOPE_ISA {
namespace {

inline constexpr int kPieceOfK = 512;  // elements; a panel of four rows of w and a tile of x fit the L1 cache
inline constexpr int kLongK = 1024;    // beyond: blocks
inline constexpr int kBlockRows = 48, kBlockCols = 48;
inline constexpr int kLongestBlock = 256;  // numbers; the lengths of all blocks divide it, and it divides kPieceOfK

template <class S, int M, int N, class W>
[[gnu::always_inline]] inline void accumulate(const typename S::T* x, long ldx, const W* w, long ldw, int k, typename S::V (&acc)[M][N]) {
  using V = typename S::V;
  int i = 0;
  for (; i + S::kLanes <= k; i += S::kLanes) {
    V a[M];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) a[m] = S::load(x + m * ldx + i);
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) {
      const V b = S::load(w + n * ldw + i);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) acc[m][n] = S::fma(a[m], b, acc[m][n]);
    }
  }
  if (i < k) {
    V a[M];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) a[m] = S::load_part(x + m * ldx + i, k - i);
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) {
      const V b = S::load_part(w + n * ldw + i, k - i);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) acc[m][n] = S::fma(a[m], b, acc[m][n]);
    }
  }
}

/// y tile from finished accumulators.
template <class S, int M, int N>
[[gnu::always_inline]] inline void finish(typename S::V (&acc)[M][N], typename S::T* y, long ldy, bool add) {
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    if constexpr (N % 4 == 0) {
#pragma GCC unroll 8
      for (int n = 0; n < N; n += 4) S::store4(y + m * ldy + n, S::sum4(acc[m][n], acc[m][n + 1], acc[m][n + 2], acc[m][n + 3]), add);
    } else {
      static_assert(N == 1);
      const typename S::T s = S::sum(acc[m][0]);
      y[m * ldy] = add ? y[m * ldy] + s : s;
    }
  }
}

template <class S, int M, int N>
[[gnu::always_inline]] inline void clear(typename S::V (&acc)[M][N]) {
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) acc[m][n] = S::zero();
  }
}

template <class S, int M, int N, class W>
void whole_tile(const typename S::T* x, long ldx, const W* w, long ldw, int k, typename S::T* y, long ldy, bool add) {
  typename S::V acc[M][N];
  clear<S>(acc);
  accumulate<S>(x, ldx, w, ldw, k, acc);
  finish<S>(acc, y, ldy, add);
}

inline constexpr int kReadAhead = 1024;  // bytes per row of w

/// One row of x against eight rows of w that come from memory: asks for each row a little ahead, across its end for the row of the next
/// tile, because the processor's own prefetch starts anew on every page. Into the L2 cache: eight rows whose distance is a
/// power of two fall into the same few lines of the L1 cache.
template <class S, class W>
void streamed_tile(const typename S::T* x, const W* w, long ldw, int k, typename S::T* y, long ldy, bool add) {
  typename S::V acc[1][8];
  clear<S>(acc);
  constexpr int kStep = 64 / static_cast<int>(sizeof(W)) > S::kLanes ? 64 / static_cast<int>(sizeof(W)) : S::kLanes;
  constexpr int kAhead = kReadAhead / static_cast<int>(sizeof(W));
  int i = 0;
  for (; i + kStep <= k; i += kStep) {
    const long ahead = i + kAhead < k ? i + kAhead : i + kAhead - k + 8 * ldw;
#pragma GCC unroll 8
    for (int n = 0; n < 8; ++n) {  // as a number: the address may lie behind the matrix, where a prefetch does nothing
      const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(w) + static_cast<std::uintptr_t>(n * ldw + ahead) * sizeof(W);
      __builtin_prefetch(reinterpret_cast<const void*>(at), 0, 2);
    }
    accumulate<S>(x + i, 0, w + i, ldw, kStep, acc);
  }
  accumulate<S>(x + i, 0, w + i, ldw, k - i, acc);
  finish<S>(acc, y, ldy, add);
}

/// Calls f(integral_constant<M>) with M = rows, 1 <= rows <= kTileRows.
template <int Most, class Function>
[[gnu::always_inline]] inline void with_rows(int rows, const Function& f) {
  if constexpr (Most == 1) {
    f.template operator()<1>();
  } else {
    if (rows == Most) {
      f.template operator()<Most>();
    } else {
      with_rows<Most - 1>(rows, f);
    }
  }
}

/// Rows of the next tile when `left` remain: all tiles about equally tall (8 = 4 + 4, not 6 + 2).
template <class S>
int next_rows(int left) {
  const int tiles = (left + S::kTileRows - 1) / S::kTileRows;
  return (left + tiles - 1) / tiles;
}

/// All rows of x against N rows of w.
template <class S, int N, class W>
void strip(const Dots<typename S::T>& d, const W* w, long ldw, int col) {
  for (int r = 0; r < d.rows;) {
    const int m = next_rows<S>(d.rows - r);
    with_rows<S::kTileRows>(
        m, [&]<int M>() { whole_tile<S, M, N>(d.x + r * d.ldx, d.ldx, w, ldw, d.k, d.y + r * d.ldy + col, d.ldy, d.add); });
    r += m;
  }
}

template <class S, class W>
void dots_direct(const Dots<typename S::T>& d) {
  const W* w = static_cast<const W*>(d.w);
  int c = 0;
  if (d.rows == 1) {
    for (; c + 8 <= d.cols; c += 8) {
      if (d.k * static_cast<long>(sizeof(W)) >= 4 * kReadAhead) {
        streamed_tile<S>(d.x, w + c * d.ldw, d.ldw, d.k, d.y + c, d.ldy, d.add);
      } else {
        whole_tile<S, 1, 8>(d.x, d.ldx, w + c * d.ldw, d.ldw, d.k, d.y + c, d.ldy, d.add);
      }
    }
  }
  for (; c + 4 <= d.cols; c += 4) strip<S, 4>(d, w + c * d.ldw, d.ldw, c);
  for (; c < d.cols; ++c) strip<S, 1>(d, w + c * d.ldw, d.ldw, c);
}

template <class S, class W>
void convert_row(const W* from, int n, typename S::T* to) {
  int i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) S::store(to + i, S::load(from + i));
  if (i < n) S::store_part(to + i, S::load_part(from + i, n - i), n - i);
}

/// Rows of w that are numbers.
template <class S, class W>
struct PlainRows {
  const W* w;
  long ldw;

  /// Numbers [first, first + n) of a row.
  void widened(int row, int first, int n, typename S::T* out) const { convert_row<S>(w + row * ldw + first, n, out); }
};

/// Rows of w that are blocks.
template <class S, class Q>
struct DecodedRows : BlockRows<Q> {
  void widened(int row, int first, int n, typename S::T* out) const {
    if constexpr (sizeof(typename S::T) == 4) {
      this->floats(row, first, n, out);
    } else {
      float piece[kLongestBlock];
      for (int i = 0; i < n; i += Q::kNumbers) {
        this->floats(row, first + i, Q::kNumbers, piece);
        convert_row<S>(piece, Q::kNumbers, out + i);
      }
    }
  }
};

template <class S, class Rows>
void dots_panels(const Dots<typename S::T>& d, const Rows& w) {
  using T = typename S::T;
  T* panel = static_cast<T*>(d.scratch);
  int c = 0;
  for (; c + 4 <= d.cols; c += 4) {
    for (int n = 0; n < 4; ++n) w.widened(c + n, 0, d.k, panel + n * d.k);
    strip<S, 4>(d, panel, d.k, c);
  }
  for (; c < d.cols; ++c) {
    w.widened(c, 0, d.k, panel);
    strip<S, 1>(d, panel, d.k, c);
  }
}

/// One tile over one piece of k; its accumulators come from `wait` (unless first) and go back there (unless last).
template <class S, int M, int N>
void piece_tile(const typename S::T* x, const typename S::T* w, int k, bool first, bool last, typename S::T* wait, typename S::T* y,
                long ldy, bool add) {
  typename S::V acc[M][N];
  if (first) {
    clear<S>(acc);
  } else {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n) acc[m][n] = S::load(wait + (m * N + n) * S::kLanes);
    }
  }
  accumulate<S>(x, kPieceOfK, w, kPieceOfK, k, acc);
  if (last) return finish<S>(acc, y, ldy, add);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) S::store(wait + (m * N + n) * S::kLanes, acc[m][n]);
  }
}

template <class S, class Rows>
void dots_blocks(const Dots<typename S::T>& d, const Rows& w) {
  using T = typename S::T;
  T* x_piece = static_cast<T*>(d.scratch);      // [kBlockRows, kPieceOfK]
  T* panel = x_piece + kBlockRows * kPieceOfK;  // [4, kPieceOfK]
  T* waiting = panel + 4 * kPieceOfK;           // [kBlockRows * kBlockCols, kLanes]
  static_assert(sizeof(T) * (kBlockRows * kPieceOfK + 4 * kPieceOfK + kBlockRows * kBlockCols * S::kLanes) <= kDotsScratch);
  for (int c0 = 0; c0 < d.cols; c0 += kBlockCols) {
    const int cols = d.cols - c0 < kBlockCols ? d.cols - c0 : kBlockCols;
    for (int r0 = 0; r0 < d.rows; r0 += kBlockRows) {
      const int rows = d.rows - r0 < kBlockRows ? d.rows - r0 : kBlockRows;
      for (int i = 0; i < d.k; i += kPieceOfK) {
        const int k = d.k - i < kPieceOfK ? d.k - i : kPieceOfK;
        const bool first = i == 0, last = i + k == d.k;
        for (int r = 0; r < rows; ++r) convert_row<S>(d.x + (r0 + r) * d.ldx + i, k, x_piece + r * kPieceOfK);
        T* wait = waiting;
        const auto all_rows = [&]<int N>(int c) {
          for (int n = 0; n < N; ++n) w.widened(c0 + c + n, i, k, panel + n * kPieceOfK);
          for (int r = 0; r < rows;) {
            const int m = next_rows<S>(rows - r);
            with_rows<S::kTileRows>(m, [&]<int M>() {
              piece_tile<S, M, N>(x_piece + r * kPieceOfK, panel, k, first, last, wait, d.y + (r0 + r) * d.ldy + c0 + c, d.ldy, d.add);
            });
            wait += m * N * S::kLanes;
            r += m;
          }
        };
        int c = 0;
        for (; c + 4 <= cols; c += 4) all_rows.template operator()<4>(c);
        for (; c < cols; ++c) all_rows.template operator()<1>(c);
      }
    }
  }
}

template <class S, class W>
void dots_of(const Dots<typename S::T>& d) {
  if (d.rows <= kDirectRows) return dots_direct<S, W>(d);
  const PlainRows<S, W> w{static_cast<const W*>(d.w), d.ldw};
  if (d.k <= kLongK) return dots_panels<S>(d, w);
  dots_blocks<S>(d, w);
}

/// All rows of x against N rows of blocks.
template <class S, int N, class Q>
void decoded_strip(const Dots<typename S::T>& d, const BlockRows<Q>& w, int col) {
  alignas(64) float panel[N * kLongestBlock];
  for (int r = 0; r < d.rows;) {
    const int m = next_rows<S>(d.rows - r);
    with_rows<(N > 4 ? 1 : S::kTileRows)>(m, [&]<int M>() {
      typename S::V acc[M][N];
      clear<S>(acc);
      for (int i = 0; i < d.k; i += kLongestBlock) {
        const int k = d.k - i < kLongestBlock ? d.k - i : kLongestBlock;
        for (int n = 0; n < N; ++n) w.floats(col + n, i, k, panel + n * kLongestBlock);
        for (int n = 0; n < N && r == 0; ++n) w.ask_for(col + N + n, i, k);  // of the next strip
        accumulate<S>(d.x + r * d.ldx + i, d.ldx, panel, kLongestBlock, k, acc);
      }
      finish<S>(acc, d.y + r * d.ldy + col, d.ldy, d.add);
    });
    r += m;
  }
}

template <class S, class Q>
void dots_of_blocks(const Dots<typename S::T>& d) {
  const DecodedRows<S, Q> w{{static_cast<const std::uint8_t*>(d.w), d.ldw}};
  if (d.rows > S::kTileRows) {  // each row of w is decoded once
    if (d.k <= kLongK) return dots_panels<S>(d, w);
    return dots_blocks<S>(d, w);
  }
  int c = 0;
  if (d.rows == 1)
    for (; c + 8 <= d.cols; c += 8) decoded_strip<S, 8, Q>(d, w, c);
  for (; c + 4 <= d.cols; c += 4) decoded_strip<S, 4, Q>(d, w, c);
  for (; c < d.cols; ++c) decoded_strip<S, 1, Q>(d, w, c);
}

template <class S>
void dots(const Dots<typename S::T>& d) {
  switch (d.w_type) {
    case DType::f32:
      return dots_of<S, float>(d);
    case DType::f64:
      return dots_of<S, double>(d);
    case DType::f16:
      return dots_of<S, Half>(d);
    case DType::bf16:
      return dots_of<S, Bfloat>(d);
    default:
      with_block(d.w_type, [&]<class Q>(Q) { dots_of_blocks<S, Q>(d); });
  }
}

}  // namespace
}  // namespace kvscope::cpu::KVSCOPE_ISA
