// SPDX-License-Identifier: Apache-2.0
// What prompt.cu does, for 16-bit numbers on tensor cores. Logits are made twice, as there: once for the outputs (arXiv:2307.08691), once
// for what is asked of the probabilities, from the maxima and sums of the first. Tiles begin at slot 0, kSlots, ... and every sum has one
// order: a row's result depends neither on the other rows nor on where the prompt was cut.
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/segments.h"
#include "backend/cuda/kernels/tensor_cores.h"

#if defined(__CUDACC__) && !defined(KVSCOPE_TENSOR_CORES)
#pragma nv_diag_suppress 177  // functions of kernels that are empty for an older device
#endif

namespace kvscope::cuda {

namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr int kColumnSlots = 128, kColumnRows = 32;  // of a block, and of one round of its loop
static_assert(kColumnSlots == kWarps * kColumnTile && kPromptTable % kColumnSlots == 0);

/// Where in a tile, whose rows have kWidth numbers, the c-th 16 bytes of row r are: those of 8 neighbouring rows, which are loaded at once,
/// lie in different banks. Flipping bits of c flips the same of the place, 16 times as high; 8 rows further on is just as much further.
template <int kWidth>
__device__ inline int place_in_tile(int r, int c) {
  static_assert(kWidth % 64 == 0);
  return r * kWidth * 2 + (c ^ (r & 7)) * 16;
}

/// Starts copies of d numbers at row_of(r), r < kRows, to a tile. d: a multiple of 8.
template <int kWidth, int kRows, class Row>
__device__ inline void fetch_rows(SharedPlace tile, int d, const Row& row_of) {
  constexpr int kPieces = kWidth / 8, kAtOnce = kThreads / kPieces;
  static_assert(kRows % kAtOnce == 0);
  const int t = static_cast<int>(threadIdx.x), c = t % kPieces;
  if (8 * c >= d) return;
#pragma unroll
  for (int i = 0; i < kRows / kAtOnce; ++i) {
    const int r = t / kPieces + i * kAtOnce;
    const void* const row = row_of(r);
    copy_async(tile + place_in_tile<kWidth>(r, c), static_cast<const unsigned char*>(row) + 16 * c);
  }
}

/// What no copy writes to: behind the d-th number of every row.
__device__ inline void clear(unsigned char* shared, int bytes) {
  for (int i = static_cast<int>(threadIdx.x) * 16; i < bytes; i += kThreads * 16) *reinterpret_cast<uint4*>(shared + i) = uint4{0, 0, 0, 0};
}

/// z[m][n]: rows 16 m of one tile times rows 8 n of another, as multiply_add() has it. load_left(step, m, out): 16 numbers of rows 16 m.
template <class T, int kWidth, int kLeft, int kRight, class Left>
__device__ inline void multiply_rows(const Left& load_left, SharedPlace right, float (&z)[kLeft][kRight / 8][4]) {
  const int l = static_cast<int>(threadIdx.x) % 32, place = place_in_tile<kWidth>(l / 16 * 8 + l % 8, l / 8 % 2);
#pragma unroll
  for (int m = 0; m < kLeft; ++m)
#pragma unroll
    for (int n = 0; n < kRight / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) z[m][n][i] = 0;
#pragma unroll
  for (int step = 0; step < kWidth / 16; ++step) {
    std::uint32_t a[kLeft][4];
#pragma unroll
    for (int m = 0; m < kLeft; ++m) load_left(step, m, a[m]);
#pragma unroll
    for (int n = 0; n < kRight / 16; ++n) {
      std::uint32_t b[4];
      load_matrices(right + 16 * n * kWidth * 2 + (place ^ (step * 32)), b);
#pragma unroll
      for (int m = 0; m < kLeft; ++m) {
        multiply_add<T>(z[m][2 * n], a[m], b[0], b[1]);
        multiply_add<T>(z[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// 16 numbers of rows 16 m of a tile, for multiply_rows().
template <int kWidth>
struct RowsOfTile {
  SharedPlace tile;
  int place;
  __device__ explicit RowsOfTile(SharedPlace of) : tile(of) {
    const int l = static_cast<int>(threadIdx.x) % 32;
    place = place_in_tile<kWidth>(l % 16, l / 16);
  }
  __device__ void operator()(int step, int m, std::uint32_t (&out)[4]) const {
    load_matrices(tile + 16 * m * kWidth * 2 + (place ^ (step * 32)), out);
  }
};

/// Numbers to multiply logits with so that 2^x is e^logit.
__device__ inline float factor_of(int d) { return static_cast<float>(1.4426950408889634 / sqrt(static_cast<double>(d))); }

template <class T>
__device__ inline const T* query_row(const PromptArgs& a, int head, int row) {
  return static_cast<const T*>(a.q) + (static_cast<long>(row) * a.n_heads + head) * a.d;
}

/// keys, values [n_kv_heads, table]: where the rows of every slot are; behind the last one, that one again.
__global__ void __launch_bounds__(kThreads) find_rows(PromptArgs a, int row_bytes) {
  const int at = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.y);
  if (at >= a.table) return;
  const int j = min(at, a.first + a.rows - 1);
  const Segment& s = segment_of(a.segments + a.first_segment[head], a.first_segment[head + 1] - a.first_segment[head], j);
  const long place = static_cast<long>(head) * a.table + at;
  a.keys[place] = static_cast<const char*>(s.k) + row_of(s, s.key_rows, j) * row_bytes;
  a.values[place] = static_cast<const char*>(s.v) + row_of(s, s.value_rows, j) * row_bytes;
}

/// One block: kRows rows of one query head; a warp: 16 kTiles of them.
template <int kWidth>
struct Shape {
  static constexpr int kTiles = kWidth <= 128 ? 2 : 1, kRows = 16 * kTiles * kWarps, kSlots = kWidth <= 128 ? 64 : 32;
  static constexpr int kQueryBytes = kRows * kWidth * 2, kSlotBytes = kSlots * kWidth * 2;  // then keys, values; then again
  static constexpr int kBytes = kQueryBytes + 4 * kSlotBytes;
};

/// What a warp knows of its rows: row 16 m + 8 h + l / 4 is [m][h] of lane l, whose share of the sum it has.
template <int kWidth>
struct Running {
  static constexpr int kTiles = Shape<kWidth>::kTiles;
  float top[kTiles][2], sum[kTiles][2];  // of 2^x
  float out[kTiles][kWidth / 8][4];
};

/// Logits become weights, 2^x less the largest so far; what is there shrinks accordingly. seen: slots of this tile that row 0 sees, each
/// row one more than the one before.
template <int kWidth>
__device__ inline void weigh(float (&z)[Shape<kWidth>::kTiles][Shape<kWidth>::kSlots / 8][4], int seen, float factor, Running<kWidth>& r) {
  using S = Shape<kWidth>;
  const int l = static_cast<int>(threadIdx.x) % 32;
  const bool all_seen = seen >= S::kSlots;
#pragma unroll
  for (int m = 0; m < S::kTiles; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int its = seen + 16 * m + 8 * h + l / 4 - 2 * (l % 4);  // places 8 n + x below this are seen
      float largest = r.top[m][h];
#pragma unroll
      for (int n = 0; n < S::kSlots / 8; ++n)
#pragma unroll
        for (int x = 0; x < 2; ++x) {
          float& at = z[m][n][2 * h + x];
          at = all_seen || 8 * n + x < its ? at * factor : -INFINITY;
          largest = fmaxf(largest, at);
        }
      largest = max_over_lanes(largest, 4);
      const float shrink = r.top[m][h] == -INFINITY ? 0.0f : power_of_two(r.top[m][h] - largest);
      float part = 0;
#pragma unroll
      for (int n = 0; n < S::kSlots / 8; ++n)
#pragma unroll
        for (int x = 0; x < 2; ++x) {
          float& at = z[m][n][2 * h + x];
          at = power_of_two(at - largest);
          part += at;
        }
      r.top[m][h] = largest;
      r.sum[m][h] = fmaf(r.sum[m][h], shrink, part);
#pragma unroll
      for (int c = 0; c < kWidth / 8; ++c)
#pragma unroll
        for (int x = 0; x < 2; ++x) r.out[m][c][2 * h + x] *= shrink;
    }
}

/// Adds the values of a tile, weighed.
template <class T, int kWidth>
__device__ inline void add_values(const float (&z)[Shape<kWidth>::kTiles][Shape<kWidth>::kSlots / 8][4], SharedPlace values,
                                  Running<kWidth>& r) {
  using S = Shape<kWidth>;
  const int l = static_cast<int>(threadIdx.x) % 32, place = place_in_tile<kWidth>(l % 16, l / 16);
#pragma unroll
  for (int step = 0; step < S::kSlots / 16; ++step) {
    std::uint32_t a[S::kTiles][4];
#pragma unroll
    for (int m = 0; m < S::kTiles; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) a[m][i] = pack<T>(z[m][2 * step + i / 2][i % 2 * 2], z[m][2 * step + i / 2][i % 2 * 2 + 1]);
#pragma unroll
    for (int c = 0; c < kWidth / 16; ++c) {
      std::uint32_t b[4];
      load_transposed(values + 16 * step * kWidth * 2 + (place ^ (c * 32)), b);
#pragma unroll
      for (int m = 0; m < S::kTiles; ++m) {
        multiply_add<T>(r.out[m][2 * c], a[m], b[0], b[1]);
        multiply_add<T>(r.out[m][2 * c + 1], a[m], b[2], b[3]);
      }
    }
  }
}

template <class T, int kWidth>
__device__ inline void write_rows(const PromptArgs& a, int head, int first_row, const Running<kWidth>& r) {
  const int l = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int m = 0; m < Shape<kWidth>::kTiles; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = first_row + 16 * m + 8 * h + l / 4;
      const float sum = sum_over_lanes(r.sum[m][h], 4), share = 1.0f / sum;
      if (row >= a.rows) continue;
      auto* const out = static_cast<std::uint16_t*>(a.out) + (static_cast<long>(row) * a.n_heads + head) * a.d + 2 * (l % 4);
#pragma unroll
      for (int c = 0; c < kWidth / 8; ++c)
        if (8 * c < a.d)
          *reinterpret_cast<std::uint32_t*>(out + 8 * c) = pack<T>(r.out[m][c][2 * h] * share, r.out[m][c][2 * h + 1] * share);
      if (l % 4 != 0) continue;
      a.tops[static_cast<long>(head) * a.rows + row] = r.top[m][h];
      a.sums[static_cast<long>(head) * a.rows + row] = sum;
    }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads, 2) attend_rows(PromptArgs a) {
#if defined(KVSCOPE_TENSOR_CORES)
  using S = Shape<kWidth>;
  __shared__ const void* rows[2][2 * S::kSlots];  // of a tile's keys, then of its values
  KVSCOPE_DYNAMIC_SHARED(shared);
  const SharedPlace q = place_of(shared), slots = q + S::kQueryBytes;
  const int t = static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.x), kv_head = head / (a.n_heads / a.n_kv_heads);
  const int tile_row = (static_cast<int>(gridDim.y) - 1 - static_cast<int>(blockIdx.y)) * S::kRows;  // the longest rows first
  const int warp_row = tile_row + t / 32 * 16 * S::kTiles;
  const int n_tiles = (a.first + min(tile_row + S::kRows, a.rows) + S::kSlots - 1) / S::kSlots;
  const int first_place = kv_head * a.table + t % S::kSlots;
  const auto row_of_tile = [&](int tile) {
    const int slot = (tile < n_tiles ? tile : n_tiles - 1) * S::kSlots;
    return t < 2 * S::kSlots ? (t < S::kSlots ? a.keys : a.values)[first_place + slot] : nullptr;
  };
  const auto keep_row = [&](int tile, const void* row) {
    if (t < 2 * S::kSlots) rows[tile % 2][t] = row;
  };
  const auto fetch = [&](int tile) {
    const SharedPlace to = slots + tile % 2 * 2 * S::kSlotBytes;
    const void* const* const from = rows[tile % 2];
    fetch_rows<kWidth, S::kSlots>(to, a.d, [from](int r) { return from[r]; });
    fetch_rows<kWidth, S::kSlots>(to + S::kSlotBytes, a.d, [from](int r) { return from[S::kSlots + r]; });
  };
  if (a.d < kWidth) clear(shared, S::kBytes);
  keep_row(0, row_of_tile(0));
  keep_row(1, row_of_tile(1));
  const void* coming = row_of_tile(2);  // on its way while a tile is in work
  __syncthreads();
  fetch_rows<kWidth, S::kRows>(q, a.d, [&](int r) { return query_row<T>(a, head, tile_row + r < a.rows ? tile_row + r : a.rows - 1); });
  fetch(0);

  Running<kWidth> run;
#pragma unroll
  for (int m = 0; m < S::kTiles; ++m) {
    for (int h = 0; h < 2; ++h) {
      run.top[m][h] = -INFINITY;
      run.sum[m][h] = 0;
    }
#pragma unroll
    for (int c = 0; c < kWidth / 8; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i) run.out[m][c][i] = 0;
  }
  const RowsOfTile<kWidth> queries(q + t / 32 * 16 * S::kTiles * kWidth * 2);
  const float factor = factor_of(a.d);
  for (int tile = 0; tile < n_tiles; ++tile) {
    wait_for_copies();
    __syncthreads();  // this tile is there, and nobody reads the one before it any more
    keep_row(tile + 2, coming);
    if (tile + 1 < n_tiles) fetch(tile + 1);
    coming = row_of_tile(tile + 3);
    const int seen = a.first + warp_row + 1 - tile * S::kSlots;
    if (seen + 16 * S::kTiles <= 1) continue;  // no row of this warp sees any of it
    const SharedPlace keys = slots + tile % 2 * 2 * S::kSlotBytes;
    float z[S::kTiles][S::kSlots / 8][4];
    multiply_rows<T, kWidth, S::kTiles, S::kSlots>(queries, keys, z);
    weigh<kWidth>(z, seen, factor, run);
    add_values<T, kWidth>(z, keys + S::kSlotBytes, run);
  }
  write_rows<T, kWidth>(a, head, warp_row, run);
#endif
}

/// Shared memory of sum_columns().
template <int kWidth>
struct ColumnShape {
  static constexpr int kKeyBytes = kColumnSlots * kWidth * 2, kQueryBytes = kColumnRows * kWidth * 2;  // keys, queries, queries
  static int bytes(int n_sums, int n_lambdas) {
    return kKeyBytes + 2 * kQueryBytes + n_sums * kColumnSlots * static_cast<int>(sizeof(double)) +
           n_lambdas * kColumnRows * static_cast<int>(sizeof(float));
  }
};

/// A warp's numbers of one round: slot 16 m + 8 h + l / 4 and row 8 n + 2 (l % 4) + x are [m][n][2 h + x] of lane l.
using Round = float[2][kColumnRows / 8][4];

/// Where lane l's share of a sum over rows ends up: the four lanes that have numbers of the same four slots get one slot each.
__device__ inline int own_slot() {
  const int l = static_cast<int>(threadIdx.x) % 32;
  return l % 4 / 2 * 16 + l % 2 * 8 + l / 4;
}

/// of_slot[2 m + h], added up over those four lanes: that of own_slot().
template <class X>
__device__ inline X add_own(const X (&of_slot)[4]) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  const bool high = t / 2 != 0, odd = t % 2 != 0;
  X first = high ? of_slot[2] : of_slot[0], second = high ? of_slot[3] : of_slot[1];
  first += __shfl_xor_sync(0xffffffffu, high ? of_slot[0] : of_slot[2], 2);
  second += __shfl_xor_sync(0xffffffffu, high ? of_slot[1] : of_slot[3], 2);
  return (odd ? second : first) + __shfl_xor_sync(0xffffffffu, odd ? first : second, 1);
}

/// part(number, row of the round), added up over the rows for own_slot().
template <class X, class Part>
__device__ inline X add_rows(const Part& part) {
  const int l = static_cast<int>(threadIdx.x) % 32;
  X of_slot[4] = {};
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int n = 0; n < kColumnRows / 8; ++n)
#pragma unroll
        for (int x = 0; x < 2; ++x) of_slot[2 * m + h] += part(m, n, 2 * h + x, 8 * n + 2 * (l % 4) + x);
  return add_own(of_slot);
}

/// What a round is about: kColumnRows rows from first_row on, 32 slots of a warp from `slot` on.
struct Place {
  int kv_head, slot, first_row, rows;
};

/// Which rows of the round hit own_slot(), written where hits are kept. value: of the group.
template <class Value>
__device__ inline void add_hits(const ColumnWant& want, const PromptArgs& a, const Place& at, const Value& value) {
  int first_bit = at.first_row - (a.rows - want.hit_rows);
  if (first_bit + kColumnRows <= 0) return;
  std::uint32_t bits = add_rows<std::uint32_t>([&](int m, int n, int i, int r) {
    // an equal share of an exact sum reaches this: both are 1 / n, rounded once
    const bool hit =
        r < at.rows && value(m, n, i) * static_cast<float>(want.share) >= 1.0f / static_cast<float>(a.first + at.first_row + r + 1);
    return hit ? 1u << r : 0u;
  });
  if (first_bit < 0) {
    bits >>= -first_bit;
    first_bit = 0;
  }
  const int all = a.first + a.rows, j = at.slot + own_slot(), shift = first_bit % 64;
  if (j >= all || bits == 0) return;
  const long words = (want.hit_rows + 63) / 64;
  std::uint64_t* const word = want.hits + (at.kv_head * words + first_bit / 64) * all + j;
  *word |= std::uint64_t{bits} << shift;
  if (const std::uint64_t more = shift > 32 ? std::uint64_t{bits} >> (64 - shift) : 0; more != 0) word[all] |= more;
}

/// Adds a round to one way's sums. sums: those of own_slot(), one array of a block after the other; powers [n_decayed, kColumnRows].
template <class Value>
__device__ inline void add_round(const ColumnWant& want, const PromptArgs& a, const Place& at, double*& sums, const float*& powers,
                                 const Value& value) {
  if (want.sum) {
    *sums += add_rows<float>([&](int m, int n, int i, int) { return value(m, n, i); }) * want.share;
    sums += kColumnSlots;
  }
  if (want.sum_sq) {
    *sums += add_rows<float>([&](int m, int n, int i, int) { return value(m, n, i) * value(m, n, i); }) * (want.share * want.share);
    sums += kColumnSlots;
  }
  for (int x = 0; x < want.n_decayed; ++x) {
    const double here = add_rows<float>([&](int m, int n, int i, int r) { return powers[max(at.rows - 1 - r, 0)] * value(m, n, i); });
    double keep = want.lambdas[x];
    if (at.rows == kColumnRows) {
      for (int i = 1; i < kColumnRows; i *= 2) keep *= keep;
    } else {
      for (int i = 1; i < at.rows; ++i) keep *= want.lambdas[x];
    }
    *sums = keep * *sums + here * want.share;
    sums += kColumnSlots;
    powers += kColumnRows;
  }
  if (want.hit_rows > 0) add_hits(want, a, at, value);
}

/// What the rows of a round gave outside of the columns that stay, for this lane.
__device__ inline float outside_of(const Round& p, const OutsideWant& want, const PromptArgs& a, const Place& at) {
  const int l = static_cast<int>(threadIdx.x) % 32;
  float sum = 0;
#pragma unroll
  for (int n = 0; n < kColumnRows / 8; ++n)
#pragma unroll
    for (int x = 0; x < 2; ++x) {
      const int seen = a.first + at.first_row + 8 * n + 2 * (l % 4) + x + 1, low = min(want.sinks, seen),
                high = max(low, seen - want.recent);
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int j = at.slot + 16 * m + 8 * h + l / 4;
          if (j >= low && j < high) sum += p[m][n][2 * h + x];
        }
    }
  return sum;
}

/// The rows that somebody wants as they are. z: products; p: probabilities.
template <class T>
__device__ inline void write_round(const ColumnArgs& c, int head, const Place& at, const Round& z, const Round& p) {
  const PromptArgs& a = c.prompt;
  const int l = static_cast<int>(threadIdx.x) % 32, all = a.first + a.rows;
  const float scale = static_cast<float>(1.0 / sqrt(static_cast<double>(a.d)));
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int n = 0; n < kColumnRows / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = at.slot + 16 * m + i / 2 * 8 + l / 4, r = 8 * n + 2 * (l % 4) + i % 2, row = at.first_row + r;
        if (r >= at.rows || j >= all) continue;
        const int p_row = row - (a.rows - c.probability_rows), z_row = row - (a.rows - c.logit_rows);
        if (p_row >= 0 && c.probability_rows > 0)
          static_cast<T*>(c.probabilities)[(static_cast<long>(head) * c.probability_rows + p_row) * all + j] = from_float<T>(p[m][n][i]);
        if (z_row >= 0 && c.logit_rows > 0)
          static_cast<T*>(c.logits)[(static_cast<long>(head) * c.logit_rows + z_row) * all + j] =
              from_float<T>(j <= a.first + row ? z[m][n][i] * scale : -INFINITY);
      }
}

