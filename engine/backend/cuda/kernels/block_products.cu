// SPDX-License-Identifier: Apache-2.0
// Products of few rows with weights that stay in blocks (blocks.h): limited by how fast the blocks can be read, so that a weight may cost a
// lane no more than about three instructions. Codes become whole numbers in 16 bits, exactly, and tensor cores multiply them with x,
// exactly, and add up in f32, each scale's numbers for themselves; then come the scales. So sum(w x) is made as scale sum(code x) - minimum
// sum(x): other roundings than those of decoded weights, no larger ones. x in f32 is the sum of three bf16. A block of threads makes 16
// outputs; warp w takes the chunks w, w + kWarps, ... of their rows. A lane is named by the tensor cores' g and t (pairs.h): it
// loads codes of the rows g and g + 8.
#include "backend/cuda/kernels/blocks.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/pairs.h"
#include "backend/cuda/kernels/tensor_cores.h"
#include "backend/device_blocks.h"

#if defined(__CUDACC__) && !defined(KVSCOPE_TENSOR_CORES)
#pragma nv_diag_suppress 177  // functions of kernels that are empty for an older device
#endif

namespace kvscope::cuda {

namespace {

constexpr int kWarps = 8, kOut = 16, kRows = 8;

template <class T, DType kType>
struct Matrices {
  const T* x;
  BlockParts<kType> w;
  T* y;
  long chunks;  // of a row of w
  int rows, out;
  long add;
};

/// What numbers are multiplied in.
template <class T>
using Factor = std::conditional_t<std::is_same_v<T, Half>, Half, Bfloat>;
/// How many of those make one number of x.
template <class T>
inline constexpr int kParts = std::is_same_v<T, float> ? 3 : 1;

/// Where a lane finds what it loads of a row; it goes from chunk to chunk.
template <DType kType>
struct Place {
  const uint4* codes;
  const uint4* bits;
  const std::uint32_t* scales;
  const std::uint16_t* factor;

  __device__ Place(const BlockParts<kType>& w, long chunk, int t)
      : codes(reinterpret_cast<const uint4*>(w.codes) + chunk * (BlockShape<kType>::kCodeWords / 4) + t),
        bits(reinterpret_cast<const uint4*>(w.bits) + chunk * (BlockShape<kType>::kBitWords / 4) + t),
        scales(w.scales + chunk * 4 + (kType == DType::q4_k ? 0 : t)),
        factor(w.factors + chunk) {}
  __device__ void go_on(int chunks) {
    codes += chunks * (BlockShape<kType>::kCodeWords / 4);
    bits += chunks * (BlockShape<kType>::kBitWords / 4);
    scales += chunks * 4;
    factor += chunks;
  }
};

/// What a lane has of one row of a chunk, as it was loaded.
template <DType kType>
struct Raw {
  static constexpr int kLoads = kLaneLoads<kType>, kBitLoads = BlockShape<kType>::kBitWords / 16;
  uint4 codes[kLoads];
  uint4 bits[kBitLoads > 0 ? kBitLoads : 1];
  uint4 header;          // Q4_K
  std::uint32_t scales;  // else: of the groups 2 t, 2 t + 1
  std::uint16_t factor;

  __device__ void load(const Place<kType>& from) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) codes[i] = from.codes[4 * i];
    if constexpr (kBitLoads > 0) bits[0] = *from.bits;
    if constexpr (kType == DType::q4_k) {
      header = *reinterpret_cast<const uint4*>(from.scales);
    } else {
      scales = *from.scales;
    }
    if constexpr (kType == DType::q6_k) factor = *from.factor;
  }

  /// The codes of the numbers 16 e + 4 t, ... of group g, one a byte; above them there may be others.
  __device__ std::uint32_t four(int g, int e) const {
    if constexpr (kType == DType::q8_0) {
      return word_of(codes[g / 2], g, e);
    } else if constexpr (kType == DType::q4_k) {
      return word_of(codes[g / 4], g / 2, e) >> g % 2 * 4;
    } else {
      const std::uint32_t low = word_of(codes[g / 4], g % 2, e) >> g % 4 / 2 * 4, high = word_of(bits[0], g / 4, e);
      const int shift = 4 - g % 4 * 2;
      return (low & 0x0f0f0f0fu) | ((shift >= 0 ? high << shift : high >> -shift) & 0x30303030u);
    }
  }
};

