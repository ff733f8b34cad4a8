// SPDX-License-Identifier: Apache-2.0
// Products with weight matrices for few rows: limited by how fast the weights can be read. A warp makes kOut results of kRows rows, so that
// what it loads of x serves several rows of w, and has kAhead packs of each row under way: memory answers after some 700 ns, and a matrix
// of 4,096 rows gives a multiprocessor only 15 warps. Lane l takes the packs l, l + 32, ... of a row; then lanes are added in halves: the
// order depends on the length of the row alone.
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"

namespace kvscope::cuda {

namespace {

constexpr int kWarps = 4;

template <class T, class W>
struct Matrices {
  const T* x;
  const W* w;
  long ldx, ldw, ldy;
  int rows, out, k;
  bool add, y_is_float;
  short no_padding;
  void* y;
};

template <class T, class W, int kRows, int kOut, int kPack, int kAhead>
__global__ void __launch_bounds__(kWarps * 32) skinny(Matrices<T, W> m) {
  constexpr int kXPack = kPack < kWide<T> ? kPack : kWide<T>;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int first_row = static_cast<int>(blockIdx.x) * kRows, first_out = (static_cast<int>(blockIdx.y) * kWarps + warp) * kOut;
  if (first_out >= m.out) return;
  const int packs = m.k / kPack;
  Pack<W, kPack> raw[kAhead][kOut];
  const auto load_packs = [&](int first) {
#pragma unroll
    for (int a = 0; a < kAhead; ++a)
#pragma unroll
      for (int o = 0; o < kOut; ++o) {  // the last warp repeats its last row rather than read behind the matrix
        const int row = first_out + o < m.out ? first_out + o : m.out - 1, c = first + 32 * a;
        if (c < packs) raw[a][o] = load_once<W, kPack>(m.w + row * m.ldw + static_cast<long>(c) * kPack);
      }
  };
  float sum[kRows][kOut] = {};
  const auto add_pack = [&](const Pack<W, kPack>(&weights)[kOut], int c) {
#pragma unroll
    for (int part = 0; part < kPack; part += kXPack) {
      float w[kOut][kXPack];
#pragma unroll
      for (int o = 0; o < kOut; ++o)
#pragma unroll
        for (int i = 0; i < kXPack; ++i) w[o][i] = to_float(weights[o].x[part + i]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (first_row + r >= m.rows) continue;
        float x[kXPack];
        unpack(load<T, kXPack>(m.x + (first_row + r) * m.ldx + static_cast<long>(c) * kPack + part), x);
#pragma unroll
        for (int o = 0; o < kOut; ++o)
#pragma unroll
          for (int i = 0; i < kXPack; ++i) sum[r][o] = fmaf(x[i], w[o][i], sum[r][o]);
      }
    }
  };
  for (int first = lane; first < packs; first += 32 * kAhead) {
    load_packs(first);
#pragma unroll
    for (int a = 0; a < kAhead; ++a)
      if (first + 32 * a < packs) add_pack(raw[a], first + 32 * a);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int o = 0; o < kOut; ++o) {
      const float total = sum_over_lanes(sum[r][o]);
      if (lane != 0 || first_row + r >= m.rows || first_out + o >= m.out) continue;
      const long at = (first_row + r) * m.ldy + first_out + o;
      if (m.y_is_float) {
        float* y = static_cast<float*>(m.y) + at;
        *y = m.add ? *y + total : total;
      } else {
        T* y = static_cast<T*>(m.y) + at;
        *y = from_float<T>(m.add ? to_float(*y) + total : total);
      }
    }
  }
}

template <class T, class W, int kRows, int kOut, int kPack, int kAhead>
void start(Work& work, const Matrices<T, W>& m) {
  const dim3 grid(blocks_for(m.rows, kRows), blocks_for(m.out, kWarps * kOut));
  launch("linear of few rows", skinny<T, W, kRows, kOut, kPack, kAhead>, grid, kWarps * 32, 0, work, m);
}

bool aligned(const void* p, long stride, std::size_t element) {
  return reinterpret_cast<std::uintptr_t>(p) % 16 == 0 && static_cast<std::size_t>(stride) * element % 16 == 0;
}

constexpr int kNormRows = 4, kNormThreads = 256;

/// One block: kNormRows rows of one head. Warp w takes the outputs w, w + 8, ...; the warps are added in order.
template <class T, class W>
__global__ void wo_l1_rows(const T* x, const W* w, int out, int n_heads, int d, int rows, double* result) {
  __shared__ double of_warp[kNormThreads / 32][kNormRows];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, head = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(blockIdx.x) * kNormRows;
  const long stride = static_cast<long>(n_heads) * d;
  double norms[kNormRows] = {};
  for (int o = warp; o < out; o += kNormThreads / 32) {
    const W* row = w + o * stride + static_cast<long>(head) * d;
    float sum[kNormRows] = {};
    for (int i = lane; i < d; i += 32) {
      const float weight = to_float(row[i]);
#pragma unroll
      for (int r = 0; r < kNormRows; ++r)
        if (first + r < rows) sum[r] = fmaf(to_float(x[(first + r) * stride + static_cast<long>(head) * d + i]), weight, sum[r]);
    }
#pragma unroll
    for (int r = 0; r < kNormRows; ++r) norms[r] += static_cast<double>(fabsf(sum_over_lanes(sum[r])));
  }
  if (lane == 0)
    for (int r = 0; r < kNormRows; ++r) of_warp[warp][r] = norms[r];
  __syncthreads();
  const int r = static_cast<int>(threadIdx.x);
  if (r >= kNormRows || first + r >= rows) return;
  double total = 0;
  for (int v = 0; v < kNormThreads / 32; ++v) total += of_warp[v][r];
  result[static_cast<long>(first + r) * n_heads + head] = total;
}

}  // namespace

void skinny_linear(Work& work, DType type, const SkinnyArgs& a) {
  with_type(type, [&](auto t) {
    with_type(a.w.type, [&](auto v) {
      using T = decltype(t);
      using W = decltype(v);
      const Matrices<T, W> m{static_cast<const T*>(a.x),
                             static_cast<const W*>(a.w.data),
                             a.ldx,
                             a.ldw,
                             a.ldy,
                             a.rows,
                             a.out,
                             a.k,
                             a.add,
                             a.y_is_float,
                             0,
                             a.y};
      if constexpr (std::is_same_v<T, W> || std::is_same_v<T, float>) {  // other mixtures occur in no checkpoint that is worth the speed
        if (a.k % kWide<W> == 0 && aligned(a.w.data, a.ldw, sizeof(W)) && aligned(a.x, a.ldx, sizeof(T))) {
          if (a.rows == 1) return start<T, W, 1, 2, kWide<W>, 4>(work, m);
          if (a.rows <= 4) return start<T, W, 4, 2, kWide<W>, 2>(work, m);
          return start<T, W, 8, 4, kWide<W>, 1>(work, m);
        }
      }
      start<T, W, 4, 1, 1, 1>(work, m);
    });
  });
}

void wo_l1(Work& work, DType type, const void* x, Numbers w, int out, int n_heads, int d, int rows, double* result) {
  with_type(type, [&](auto t) {
    with_type(w.type, [&](auto v) {
      using T = decltype(t);
      using W = decltype(v);
      launch("wo_l1", wo_l1_rows<T, W>, dim3(blocks_for(rows, kNormRows), static_cast<unsigned>(n_heads)), kNormThreads, 0, work,
             static_cast<const T*>(x), static_cast<const W*>(w.data), out, n_heads, d, rows, result);
    });
  });
}

}  // namespace kvscope::cuda