/// The sums of own_slot(), to where they are wanted.
__device__ inline void write_sums(const ColumnArgs& c, const Place& at, const double* sums) {
  const long all = c.prompt.first + c.prompt.rows, j = at.slot + own_slot(), place = at.kv_head * all + j;
  if (j >= all) return;
  const auto next = [&](double* to) {
    to[place] = *sums;
    sums += kColumnSlots;
  };
  for (int w = 0; w < c.n_wants; ++w) {
    const ColumnWant& want = c.wants[w];
    if (want.sum) next(want.sum);
    if (want.sum_sq) next(want.sum_sq);
    for (int x = 0; x < want.n_decayed; ++x) next(want.decayed + static_cast<long>(x) * c.prompt.n_kv_heads * all);
  }
}

/// powers [n_lambdas, kColumnRows] of what sums decay by; sums: zero.
__device__ inline void prepare_sums(const ColumnArgs& c, double* sums, float* powers) {
  const int t = static_cast<int>(threadIdx.x);
  for (int i = t; i < c.n_sums * kColumnSlots; i += kThreads) sums[i] = 0;
  for (int i = t; i < c.n_lambdas * kColumnRows; i += kThreads) {
    double power = 1;
    for (int x = 0; x < i % kColumnRows; ++x) power *= c.lambdas[i / kColumnRows];
    powers[i] = static_cast<float>(power);
  }
}

