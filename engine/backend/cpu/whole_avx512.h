// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of whole numbers for whole_body.h, 64 bytes of them, and blocks of quantised weights as codes; core/dequantise.h says what the
// blocks hold.

#include "core/dequantise.h"
#include "core/dtype.h"

namespace kvscope::cpu::avx512 {
namespace {

struct I {
  using V = __m512i;
  static constexpr int kBytes = 64;
  static constexpr int kTileRows = 4, kTileCols = 4;  // 16 sums + 4 vectors of codes + 3 of digits of 32 registers

  static V zero() { return _mm512_setzero_si512(); }
  static V splat(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }
  static V load(const void* p) { return _mm512_load_si512(p); }
  static void store(void* p, V v) { _mm512_store_si512(p, v); }
  /// sum + the four products in each lane of bytes without a sign and bytes with one.
  static V dot(V sum, V codes, V digits) { return _mm512_dpbusd_epi32(sum, codes, digits); }
  static V times256(V v) { return _mm512_slli_epi32(v, 8); }
  static V plus(V a, V b) { return _mm512_add_epi32(a, b); }
  static V minus(V v) { return _mm512_sub_epi32(zero(), v); }
  static F::V to_float(V v) { return _mm512_cvtepi32_ps(v); }
  /// acc - minima * sums in the upper lanes; the lower ones of `minima` are not minima.
  static F::V less_minima(F::V minima, const float* sums, F::V acc) {
    return _mm512_mask3_fnmadd_ps(minima, _mm512_broadcast_f32x8(_mm256_load_ps(sums)), acc, 0xff00);
  }

  /// The bits of the largest of n numbers without their signs; n a multiple of 32.
  static std::int32_t largest(const float* x, int n) {
    V most = zero();
    for (int i = 0; i < n; i += F::kLanes)
      most = _mm512_max_epi32(most, _mm512_and_si512(_mm512_castps_si512(F::load(x + i)), _mm512_set1_epi32(0x7fffffff)));
    return _mm512_reduce_max_epi32(most);
  }

  /// The digits of n numbers times `by`; zeros beyond.
  static void split(const float* x, int n, float by, std::int8_t (&digits)[3][kBytes]) {
    const V half = _mm512_set1_epi32(128);
    for (int i = 0; i < kBytes; i += F::kLanes) {
      const V low = _mm512_cvtps_epi32((i < n ? F::load(x + i) : F::zero()) * F::set1(by));
      const V middle = _mm512_srai_epi32(plus(low, half), 8), high = _mm512_srai_epi32(plus(middle, half), 8);
      put(digits[0] + i, high);
      put(digits[1] + i, middle);
      put(digits[2] + i, low);
    }
  }

 private:
  static void put(std::int8_t* to, V v) { _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(v)); }
};

inline __m256i bytes32(const std::uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline __m128i bytes16(const std::uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
inline __m512i twice(__m256i v) { return _mm512_broadcast_i64x4(v); }
inline __m512i join(__m256i low, __m256i high) { return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1); }
/// Bytes 0..15 of a, a, b, b.
inline __m512i quarters(const std::uint8_t* a, const std::uint8_t* b) {
  return join(_mm256_broadcastsi128_si256(bytes16(a)), _mm256_broadcastsi128_si256(bytes16(b)));
}
/// The codes of 4 bits of two such pairs: the low halves, then the high ones.
inline __m512i nibbles(__m512i quarters) {
  const __m512i shifts = _mm512_set_epi64(0x0004000400040004, 0x0004000400040004, 0, 0, 0x0004000400040004, 0x0004000400040004, 0, 0);
  return _mm512_and_si512(_mm512_srlv_epi16(quarters, shifts), _mm512_set1_epi8(15));
}
/// Of two blocks, eight lanes each.
inline __m512 two_scales(const std::uint8_t* a, const std::uint8_t* b) {
  std::int16_t first, second;
  __builtin_memcpy(&first, a, 2);
  __builtin_memcpy(&second, b, 2);
  return _mm512_cvtph_ps(_mm256_mask_set1_epi16(_mm256_set1_epi16(first), 0xff00, second));
}

/// Blocks of 32 numbers: two are a step.
template <class Q, int bytes, int offset, int bits>
struct SmallBlocks {
  static constexpr int kNumbers = 32, kBytes = bytes, kOffset = offset, kBits = bits;
  static constexpr bool kMinima = false;

  template <class Step, class Minima>
  [[gnu::always_inline]] static void read(const std::uint8_t* p, const Step& step, const Minima&) {
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s, p += 2 * bytes) step(s, Q::codes(p, p + bytes), two_scales(p, p + bytes));
  }
};

struct Q8Codes : SmallBlocks<Q8Codes, 34, 128, 22> {
  [[gnu::always_inline]] static __m512i codes(const std::uint8_t* a, const std::uint8_t* b) {
    return _mm512_xor_si512(join(bytes32(a + 2), bytes32(b + 2)), _mm512_set1_epi8(-128));
  }
};

struct Q4Codes : SmallBlocks<Q4Codes, 18, 8, 23> {
  [[gnu::always_inline]] static __m512i codes(const std::uint8_t* a, const std::uint8_t* b) { return nibbles(quarters(a + 2, b + 2)); }
};

struct Iq4Codes : SmallBlocks<Iq4Codes, 18, 128, 22> {
  [[gnu::always_inline]] static __m512i codes(const std::uint8_t* a, const std::uint8_t* b) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values));
    const __m512i table = _mm512_broadcast_i32x4(_mm_xor_si128(values, _mm_set1_epi8(-128)));
    return _mm512_shuffle_epi8(table, nibbles(quarters(a + 2, b + 2)));
  }
};

