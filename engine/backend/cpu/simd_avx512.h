// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include "backend/cpu/simd_types.h"

namespace kvscope::cpu::avx512 {
namespace {

struct F {
  using T = float;
  using V = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kTileRows = 6;  // 6 x 4 accumulators + 6 + 1 of 32 registers
  static constexpr int kTileVectors = 2;
  static constexpr int kPackedRows = 4;

  static V zero() { return _mm512_setzero_ps(); }
  static V set1(float x) { return _mm512_set1_ps(x); }
  static __mmask16 mask(int n) { return static_cast<__mmask16>((1u << n) - 1u); }

  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static V load(const std::int8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static V load(const Half* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static V load(const Bfloat* p) { return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static V load(const double* p) { return join(_mm512_cvtpd_ps(_mm512_loadu_pd(p)), _mm512_cvtpd_ps(_mm512_loadu_pd(p + 8))); }

  static V load_part(const float* p, int n) { return _mm512_maskz_loadu_ps(mask(n), p); }
  static V load_part(const Half* p, int n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask(n), p)); }
  static V load_part(const Bfloat* p, int n) { return widen(_mm256_maskz_loadu_epi16(mask(n), p)); }
  static V load_part(const double* p, int n) {
    const __mmask16 m = mask(n);
    const __m512d low = _mm512_maskz_loadu_pd(static_cast<__mmask8>(m), p);
    const __m512d high = _mm512_maskz_loadu_pd(static_cast<__mmask8>(m >> 8), p + 8);
    return join(_mm512_cvtpd_ps(low), _mm512_cvtpd_ps(high));
  }

  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static void store_part(float* p, V v, int n) { _mm512_mask_storeu_ps(p, mask(n), v); }

  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V max(V a, V b) { return _mm512_max_ps(a, b); }

  static float sum(V v) {
    const __m256 a = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
  }
  static __m128 sum4(V a, V b, V c, V d) {
    const V ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));  // 8 lanes of each
    const V cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xEE));
    V s = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));  // 4 lanes of each
    s = _mm512_add_ps(s, _mm512_permute_ps(s, 0x4E));
    s = _mm512_add_ps(s, _mm512_permute_ps(s, 0xB1));
    return _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, s));
  }
  static void store4(float* y, __m128 s, bool add) { _mm_storeu_ps(y, add ? _mm_add_ps(_mm_loadu_ps(y), s) : s); }

  static V exp(V x) {
    x = _mm512_min_ps(set1(kExpHigh), _mm512_max_ps(set1(kExpLow), x));  // in this order NaN stays NaN
    const V n = _mm512_roundscale_ps(_mm512_mul_ps(x, set1(kLog2e)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const V r = fma(n, set1(-kLn2Low), fma(n, set1(-kLn2High), x));
    V p = fma(set1(kExp4), r, set1(kExp3));
    p = fma(p, r, set1(kExp2));
    p = fma(p, r, set1(kExp1));
    p = fma(p, r, set1(kExp0));
    p = fma(_mm512_mul_ps(r, r), p, r);
    return _mm512_scalef_ps(_mm512_add_ps(p, set1(1.0f)), n);
  }

 private:
  static V widen(__m256i bits) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16)); }
  static V join(__m256 low, __m256 high) { return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1); }
};

struct D {
  using T = double;
  using V = __m512d;
  static constexpr int kLanes = 8;
  static constexpr int kTileRows = 6;
  static constexpr int kTileVectors = 2;
  static constexpr int kPackedRows = 4;

  static V zero() { return _mm512_setzero_pd(); }
  static V set1(double x) { return _mm512_set1_pd(x); }
  static __mmask8 mask(int n) { return static_cast<__mmask8>((1u << n) - 1u); }

  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static V load(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  static V load(const Half* p) { return _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))); }
  static V load(const Bfloat* p) { return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }

  static V load_part(const double* p, int n) { return _mm512_maskz_loadu_pd(mask(n), p); }
  static V load_part(const float* p, int n) { return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask(n), p)); }
  static V load_part(const Half* p, int n) { return _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_maskz_loadu_epi16(mask(n), p))); }
  static V load_part(const Bfloat* p, int n) { return widen(_mm_maskz_loadu_epi16(mask(n), p)); }

  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static void store_part(double* p, V v, int n) { _mm512_mask_storeu_pd(p, mask(n), v); }

  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V max(V a, V b) { return _mm512_max_pd(a, b); }

  static double sum(V v) {
    const __m256d a = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
    const __m128d b = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(b, _mm_unpackhi_pd(b, b)));
  }
  static __m256d sum4(V a, V b, V c, V d) { return _mm256_setr_pd(sum(a), sum(b), sum(c), sum(d)); }
  /// sum + amount where x >= bound, else sum.
  static V add_where(V x, V bound, V sum, V amount) {
    return _mm512_mask_add_pd(sum, _mm512_cmp_pd_mask(x, bound, _CMP_GE_OQ), sum, amount);
  }
  static void store4(double* y, __m256d s, bool add) { _mm256_storeu_pd(y, add ? _mm256_add_pd(_mm256_loadu_pd(y), s) : s); }

 private:
  static V widen(__m128i bits) { return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))); }
};

}  // namespace
}  // namespace kvscope::cpu::avx512