/// Maximum and 1 / sum of two rows, one after the other.
using RowPair = Pack<float, 4>;

/// Products become probabilities.
__device__ inline void to_probabilities(const Round& z, const RowPair* of_rows, const PromptArgs& a, const Place& at, float factor,
                                        Round& p) {
  const int l = static_cast<int>(threadIdx.x) % 32, low = at.slot + l / 4, seen = a.first + at.first_row + 2 * (l % 4) + 1;
  const bool all_seen = at.rows == kColumnRows && at.slot + 31 <= a.first + at.first_row;
#pragma unroll
  for (int n = 0; n < kColumnRows / 8; ++n) {
    const RowPair pair = of_rows[4 * n + l % 4];
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int x = i % 2;
        const bool is_seen = all_seen || (low + 16 * m + i / 2 * 8 < seen + 8 * n + x && 8 * n + 2 * (l % 4) + x < at.rows);
        p[m][n][i] = is_seen ? power_of_two(z[m][n][i] * factor - pair.x[2 * x]) * pair.x[2 * x + 1] : 0.0f;
      }
  }
}

/// What a block of columns goes through: rounds of rows, in each of them the query heads of the group. Queries, maxima and sums of the next
/// item are on their way while one is in work.
template <class T, int kWidth>
struct Items {
  struct OfRow {
    float top, sum;
  };
  const PromptArgs& a;
  int kv_head, group, from, n;  // from: the first row
  SharedPlace queries;
  RowPair (*of_rows)[kColumnRows / 2];

