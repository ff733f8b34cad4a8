// SPDX-License-Identifier: Apache-2.0
// Causal attention of many query rows. Two kernels: one makes the outputs in one pass over the slots (running maximum and sum,
// arXiv:2205.14135), the other, only where somebody asks, makes the probabilities again from the maxima and sums of the first and adds them
// up column by column, rows in order. Tiles begin at slot 0, 32, ...: a row's result depends neither on the other rows nor on where the
// prompt was cut.
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/segments.h"

namespace kvscope::cuda {

namespace {

constexpr int kThreads = 128, kRows = 32, kSlots = kColumnTile, kLine = kSlots + 1;
static_assert(kSlots == 32);

/// Numbers of a row of a tile in shared memory: four more than a multiple of four, so that 8 rows read at once use all banks.
__host__ __device__ inline int line_of(int d) { return (d + 3) / 4 * 4 + 4; }

/// Rows of d numbers into a tile [32, line_of(d)], zeros behind each row and for rows that are not there.
template <class T, class Row>
__device__ inline void fill_tile(float* tile, int d, const Row& row_of) {
  const int padded = (d + 3) / 4 * 4;
  for (int i = static_cast<int>(threadIdx.x); i < 32 * padded; i += kThreads) {
    const int r = i / padded, c = i % padded;
    const T* row = row_of(r);
    tile[r * line_of(d) + c] = row && c < d ? to_float(row[c]) : 0.0f;
  }
}

/// dots[i][x] = q row 4 (t / 16) + i times k row (t % 16) + 16 x.
__device__ inline void multiply_tiles(const float* q, const float* k, int d, float (&dots)[4][2]) {
  const int t = static_cast<int>(threadIdx.x), line = line_of(d);
#pragma unroll
  for (int i = 0; i < 4; ++i) dots[i][0] = dots[i][1] = 0;
  for (int c = 0; c < d; c += 4) {
    Pack<float, 4> a[4], b[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = load<float, 4>(q + (t / 16 * 4 + i) * line + c);
#pragma unroll
    for (int x = 0; x < 2; ++x) b[x] = load<float, 4>(k + (t % 16 + 16 * x) * line + c);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int x = 0; x < 2; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y) dots[i][x] = fmaf(a[i].x[y], b[x].x[y], dots[i][x]);
  }
}

template <class T>
__device__ inline const T* query_row(const PromptArgs& a, int head, int row) {
  return static_cast<const T*>(a.q) + (static_cast<long>(row) * a.n_heads + head) * a.d;
}

__device__ inline float scale_of(int d) { return static_cast<float>(1.0 / sqrt(static_cast<double>(d))); }

/// One block: kRows rows of one query head. kCols: columns of the output that a thread makes, t % 16 + 16 i.
template <class T, int kCols>
__global__ void __launch_bounds__(kThreads) attend_tile(PromptArgs a) {
  __shared__ const T* keys[kSlots];
  __shared__ const T* values[kSlots];
  __shared__ float weights[kRows * kLine];
  KVSCOPE_DYNAMIC_SHARED(shared);  // queries, then keys or values: two tiles
  float* const q = reinterpret_cast<float*>(shared);
  float* const kv = q + kRows * line_of(a.d);
  const int t = static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.y), kv_head = head / (a.n_heads / a.n_kv_heads);
  const int tile_row = (static_cast<int>(gridDim.x) - 1 - static_cast<int>(blockIdx.x)) * kRows;  // the longest rows first
  const int rows = min(kRows, a.rows - tile_row), last = a.first + tile_row + rows - 1;
  const Segment* const segments = a.segments + a.first_segment[kv_head];
  const int n_segments = a.first_segment[kv_head + 1] - a.first_segment[kv_head];
  fill_tile<T>(q, a.d, [&](int r) { return r < rows ? query_row<T>(a, head, tile_row + r) : nullptr; });

  float top[4], sum[4], out[4][kCols];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    top[i] = -INFINITY;
    sum[i] = 0;
#pragma unroll
    for (int c = 0; c < kCols; ++c) out[i][c] = 0;
  }
  for (int begin = 0; begin <= last; begin += kSlots) {
    if (t < kSlots) {
      keys[t] = values[t] = nullptr;
      if (begin + t <= last) {
        const Segment& s = segment_of(segments, n_segments, begin + t);
        keys[t] = static_cast<const T*>(s.k) + row_of(s, s.key_rows, begin + t) * a.d;
        values[t] = static_cast<const T*>(s.v) + row_of(s, s.value_rows, begin + t) * a.d;
      }
    }
    __syncthreads();
    fill_tile<T>(kv, a.d, [&](int r) { return keys[r]; });
    __syncthreads();
    float z[4][2];
    multiply_tiles(q, kv, a.d, z);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = t / 16 * 4 + i;
      float largest = -INFINITY;
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const bool seen = row < rows && begin + t % 16 + 16 * x <= a.first + tile_row + row;
        z[i][x] = seen ? z[i][x] * scale_of(a.d) : -INFINITY;
        largest = fmaxf(largest, z[i][x]);
      }
      largest = fmaxf(top[i], max_over_lanes(largest, 16));
      const float shrink = top[i] == -INFINITY ? 0.0f : expf(top[i] - largest);
      float part = 0;
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const float e = z[i][x] == -INFINITY ? 0.0f : expf(z[i][x] - largest);
        weights[row * kLine + t % 16 + 16 * x] = e;
        part += e;
      }
      sum[i] = fmaf(sum[i], shrink, sum_over_lanes(part, 16));
      top[i] = largest;