/// Two codes, in the low bytes of both halves, as whole numbers of the format M.
template <DType kType, class M>
__device__ inline std::uint32_t whole_numbers(std::uint32_t codes) {
  constexpr bool kHalf = std::is_same_v<M, Half>;
  constexpr std::uint32_t kBase = kHalf ? 0x64006400u : 0x43004300u;  // 1024, 128: below them there is room for a code
  if constexpr (kType == DType::q8_0) {
    if constexpr (kHalf) return add_pairs<M>((codes & 0x00ff00ffu) ^ 0x64806480u, 0xe480e480u);  // 1024 + (code + 128) - 1152
    // seven bits have room: 128 + those - 128, or - 256 where the code is negative
    return add_pairs<M>(masked_or(codes, 0x007f007fu, kBase), masked_or(codes, 0x00800080u, 0xc300c300u));
  } else if constexpr (kType == DType::q4_k) {
    return add_pairs<M>(masked_or(codes, 0x000f000fu, kBase), kBase | 0x80008000u);
  } else {
    return add_pairs<M>(masked_or(codes, 0x003f003fu, kBase), kBase | 0x80208020u);  // codes are less 32
  }
}

/// a for the product over the numbers 16 e, ... of group g, in the order in which Xs has those of x.
template <DType kType, class M>
__device__ inline void codes_of(const Raw<kType> (&raw)[2], int g, int e, std::uint32_t (&a)[4]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const std::uint32_t four = raw[r].four(g, e);
    a[r] = whole_numbers<kType, M>(four);
    a[2 + r] = whole_numbers<kType, M>(four >> 8);
  }
}

/// A lane's numbers of 32 of x as b: the numbers 16 e + 4 t, ...: first and third, second and fourth.
template <class T>
struct Xs {
  std::uint32_t b[kParts<T>][2][2];

  __device__ void load(const T* x, int t) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if constexpr (std::is_same_v<T, float>) {
        const Pack<float, 4> from = cuda::load<float, 4>(x + 16 * e + 4 * t);
        float rest[4] = {from.x[0], from.x[1], from.x[2], from.x[3]};
#pragma unroll
        for (int part = 0; part < 3; ++part) {  // eight bits of mantissa each: all 24
          std::uint32_t top[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            top[i] = bits_of(rest[i]) & 0xffff0000u;
            rest[i] -= float_of(top[i]);
          }
          b[part][e][0] = top[0] >> 16 | top[2];
          b[part][e][1] = top[1] >> 16 | top[3];
        }
      } else {
        const uint2 from = *reinterpret_cast<const uint2*>(x + 16 * e + 4 * t);
        b[0][e][0] = pair_of(from.x, from.y);
        b[0][e][1] = from.x >> 16 | (from.y & 0xffff0000u);
      }
    }
  }

  /// d += a x over the numbers 16 e, ...; the smallest parts first.
  __device__ void multiply(const std::uint32_t (&a)[4], int e, float (&d)[4]) const {
#pragma unroll
    for (int part = kParts<T> - 1; part >= 0; --part) multiply_add<Factor<T>>(d, a, b[part][e][0], b[part][e][1]);
  }
};

/// The scales of the groups 2 t, 2 t + 1 of one row of a chunk.
template <DType kType>
struct Scales {
  static constexpr int kEach = kType == DType::q8_0 ? 1 : 2;  // of a group: scale and minimum, or the scales of its halves
  float of[2][kEach];