  __device__ int row_of(int item) const { return from + item / group * kColumnRows; }
  __device__ int head_of(int item) const { return kv_head * group + item % group; }
  __device__ SharedPlace queries_of(int item) const { return queries + item % 2 * ColumnShape<kWidth>::kQueryBytes; }
  __device__ void fetch(int item) const {
    const int head = head_of(item), row = row_of(item);
    fetch_rows<kWidth, kColumnRows>(queries_of(item), a.d, [&](int r) { return query_row<T>(a, head, min(row + r, a.rows - 1)); });
  }
  __device__ OfRow of_row(int item) const {
    const int t = static_cast<int>(threadIdx.x), its = min(item, n - 1);
    const long place = static_cast<long>(head_of(its)) * a.rows + min(row_of(its) + t, a.rows - 1);
    return t < kColumnRows ? OfRow{a.tops[place], a.sums[place]} : OfRow{0, 1};
  }
  __device__ void keep(int item, const OfRow& row) const {
    const int t = static_cast<int>(threadIdx.x);
    if (t >= kColumnRows) return;
    of_rows[item % 2][t / 2].x[t % 2 * 2] = row.top;
    of_rows[item % 2][t / 2].x[t % 2 * 2 + 1] = 1.0f / row.sum;
  }
};

/// One more head of the group.
__device__ inline void add_head(const Round& p, bool first, Round& sum, Round& most) {
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int n = 0; n < kColumnRows / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float x = p[m][n][i];
        sum[m][n][i] = first ? x : sum[m][n][i] + x;
        most[m][n][i] = first || x > most[m][n][i] || x != x ? x : most[m][n][i];  // NaN stays
      }
}