#pragma unroll
      for (int c = 0; c < kCols; ++c) out[i][c] *= shrink;
    }
    __syncthreads();
    fill_tile<T>(kv, a.d, [&](int r) { return values[r]; });
    __syncthreads();
    for (int j = 0; j < kSlots; ++j) {
      float w[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) w[i] = weights[(t / 16 * 4 + i) * kLine + j];
#pragma unroll
      for (int c = 0; c < kCols; ++c) {
        const int column = t % 16 + 16 * c;
        const float v = column < a.d ? kv[j * line_of(a.d) + column] : 0.0f;
#pragma unroll
        for (int i = 0; i < 4; ++i) out[i][c] = fmaf(w[i], v, out[i][c]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = t / 16 * 4 + i;
    if (row >= rows) continue;
    T* to = static_cast<T*>(a.out) + (static_cast<long>(tile_row + row) * a.n_heads + head) * a.d;
#pragma unroll
    for (int c = 0; c < kCols; ++c)
      if (t % 16 + 16 * c < a.d) to[t % 16 + 16 * c] = from_float<T>(out[i][c] / sum[i]);
    if (t % 16 != 0) continue;
    a.tops[static_cast<long>(head) * a.rows + tile_row + row] = top[i];
    a.sums[static_cast<long>(head) * a.rows + tile_row + row] = sum[i];
  }
}

/// Adds the rows of one tile to the sums of column j, which nobody else touches. tile, largest [kRows, kLine].
__device__ inline void add_rows(const ColumnWant& want, const PromptArgs& a, int kv_head, int j, int first_row, int rows,
                                const double* tile, const double* largest) {
  const long all = a.first + a.rows, at = kv_head * all + j;
  const auto abar = [&](int r) { return (want.largest ? largest : tile)[r * kLine] * want.share; };
  if (want.sum) {
    double sum = want.sum[at];
    for (int r = 0; r < rows; ++r) sum += abar(r);
    want.sum[at] = sum;
  }
  if (want.sum_sq) {
    double sum = want.sum_sq[at];
    for (int r = 0; r < rows; ++r) sum += abar(r) * abar(r);
    want.sum_sq[at] = sum;
  }
  for (int x = 0; x < want.n_decayed; ++x) {
    double* const place = want.decayed + static_cast<long>(x) * a.n_kv_heads * all + at;
    double sum = *place;
    for (int r = 0; r < rows; ++r) sum = want.lambdas[x] * sum + abar(r);
    *place = sum;
  }
  const int first_hit = a.rows - want.hit_rows;
  const long words = (want.hit_rows + 63) / 64;
  for (int r = 0; r < rows && want.hit_rows > 0; ++r) {
    const int bit = first_row + r - first_hit;
    if (bit >= 0 && abar(r) >= 1.0 / (a.first + first_row + r + 1))
      want.hits[(kv_head * words + bit / 64) * all + j] |= std::uint64_t{1} << (bit % 64);
  }
}

/// One block: kSlots columns of one KV head, all rows.
template <class T>
__global__ void __launch_bounds__(kThreads) sum_tile_columns(ColumnArgs c) {
  __shared__ const T* keys[kSlots];
  __shared__ double tile[kRows * kLine];
  __shared__ double largest[kRows * kLine];
  KVSCOPE_DYNAMIC_SHARED(shared);
  const PromptArgs& a = c.prompt;
  float* const q = reinterpret_cast<float*>(shared);
  float* const k = q + kRows * line_of(a.d);
  const int t = static_cast<int>(threadIdx.x), kv_head = static_cast<int>(blockIdx.y), group = a.n_heads / a.n_kv_heads;
  const int begin = static_cast<int>(blockIdx.x) * kSlots, all = a.first + a.rows;
  if (t < kSlots) {
    keys[t] = nullptr;
    if (begin + t < all) {
      const Segment& s =
          segment_of(a.segments + a.first_segment[kv_head], a.first_segment[kv_head + 1] - a.first_segment[kv_head], begin + t);
      keys[t] = static_cast<const T*>(s.k) + row_of(s, s.key_rows, begin + t) * a.d;
    }
  }
  __syncthreads();
  fill_tile<T>(k, a.d, [&](int r) { return keys[r]; });
  double outside[kMostOutside] = {};

  for (int tile_row = c.row_begin; tile_row < a.rows; tile_row += kRows) {
    const int rows = min(kRows, a.rows - tile_row);
    double abar[4][2] = {};
    double most[4][2] = {};
    for (int g = 0; g < group; ++g) {
      const int head = kv_head * group + g;
      __syncthreads();  // nobody reads the last queries or sums any more
      fill_tile<T>(q, a.d, [&](int r) { return r < rows ? query_row<T>(a, head, tile_row + r) : nullptr; });
      __syncthreads();
      float z[4][2];
      multiply_tiles(q, k, a.d, z);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = tile_row + t / 16 * 4 + i, seen = a.first + row + 1;
        if (row >= a.rows) continue;
        const float top = a.tops[static_cast<long>(head) * a.rows + row], sum = a.sums[static_cast<long>(head) * a.rows + row];
        const double factor = 1.0 / static_cast<double>(sum);  // in double: equal shares must reach the threshold of a hit
#pragma unroll
        for (int x = 0; x < 2; ++x) {
          const int j = begin + t % 16 + 16 * x;
          if (j >= all) continue;
          const float logit = z[i][x] * scale_of(a.d), e = j < seen ? expf(logit - top) : 0.0f;
          const double p = static_cast<double>(e) * factor;
          abar[i][x] = fma(static_cast<double>(e), factor, abar[i][x]);
          most[i][x] = p > most[i][x] || p != p ? p : most[i][x];  // NaN stays
          for (int o = 0; o < c.n_outside; ++o) {
            const int low = min(c.outside[o].sinks, seen);
            if (j >= low && j < max(low, seen - c.outside[o].recent)) outside[o] += p;
          }
          const int p_row = row - (a.rows - c.probability_rows), z_row = row - (a.rows - c.logit_rows);
          if (p_row >= 0 && c.probability_rows > 0)
            static_cast<T*>(c.probabilities)[(static_cast<long>(head) * c.probability_rows + p_row) * all + j] = from_float<T>(e / sum);
          if (z_row >= 0 && c.logit_rows > 0)
            static_cast<T*>(c.logits)[(static_cast<long>(head) * c.logit_rows + z_row) * all + j] =
                from_float<T>(j < seen ? logit : -INFINITY);
        }
      }
    }
    if (c.n_wants == 0) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        tile[(t / 16 * 4 + i) * kLine + t % 16 + 16 * x] = abar[i][x];
        largest[(t / 16 * 4 + i) * kLine + t % 16 + 16 * x] = most[i][x];
      }
    __syncthreads();
    const int column = t % 32;
    for (int w = t / 32; w < c.n_wants && begin + column < all; w += kThreads / 32)
      add_rows(c.wants[w], a, kv_head, begin + column, tile_row, rows, tile + column, largest + column);
  }

  __syncthreads();
  for (int o = 0; o < c.n_outside; ++o) {
    const double of_warp = sum_over_lanes(outside[o]);
    if (t % 32 == 0) tile[t / 32] = of_warp;
    __syncthreads();
    if (t == 0)
      c.outside_sums[(static_cast<long>(kv_head) * gridDim.x + blockIdx.x) * c.n_outside + o] = (tile[0] + tile[1]) + (tile[2] + tile[3]);
    __syncthreads();
  }
}

std::size_t two_tiles(int d) { return sizeof(float) * 2 * 32 * static_cast<std::size_t>(line_of(d)); }

}  // namespace

void prompt_attention(Work& work, DType type, const PromptArgs& a) {
  if (a.table != 0) return prompt_attention_tiles(work, type, a);
  const dim3 grid(blocks_for(a.rows, kRows), static_cast<unsigned>(a.n_heads));
  with_type(type, [&](auto t) {
    using T = decltype(t);
    const auto kernel = a.d <= 128 ? attend_tile<T, 8> : attend_tile<T, 16>;
    launch("attention of a prompt", kernel, grid, kThreads, two_tiles(a.d), work, a);
  });
}

void prompt_columns(Work& work, DType type, const ColumnArgs& c) {
  if (c.prompt.table != 0) return prompt_columns_tiles(work, type, c);
  const dim3 grid(blocks_for(c.prompt.first + c.prompt.rows, kSlots), static_cast<unsigned>(c.prompt.n_kv_heads));
  with_type(type, [&](auto t) {
    launch("sums over a prompt's attention", sum_tile_columns<decltype(t)>, grid, kThreads, two_tiles(c.prompt.d), work, c);
  });
}

}  // namespace kvscope::cuda