  __device__ explicit Scales(const Raw<kType>& raw, int t) {
    if constexpr (kType == DType::q4_k) {
      const TwoGroups groups = two_groups(raw.header.y, raw.header.z, raw.header.w, t);
      const float d = half_in(raw.header.x, 0), least = half_in(raw.header.x, 1);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        of[i][0] = d * small_float(groups.scales >> 8 * i & 63u);
        of[i][1] = least * small_float(groups.minima >> 8 * i & 63u);
      }
    } else if constexpr (kType == DType::q8_0) {
      of[0][0] = half_in(raw.scales, 0);
      of[1][0] = half_in(raw.scales, 1);
    } else {
      const float d = half_in(raw.factor, 0);
#pragma unroll
      for (int i = 0; i < 4; ++i) of[i / 2][i % 2] = d * signed_byte(raw.scales, i);
    }
  }
  /// Those that the lane `from` has.
  __device__ Scales(const Scales& mine, int from, int) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < kEach; ++j) of[i][j] = __shfl_sync(0xffffffffu, mine.of[i][j], from);
  }

  /// sum += what group 2 t + i adds: first, second: sums of its codes times x, of its halves where those have their own scales; of_x: sum
  /// of x.
  __device__ void add(int i, float first, float second, float of_x, float& sum) const {
    sum = fmaf(of[i][0], first, sum);
    if constexpr (kType == DType::q4_k) sum = fmaf(-of[i][1], of_x, sum);
    if constexpr (kType == DType::q6_k) sum = fmaf(of[i][1], second, sum);
  }
};

/// Sums of codes of group g of both rows times x, and those of its second halves where they have their own scales.
template <DType kType, class T>
__device__ inline void group_sums(const Raw<kType> (&raw)[2], const Xs<T>& x, int g, float (&first)[4], float (&second)[4]) {
  std::uint32_t a[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) first[i] = second[i] = 0;
  codes_of<kType, Factor<T>>(raw, g, 0, a);
  x.multiply(a, 0, first);
  codes_of<kType, Factor<T>>(raw, g, 1, a);
  x.multiply(a, 1, kType == DType::q6_k ? second : first);
}

template <DType kType, class T>
__device__ inline void sums_of_x(const Xs<T>& x, float (&sums)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) sums[i] = 0;
  if constexpr (kType != DType::q4_k) return;
  constexpr std::uint32_t kOnes = std::is_same_v<T, Half> ? 0x3c003c00u : 0x3f803f80u;
  const std::uint32_t ones[4] = {kOnes, kOnes, kOnes, kOnes};
  x.multiply(ones, 0, sums);
  x.multiply(ones, 1, sums);
}

/// One row of x: column c of the tensor cores' b has group c of a chunk, so that one load brings a lane all that it needs of x, and of the
/// products with the codes of group c column c is the one that means something. Lane t ends up with the groups 2 t, 2 t + 1.
template <class T, DType kType>
struct OneRow {
  float sum[2] = {};  // of the rows g, g + 8

  __device__ void add(const Raw<kType> (&raw)[2], const T* x, int g, int t) {
    Xs<T> b;
    b.load(x + 32 * g, t);
    float of_x[4], mine[2][2][2] = {};  // [row, group, half]
    sums_of_x<kType>(b, of_x);
#pragma unroll
    for (int group = 0; group < 8; ++group) {
      float first[4], second[4];
      group_sums(raw, b, group, first, second);
      const int i = group % 2;
      const bool is_mine = t == group / 2;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        mine[r][i][0] = is_mine ? first[2 * r + i] : mine[r][i][0];
        mine[r][i][1] = is_mine ? second[2 * r + i] : mine[r][i][1];
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Scales<kType> scales(raw[r], t);
#pragma unroll
      for (int i = 0; i < 2; ++i) scales.add(i, mine[r][i][0], mine[r][i][1], of_x[i], sum[r]);
    }
  }

  __device__ void put(float (*to)[kRows], int g, int t) const {
    const float upper = sum_over_lanes(sum[0], 4), lower = sum_over_lanes(sum[1], 4);
    if (t != 0) return;
    to[g][0] = upper;
    to[g + 8][0] = lower;
  }
};

/// Up to eight rows of x, a column each. Sums are kept apart and added in the end as OneRow's lanes are: the same bits.
template <class T, DType kType>
struct ManyRows {
  float sum[4][4] = {};  // [groups 2 p, 2 p + 1; rows g, g + 8 of w times rows 2 t, 2 t + 1 of x]

