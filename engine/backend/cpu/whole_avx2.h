// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of whole numbers for whole_body.h, 32 bytes of them, and blocks of quantised weights as codes; core/dequantise.h says what the
// blocks hold.

#include "core/dequantise.h"
#include "core/dtype.h"

namespace kvscope::cpu::avx2 {
namespace {

struct I {
  using V = __m256i;
  static constexpr int kBytes = 32;
  static constexpr int kTileRows = 2, kTileCols = 4;  // 8 sums + 4 vectors of codes + 3 of digits of 16 registers

  static V zero() { return _mm256_setzero_si256(); }
  static V splat(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
  static V load(const void* p) { return _mm256_load_si256(static_cast<const V*>(p)); }
  static void store(void* p, V v) { _mm256_store_si256(static_cast<V*>(p), v); }
  /// sum + the four products in each lane of bytes without a sign and bytes with one.
  static V dot(V sum, V codes, V digits) { return _mm256_dpbusd_avx_epi32(sum, codes, digits); }
  static V times256(V v) { return _mm256_slli_epi32(v, 8); }
  static V plus(V a, V b) { return _mm256_add_epi32(a, b); }
  static V minus(V v) { return _mm256_sub_epi32(zero(), v); }
  static F::V to_float(V v) { return _mm256_cvtepi32_ps(v); }
  /// acc - minima * sums.
  static F::V less_minima(F::V minima, const float* sums, F::V acc) { return _mm256_fnmadd_ps(minima, _mm256_load_ps(sums), acc); }

  /// The bits of the largest of n numbers without their signs; n a multiple of 32.
  static std::int32_t largest(const float* x, int n) {
    V most = zero();
    for (int i = 0; i < n; i += F::kLanes)
      most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(F::load(x + i)), _mm256_set1_epi32(0x7fffffff)));
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
  }

  /// The digits of n numbers times `by`; zeros beyond.
  static void split(const float* x, int n, float by, std::int8_t (&digits)[3][kBytes]) {
    if (n <= 0) {
      for (auto& digit : digits) store(digit, zero());
      return;
    }
    const V half = _mm256_set1_epi32(128);
    V low[4], middle[4], high[4];
    for (int i = 0; i < 4; ++i) {
      low[i] = _mm256_cvtps_epi32(F::load(x + i * 8) * F::set1(by));
      middle[i] = _mm256_srai_epi32(plus(low[i], half), 8);
      high[i] = _mm256_srai_epi32(plus(middle[i], half), 8);
    }
    store(digits[0], lowest_bytes(high));
    store(digits[1], lowest_bytes(middle));
    store(digits[2], lowest_bytes(low));
  }

 private:
  static V lowest_bytes(const V (&words)[4]) {
    const V mask = _mm256_set1_epi32(255);
    const V first = _mm256_packus_epi32(_mm256_and_si256(words[0], mask), _mm256_and_si256(words[1], mask));
    const V last = _mm256_packus_epi32(_mm256_and_si256(words[2], mask), _mm256_and_si256(words[3], mask));
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(first, last), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
};

inline __m256i bytes32(const std::uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline __m128i bytes16(const std::uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
/// The codes of 4 bits in sixteen bytes: the low halves, then the high ones.
inline __m256i nibbles(const std::uint8_t* p) {
  const __m128i pairs = bytes16(p);
  return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(pairs, 4), pairs), _mm256_set1_epi8(15));
}
/// 16 where all of `bits` are set.
inline __m256i sixteen_where(__m256i bytes, __m256i bits) {
  return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bits), bits), _mm256_set1_epi8(16));
}
inline __m256 scale_at(const std::uint8_t* p) {
  std::int16_t half;
  __builtin_memcpy(&half, p, 2);
  return _mm256_cvtph_ps(_mm_set1_epi16(half));
}

/// Blocks of 32 numbers: each is a step.
template <class Q, int bytes, int offset, int bits>
struct SmallBlocks {
  static constexpr int kNumbers = 32, kBytes = bytes, kOffset = offset, kBits = bits;
  static constexpr bool kMinima = false;