struct Q5Codes : SmallBlocks<Q5Codes, 22, 16, 23> {
  [[gnu::always_inline]] static __m512i codes(const std::uint8_t* a, const std::uint8_t* b) {
    std::uint32_t low, high;
    __builtin_memcpy(&low, a + 2, 4);
    __builtin_memcpy(&high, b + 2, 4);
    const __m512i four = nibbles(quarters(a + 6, b + 6));
    return _mm512_mask_add_epi8(four, low | static_cast<std::uint64_t>(high) << 32, four, _mm512_set1_epi8(16));
  }
};

/// Eight lanes each of two of sixteen numbers: first, first + 1.
inline __m512 two_of(__m512 sixteen, int first) {
  return _mm512_permutexvar_ps(_mm512_inserti64x4(_mm512_set1_epi32(first), _mm256_set1_epi32(first + 1), 1), sixteen);
}

/// Q4_K and Q5_K: a step is two groups of 32, whose codes of 4 bits are the low and the high halves of 32 bytes.
template <bool five>
struct KCodes {
  static constexpr int kNumbers = 256, kBytes = five ? 176 : 144, kOffset = 0, kBits = 23;
  static constexpr bool kMinima = true;

  template <class Step, class Minima>
  [[gnu::always_inline]] static void read(const std::uint8_t* p, const Step& step, const Minima& minima) {
    const PackedScales packed(p + 4);
    const __m128i six = _mm_set_epi64x(static_cast<long long>(packed.minima), static_cast<long long>(packed.scales));
    const __m512 scales = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(six)) * two_scales(p, p + 2);
    minima(scales);  // in the upper lanes
    const __m512i fifth = five ? twice(bytes32(p + 16)) : I::zero();
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s) {
      const __m512i shifts = _mm512_inserti64x4(I::zero(), _mm256_set1_epi16(4), 1);
      __m512i codes = _mm512_and_si512(_mm512_srlv_epi16(twice(bytes32(p + (five ? 48 : 16) + s * 32)), shifts), I::splat(15));
      if constexpr (five) {
        const __m512i bits = join(_mm256_set1_epi8(static_cast<char>(1 << (2 * s))), _mm256_set1_epi8(static_cast<char>(2 << (2 * s))));
        codes = _mm512_mask_add_epi8(codes, _mm512_test_epi8_mask(fifth, bits), codes, I::splat(16));
      }
      step(s, codes, two_of(scales, 2 * s));
    }
  }
};
using Q4KCodes = KCodes<false>;
using Q5KCodes = KCodes<true>;

/// A step is four groups of 16.
struct Q6KCodes {
  static constexpr int kNumbers = 256, kBytes = 210, kOffset = 32, kBits = 23;
  static constexpr bool kMinima = false;

  template <class Step, class Minima>
  [[gnu::always_inline]] static void read(const std::uint8_t* p, const Step& step, const Minima&) {
    const __m512 scales = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes16(p + 192))) * two_scales(p + 208, p + 208);
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s) {
      const __m512i pairs = _mm512_loadu_si512(p + s / 2 * 64), bits = twice(bytes32(p + 128 + s / 2 * 32));
      const __m512i four = _mm512_and_si512(s % 2 == 0 ? pairs : _mm512_srli_epi16(pairs, 4), I::splat(15));
      // their two bits: 0 and 2 in the first step of a half, 4 and 6 in the second
      const __m512i two = s % 2 == 0 ? _mm512_sllv_epi16(bits, join(_mm256_set1_epi16(4), _mm256_set1_epi16(2)))
                                     : _mm512_srlv_epi16(bits, join(_mm256_set1_epi16(0), _mm256_set1_epi16(2)));
      const __m512i index = _mm512_add_epi32(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), _mm512_set1_epi32(4 * s));
      step(s, _mm512_or_si512(four, _mm512_and_si512(two, I::splat(0x30))), _mm512_permutexvar_ps(index, scales));
    }
  }
};

}  // namespace
}  // namespace kvscope::cpu::avx512