__device__ inline void write_outside(const ColumnArgs& c, const Place& at, const double (&outside)[kMostOutside]) {
  const int tiles = (c.prompt.first + c.prompt.rows + kColumnTile - 1) / kColumnTile, tile = at.slot / kColumnTile;
#pragma unroll
  for (int o = 0; o < kMostOutside; ++o) {
    if (o >= c.n_outside) break;
    const double of_warp = sum_over_lanes(outside[o]);
    if (threadIdx.x % 32 == 0 && tile < tiles) c.outside_sums[(static_cast<long>(at.kv_head) * tiles + tile) * c.n_outside + o] = of_warp;
  }
}

/// One block: kColumnSlots columns of one KV head, all rows that see one of them. kGroup: more than one query head.
template <class T, int kWidth, bool kGroup>
__global__ void __launch_bounds__(kThreads, 2) sum_columns(ColumnArgs c) {
#if defined(KVSCOPE_TENSOR_CORES)
  using S = ColumnShape<kWidth>;
  constexpr bool kHeld = kWidth <= 128 && !kGroup;  // a warp's keys have room in its registers
  __shared__ RowPair of_rows[2][kColumnRows / 2];
  KVSCOPE_DYNAMIC_SHARED(shared);
  const PromptArgs& a = c.prompt;
  const int warp = static_cast<int>(threadIdx.x) / 32, begin = static_cast<int>(blockIdx.y) * kColumnSlots;
  const int group = kGroup ? a.n_heads / a.n_kv_heads : 1;
  const SharedPlace keys = place_of(shared);
  auto* const sums = reinterpret_cast<double*>(shared + S::kKeyBytes + 2 * S::kQueryBytes);
  auto* const powers = reinterpret_cast<float*>(sums + c.n_sums * kColumnSlots);
  // from the first row on that sees a slot of this block or is wanted as it is; rounds begin at rows 0, kColumnRows, ...
  const int written = a.rows - max(c.probability_rows, c.logit_rows);
  const int from = max(c.row_begin, min(begin - a.first, written)) / kColumnRows * kColumnRows;
  const Items<T, kWidth> items{
      a, static_cast<int>(blockIdx.x), group, from, (a.rows - from + kColumnRows - 1) / kColumnRows * group, keys + S::kKeyBytes, of_rows};
  if (a.d < kWidth) clear(shared, S::kKeyBytes + 2 * S::kQueryBytes);
  prepare_sums(c, sums, powers);
  items.keep(0, items.of_row(0));
  auto coming = items.of_row(1);
  __syncthreads();
  fetch_rows<kWidth, kColumnSlots>(keys, a.d, [&](int r) { return a.keys[static_cast<long>(items.kv_head) * a.table + begin + r]; });
  items.fetch(0);

  const RowsOfTile<kWidth> warp_keys(keys + warp * 32 * kWidth * 2);
  std::uint32_t held[kHeld ? kWidth / 16 : 1][2][4];
  const auto load_keys = [&](int step, int m, std::uint32_t(&out)[4]) {
    if constexpr (kHeld) {
#pragma unroll
      for (int i = 0; i < 4; ++i) out[i] = held[step][m][i];
    } else {
      warp_keys(step, m, out);
    }
  };
  const float factor = factor_of(a.d);
  double outside[kMostOutside] = {};
  double* const own_sums = sums + warp * 32 + own_slot();
  Place at{items.kv_head, begin + warp * 32, 0, 0};
  Round p, sum = {}, most = {};
  for (int item = 0; item < items.n; ++item) {
    wait_for_copies();
    __syncthreads();  // these queries are there, and nobody reads those before them any more
    if (item + 1 < items.n) items.fetch(item + 1);
    items.keep(item + 1, coming);
    coming = items.of_row(item + 2);
    if constexpr (kHeld) {
#pragma unroll
      for (int i = 0; item == 0 && i < kWidth / 8; ++i) warp_keys(i / 2, i % 2, held[i / 2][i % 2]);
    }
    at.first_row = items.row_of(item);
    at.rows = min(kColumnRows, a.rows - at.first_row);
    Round z;
    multiply_rows<T, kWidth, 2, kColumnRows>(load_keys, items.queries_of(item), z);
    to_probabilities(z, of_rows[item % 2], a, at, factor, p);
    if (at.first_row + at.rows > written) write_round<T>(c, items.head_of(item), at, z, p);
    if constexpr (kGroup) {
      add_head(p, item % group == 0, sum, most);
      if (item % group != group - 1) continue;
    }
    const Round& of_group = kGroup ? sum : p;
#pragma unroll
    for (int o = 0; o < kMostOutside; ++o)
      if (o < c.n_outside) outside[o] += outside_of(of_group, c.outside[o], a, at);
    double* its_sums = own_sums;
    const float* its_powers = powers;
    for (int w = 0; w < c.n_wants; ++w) {
      const bool largest = kGroup && c.wants[w].largest;
      add_round(c.wants[w], a, at, its_sums, its_powers, [&](int m, int n, int i) { return largest ? most[m][n][i] : of_group[m][n][i]; });
    }
  }
  write_sums(c, at, own_sums);
  write_outside(c, at, outside);
#endif
}

