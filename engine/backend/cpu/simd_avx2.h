// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include "backend/cpu/simd_types.h"

namespace kvscope::cpu::avx2 {
namespace {

/// All ones in the first n of 8 (or, read as 64 bit, of 4) lanes.
inline __m256i first_lanes32(int n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
inline __m256i first_lanes64(int n) { return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)); }

/// n < 8 words of 16 bits, zero beyond; never reads past them.
inline __m128i load_words(const void* p, int n) {
  alignas(16) std::uint16_t words[8] = {};
  __builtin_memcpy(words, p, static_cast<unsigned>(n) * 2u);
  return _mm_load_si128(reinterpret_cast<const __m128i*>(words));
}

struct F {
  using T = float;
  using V = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kTileRows = 3;  // 3 x 4 accumulators + 3 + 1 of 16 registers
  static constexpr int kTileVectors = 2;
  static constexpr int kPackedRows = 0;  // 16 registers are too few: slower than dots()

  static V zero() { return _mm256_setzero_ps(); }
  static V set1(float x) { return _mm256_set1_ps(x); }

  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static V load(const std::int8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static V load(const Half* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static V load(const Bfloat* p) { return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static V load(const double* p) { return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(p + 4)), _mm256_cvtpd_ps(_mm256_loadu_pd(p))); }

  static V load_part(const float* p, int n) { return _mm256_maskload_ps(p, first_lanes32(n)); }
  static V load_part(const Half* p, int n) { return _mm256_cvtph_ps(load_words(p, n)); }
  static V load_part(const Bfloat* p, int n) { return widen(load_words(p, n)); }
  static V load_part(const double* p, int n) {
    const __m256d low = _mm256_maskload_pd(p, first_lanes64(n));
    const __m256d high = n > 4 ? _mm256_maskload_pd(p + 4, first_lanes64(n - 4)) : _mm256_setzero_pd();
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
  }

  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static void store_part(float* p, V v, int n) { _mm256_maskstore_ps(p, first_lanes32(n), v); }

  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V max(V a, V b) { return _mm256_max_ps(a, b); }

  static float sum(V v) {
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
  }
  static __m128 sum4(V a, V b, V c, V d) {
    const V ab = _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));  // 4 lanes of a | of b
    const V cd = _mm256_add_ps(_mm256_permute2f128_ps(c, d, 0x20), _mm256_permute2f128_ps(c, d, 0x31));
    const V s = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xEE));  // 2 of a, 2 of c | b, d
    const V t = _mm256_add_ps(_mm256_shuffle_ps(s, s, 0x88), _mm256_shuffle_ps(s, s, 0xDD));      // a c a c | b d b d
    return _mm_unpacklo_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
  }
  static void store4(float* y, __m128 s, bool add) { _mm_storeu_ps(y, add ? _mm_add_ps(_mm_loadu_ps(y), s) : s); }

  static V exp(V x) {
    x = _mm256_min_ps(set1(kExpHigh), _mm256_max_ps(set1(kExpLow), x));  // in this order NaN stays NaN
    const V n = _mm256_round_ps(_mm256_mul_ps(x, set1(kLog2e)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const V r = fma(n, set1(-kLn2Low), fma(n, set1(-kLn2High), x));
    V p = fma(set1(kExp4), r, set1(kExp3));
    p = fma(p, r, set1(kExp2));
    p = fma(p, r, set1(kExp1));
    p = fma(p, r, set1(kExp0));
    p = fma(_mm256_mul_ps(r, r), p, r);
    // times 2^n in two steps: 2^n alone would leave the range of normal numbers for results that do not
    const __m256i whole = _mm256_cvtps_epi32(n), first = _mm256_srai_epi32(whole, 1);
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_add_ps(p, set1(1.0f)), power(first)), power(_mm256_sub_epi32(whole, first)));
  }

 private:
  static V widen(__m128i bits) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)); }
  static V power(__m256i n) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23)); }
};

struct D {
  using T = double;
  using V = __m256d;
  static constexpr int kLanes = 4;
  static constexpr int kTileRows = 3;
  static constexpr int kTileVectors = 2;
  static constexpr int kPackedRows = 0;  // 16 registers are too few: slower than dots()

  static V zero() { return _mm256_setzero_pd(); }
  static V set1(double x) { return _mm256_set1_pd(x); }

  static V load(const double* p) { return _mm256_loadu_pd(p); }
  static V load(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  static V load(const Half* p) { return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))); }
  static V load(const Bfloat* p) { return widen(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))); }

  static V load_part(const double* p, int n) { return _mm256_maskload_pd(p, first_lanes64(n)); }
  static V load_part(const float* p, int n) { return _mm256_cvtps_pd(_mm_maskload_ps(p, _mm256_castsi256_si128(first_lanes32(n)))); }
  static V load_part(const Half* p, int n) { return _mm256_cvtps_pd(_mm_cvtph_ps(load_words(p, n))); }
  static V load_part(const Bfloat* p, int n) { return widen(load_words(p, n)); }

  static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  static void store_part(double* p, V v, int n) { _mm256_maskstore_pd(p, first_lanes64(n), v); }

  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static V max(V a, V b) { return _mm256_max_pd(a, b); }

  static double sum(V v) {
    const __m128d b = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(b, _mm_unpackhi_pd(b, b)));
  }
  static V sum4(V a, V b, V c, V d) { return _mm256_setr_pd(sum(a), sum(b), sum(c), sum(d)); }
  /// sum + amount where x >= bound, else sum.
  static V add_where(V x, V bound, V sum, V amount) {
    return _mm256_add_pd(sum, _mm256_and_pd(_mm256_cmp_pd(x, bound, _CMP_GE_OQ), amount));
  }
  static void store4(double* y, V s, bool add) { _mm256_storeu_pd(y, add ? _mm256_add_pd(_mm256_loadu_pd(y), s) : s); }

 private:
  static V widen(__m128i bits) { return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(bits), 16))); }
};

}  // namespace
}  // namespace kvscope::cpu::avx2