  __device__ void add(const Raw<kType> (&raw)[2], const T* x, int, int t) {
    const Scales<kType> upper(raw[0], t), lower(raw[1], t);
    const int first_lane = static_cast<int>(threadIdx.x) % 32 - t;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const Scales<kType> scales[2] = {{upper, first_lane + p, 0}, {lower, first_lane + p, 0}};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        Xs<T> b;
        b.load(x + 32 * (2 * p + i), t);
        float of_x[4], first[4], second[4];
        sums_of_x<kType>(b, of_x);
        group_sums(raw, b, 2 * p + i, first, second);
#pragma unroll
        for (int j = 0; j < 4; ++j) scales[j / 2].add(i, first[j], second[j], of_x[j], sum[p][j]);
      }
    }
  }

  __device__ void put(float (*to)[kRows], int g, int t) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) to[g + j / 2 * 8][2 * t + j % 2] = (sum[0][j] + sum[2][j]) + (sum[1][j] + sum[3][j]);
  }
};

template <class T, DType kType, bool kOne>
__global__ void __launch_bounds__(kWarps * 32, 2) block_products([[maybe_unused]] Matrices<T, kType> m) {
#if defined(KVSCOPE_TENSOR_CORES)
  __shared__ float of_warp[kWarps][kOut][kRows];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, g = lane / 4, t = lane % 4;
  const int first_row = static_cast<int>(blockIdx.x) * (kOne ? 1 : kRows), first_out = static_cast<int>(blockIdx.y) * kOut;
  // the last block repeats its last rows rather than read behind the matrices
  const long upper = min(first_out + g, m.out - 1) * m.chunks, lower = min(first_out + g + 8, m.out - 1) * m.chunks;
  const T* x = m.x + min(first_row + (kOne ? 0 : g), m.rows - 1) * m.chunks * kBlockChunk;
  std::conditional_t<kOne, OneRow<T, kType>, ManyRows<T, kType>> sums;
  Place<kType> places[2] = {{m.w, upper + warp, t}, {m.w, lower + warp, t}};
  Raw<kType> next[2];  // on its way while sums are made
  const auto load = [&places, &next] {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      next[r].load(places[r]);
      places[r].go_on(kWarps);
    }
  };
  const int chunks = static_cast<int>(m.chunks);
  [[maybe_unused]] constexpr int kTurns =
      kOne && kType != DType::q6_k && !std::is_same_v<T, float> ? 2 : 1;  // as registers allow: no copies of `next`
  if (warp < chunks) load();
#pragma unroll kTurns
  for (int c = warp; c < chunks; c += kWarps) {
    const Raw<kType> now[2] = {next[0], next[1]};
    if (c + kWarps < chunks) load();
    sums.add(now, x + c * kBlockChunk, g, t);
  }
  sums.put(of_warp[warp], g, t);
  __syncthreads();
  const int row = kOne ? 0 : static_cast<int>(threadIdx.x) % kRows, out = static_cast<int>(threadIdx.x) / (kOne ? 1 : kRows);
  if (out >= kOut || first_row + row >= m.rows || first_out + out >= m.out) return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) total += of_warp[w][out][row];
  T* y = m.y + static_cast<long>(first_row + row) * m.out + first_out + out;
  *y = from_float<T>(m.add ? to_float(*y) + total : total);
#endif
}

}  // namespace

void block_linear(Work& work, DType type, const BlockProductArgs& a) {
  KVSCOPE_ASSERT(reinterpret_cast<std::uintptr_t>(a.x) % 16 == 0);
  with_type(type, [&](auto t) {
    with_block_type(a.w.type, [&](auto w) {
      using T = decltype(t);
      constexpr DType kType = decltype(w)::value;
      const long chunks = a.w.in / kBlockChunk;
      const Matrices<T, kType> m{
          static_cast<const T*>(a.x), BlockParts<kType>(a.w.data, a.w.out * chunks), static_cast<T*>(a.y), chunks, a.rows, a.w.out, a.add};
      const dim3 grid(blocks_for(a.rows, a.rows == 1 ? 1 : kRows), blocks_for(a.w.out, kOut));
      launch("linear of blocks", a.rows == 1 ? block_products<T, kType, true> : block_products<T, kType, false>, grid, kWarps * 32, 0, work,
             m);
    });
  });
}

}  // namespace kvscope::cuda