/// body(T{}, std::integral_constant of the width of tiles).
template <class Body>
void with_shape(DType type, int d, const Body& body) {
  const auto with_width = [&](auto t) {
    if (d <= 64) return body(t, std::integral_constant<int, 64>());
    if (d <= 128) return body(t, std::integral_constant<int, 128>());
    body(t, std::integral_constant<int, 256>());
  };
  if (type == DType::f16) return with_width(Half{});
  with_width(Bfloat{});
}

}  // namespace

std::size_t shared_of_tiles(int d, int n_sums, int n_lambdas) {
  std::size_t bytes = 0;
  with_shape(DType::bf16, d, [&](auto, auto width) {
    bytes = static_cast<std::size_t>(max(Shape<width.value>::kBytes, ColumnShape<width.value>::bytes(n_sums, n_lambdas)));
  });
  return bytes + sizeof(void*) * 4 * Shape<64>::kSlots;  // and what the kernels declare
}

void prompt_attention_tiles(Work& work, DType type, const PromptArgs& a) {
  launch("the rows of a prompt's slots", find_rows, dim3(blocks_for(a.table, kThreads), static_cast<unsigned>(a.n_kv_heads)), kThreads, 0,
         work, a, 2 * a.d);
  with_shape(type, a.d, [&](auto t, auto width) {
    using S = Shape<width.value>;
    launch("attention of a prompt", attend_rows<decltype(t), width.value>,
           dim3(static_cast<unsigned>(a.n_heads), blocks_for(a.rows, S::kRows)), kThreads, S::kBytes, work, a);
  });
}

void prompt_columns_tiles(Work& work, DType type, const ColumnArgs& c) {
  const PromptArgs& a = c.prompt;
  const dim3 grid(static_cast<unsigned>(a.n_kv_heads), blocks_for(a.first + a.rows, kColumnSlots));  // the longest columns first
  with_shape(type, a.d, [&](auto t, auto width) {
    using T = decltype(t);
    const auto kernel = a.n_heads == a.n_kv_heads ? sum_columns<T, width.value, false> : sum_columns<T, width.value, true>;
    launch("sums over a prompt's attention", kernel, grid, kThreads,
           static_cast<std::size_t>(ColumnShape<width.value>::bytes(c.n_sums, c.n_lambdas)), work, c);
  });
}

}  // namespace kvscope::cuda
