// SPDX-License-Identifier: Apache-2.0
#pragma once

// Quantised weights as a device has them: the bytes of the file's blocks (core/dequantise.h), moved so that lanes load 16 of them at once.
// Everything counts in chunks of 256 numbers, of which rows have whole ones; a chunk is 8 groups of 32. First come the codes of all chunks,
// then (Q6_K) the high bits of all, then 16 bytes of scales each (Q4_K: with the factors, as in the block; Q8_0: the eight scales; Q6_K:
// sixteen), then (Q6_K) the factors.
// Codes are words of four bytes. Word 8 p + 4 e + t of a chunk's codes in the file has those of the numbers 16 e + 4 t, ... of group p, or
// of two or four groups; code_place() says where it is here: the words of one t are neighbours, since a lane takes those of its t.

#include <type_traits>

#include "backend/cuda/kernels/types.h"
#include "core/error.h"

namespace kvscope::cuda {

/// body(std::integral_constant<DType, type>) for a type that stays in blocks.
template <class Body>
void with_block_type(DType type, const Body& body) {
  switch (type) {
    case DType::q8_0:
      return body(std::integral_constant<DType, DType::q8_0>());
    case DType::q4_k:
      return body(std::integral_constant<DType, DType::q4_k>());
    case DType::q6_k:
      return body(std::integral_constant<DType, DType::q6_k>());
    default:
      break;
  }
  KVSCOPE_ASSERT(!"a type of blocks that no kernel has");
}

__host__ __device__ constexpr int code_place(int p, int e, int t) { return p / 2 * 16 + t * 4 + p % 2 * 2 + e; }

template <DType kType>
struct BlockShape;
template <>
struct BlockShape<DType::q4_k> {
  static constexpr int kCodeWords = 32, kBitWords = 0, kBytes = 144;
};
template <>
struct BlockShape<DType::q8_0> {
  static constexpr int kCodeWords = 64, kBitWords = 0, kBytes = 272;
};
template <>
struct BlockShape<DType::q6_k> {
  static constexpr int kCodeWords = 32, kBitWords = 16, kBytes = 210;
};

/// Where the parts of a matrix of so many chunks begin.
template <DType kType>
struct BlockParts {
  const std::uint32_t* codes;
  const std::uint32_t* bits;
  const std::uint32_t* scales;
  const std::uint16_t* factors;

  __host__ __device__ BlockParts(const void* data, long chunks)
      : codes(static_cast<const std::uint32_t*>(data)),
        bits(codes + chunks * BlockShape<kType>::kCodeWords),
        scales(bits + chunks * BlockShape<kType>::kBitWords),
        factors(reinterpret_cast<const std::uint16_t*>(scales + chunks * 4)) {}
};

/// Q4_K: scales and minima (six bits) of the groups 2 pair, 2 pair + 1, in two bytes each. words: the twelve bytes that hold them.
struct TwoGroups {
  std::uint32_t scales, minima;
};
__device__ inline TwoGroups two_groups(std::uint32_t low_scales, std::uint32_t low_minima, std::uint32_t rest, int pair) {
  const int shift = pair % 2 * 16;
  const std::uint32_t a = low_scales >> shift, b = low_minima >> shift, c = rest >> shift;
  if (pair < 2) return {a & 0x3f3fu, b & 0x3f3fu};
  return {(c & 0x0f0fu) | (a & 0xc0c0u) >> 2, (c >> 4 & 0x0f0fu) | (b & 0xc0c0u) >> 2};
}

/// A whole number below 2^23, without the slow instruction.
__device__ inline float small_float(std::uint32_t n) { return float_of(0x4b000000u | n) - 0x1p23f; }
/// Byte i of a word, with its sign.
__device__ inline float signed_byte(std::uint32_t word, int i) { return static_cast<float>(static_cast<int>(word << (24 - 8 * i)) >> 24); }
__device__ inline float half_in(std::uint32_t word, int i) { return to_float(Half{static_cast<std::uint16_t>(word >> 16 * i)}); }

/// How many 16 bytes of codes a lane has of a chunk.
template <DType kType>
inline constexpr int kLaneLoads = BlockShape<kType>::kCodeWords / 16;

/// Word (p, e) of the lane's, p even or odd.
__device__ inline std::uint32_t word_of(const uint4& words, int p, int e) {
  return p % 2 == 0 ? (e == 0 ? words.x : words.y) : (e == 0 ? words.z : words.w);
}

/// put(g, e, numbers) for the numbers 16 e + 4 t, ... of every group g whose codes are among the 16 bytes number `load` of lane t of a
/// chunk; each is bit for bit what dequantise() makes of it.
template <DType kType, class Put>
__device__ inline void decode_part(const BlockParts<kType>& m, long chunk, int load, int t, const Put& put) {
  const uint4 codes = reinterpret_cast<const uint4*>(m.codes)[chunk * (4 * kLaneLoads<kType>)+load * 4 + t];
  float out[4];
  if constexpr (kType == DType::q8_0) {
    const std::uint32_t scales = m.scales[chunk * 4 + load];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t word = word_of(codes, i / 2, i % 2);
      const float d = half_in(scales, i / 2);
#pragma unroll
      for (int k = 0; k < 4; ++k) out[k] = signed_byte(word, k) * d;
      put(load * 2 + i / 2, i % 2, out);
    }
  } else if constexpr (kType == DType::q4_k) {
    const uint4 header = reinterpret_cast<const uint4*>(m.scales)[chunk];
    const float d = half_in(header.x, 0), least = half_in(header.x, 1);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int pair = load * 2 + i / 2, high = i % 2;
      const TwoGroups groups = two_groups(header.y, header.z, header.w, pair);
      const float scale = d * small_float(groups.scales >> high * 8 & 63u), minimum = least * small_float(groups.minima >> high * 8 & 63u);
      // 11, 6 and 4 bits: the product is exact, so that one rounding is what the two of a product and a difference are
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const std::uint32_t word = word_of(codes, i / 2, e) >> high * 4;
#pragma unroll
        for (int k = 0; k < 4; ++k) out[k] = fmaf(scale, small_float(word >> 8 * k & 15u), -minimum);
        put(pair * 2 + high, e, out);
      }
    }
  } else {
    const uint4 bits = reinterpret_cast<const uint4*>(m.bits)[chunk * 4 + t];
    const float d = half_in(m.factors[chunk], 0);
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
      const std::uint32_t scales = m.scales[chunk * 4 + load * 2 + quarter / 2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const std::uint32_t low = word_of(codes, quarter % 2, e) >> quarter / 2 * 4,
                            high = (load == 0 ? word_of(bits, 0, e) : word_of(bits, 1, e)) >> quarter * 2;
        const float scale = d * signed_byte(scales, quarter % 2 * 2 + e);
#pragma unroll
        for (int k = 0; k < 4; ++k) out[k] = scale * (small_float((low >> 8 * k & 15u) | (high >> 8 * k & 3u) << 4) - 32.0f);
        put(load * 4 + quarter, e, out);
      }
    }
  }
}

}  // namespace kvscope::cuda