  template <class Step, class Minima>
  [[gnu::always_inline]] static void read(const std::uint8_t* p, const Step& step, const Minima&) {
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s, p += bytes) step(s, Q::codes(p), scale_at(p));
  }
};

struct Q8Codes : SmallBlocks<Q8Codes, 34, 128, 22> {
  [[gnu::always_inline]] static __m256i codes(const std::uint8_t* p) { return _mm256_xor_si256(bytes32(p + 2), I::splat(-128)); }
};

struct Q4Codes : SmallBlocks<Q4Codes, 18, 8, 23> {
  [[gnu::always_inline]] static __m256i codes(const std::uint8_t* p) { return nibbles(p + 2); }
};

struct Iq4Codes : SmallBlocks<Iq4Codes, 18, 128, 22> {
  [[gnu::always_inline]] static __m256i codes(const std::uint8_t* p) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_xor_si128(values, _mm_set1_epi8(-128))), nibbles(p + 2));
  }
};

struct Q5Codes : SmallBlocks<Q5Codes, 22, 16, 23> {
  [[gnu::always_inline]] static __m256i codes(const std::uint8_t* p) {
    std::int32_t fifth;
    __builtin_memcpy(&fifth, p + 2, 4);
    const __m256i places = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(fifth), places);
    const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
    return _mm256_or_si256(nibbles(p + 6), sixteen_where(bytes, bits));
  }
};

/// Q4_K and Q5_K: a step is a group of 32, whose codes of 4 bits are the low or the high halves of 32 bytes.
template <bool five>
struct KCodes {
  static constexpr int kNumbers = 256, kBytes = five ? 176 : 144, kOffset = 0, kBits = 23;
  static constexpr bool kMinima = true;

  template <class Step, class Minima>
  [[gnu::always_inline]] static void read(const std::uint8_t* p, const Step& step, const Minima& minima) {
    const PackedScales packed(p + 4);
    const auto times = [](std::uint64_t six, __m256 by) {
      return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(six)))) * by;
    };
    minima(times(packed.minima, scale_at(p + 2)));
    const __m256 scales = times(packed.scales, scale_at(p));
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) {
      const __m256i pairs = bytes32(p + (five ? 48 : 16) + s / 2 * 32);
      __m256i codes = _mm256_and_si256(s % 2 == 0 ? pairs : _mm256_srli_epi16(pairs, 4), I::splat(15));
      if constexpr (five) codes = _mm256_or_si256(codes, sixteen_where(bytes32(p + 16), I::splat(1 << s)));
      step(s, codes, _mm256_permutevar8x32_ps(scales, _mm256_set1_epi32(s)));
    }
  }
};
using Q4KCodes = KCodes<false>;
using Q5KCodes = KCodes<true>;

/// A step is two groups of 16.
struct Q6KCodes {
  static constexpr int kNumbers = 256, kBytes = 210, kOffset = 32, kBits = 23;
  static constexpr bool kMinima = false;

  template <class Step, class Minima>
  [[gnu::always_inline]] static void read(const std::uint8_t* p, const Step& step, const Minima&) {
    const __m128i bytes = bytes16(p + 192);
    const __m256 scale = scale_at(p + 208);
    const __m256 scales[2] = {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)) * scale,
                              _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))) * scale};
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) {
      const int half = s / 4, group = s % 4;
      const __m256i pairs = bytes32(p + half * 64 + group % 2 * 32), bits = bytes32(p + 128 + half * 32);
      const __m256i four = _mm256_and_si256(group < 2 ? pairs : _mm256_srli_epi16(pairs, 4), I::splat(15));
      const __m256i two = group < 2 ? _mm256_slli_epi16(bits, 4 - 2 * group) : _mm256_srli_epi16(bits, 2 * group - 4);
      const __m256i index =
          _mm256_setr_epi32(2 * group, 2 * group, 2 * group, 2 * group, 2 * group + 1, 2 * group + 1, 2 * group + 1, 2 * group + 1);
      step(s, _mm256_or_si256(four, _mm256_and_si256(two, I::splat(0x30))), _mm256_permutevar8x32_ps(scales[half], index));
    }
  }
};

}  // namespace
}  // namespace kvscope::cpu::avx2
