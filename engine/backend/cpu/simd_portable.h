// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of 16 bytes in the compiler's own vector extension: SSE2 on x86-64, NEON on arm64, plain code elsewhere.

#include "backend/cpu/simd_types.h"
#include "core/half.h"

namespace kvscope::cpu::portable {
namespace {

inline float to_float(float x) { return x; }
inline double to_float(double x) { return x; }
inline float to_float(std::int8_t x) { return x; }
inline float to_float(Half x) { return half_to_float(x.bits); }
inline float to_float(Bfloat x) { return bfloat_to_float(x.bits); }

/// Everything that is the same for both widths. Number = float or double, Vector holds Lanes of them.
template <class Number, class Vector, int Lanes>
struct Common {
  using T = Number;
  using V = Vector;
  static constexpr int kLanes = Lanes;
  static constexpr int kTileRows = 3;
  static constexpr int kTileVectors = 2;
  static constexpr int kPackedRows = 0;

  static V zero() { return V{}; }
  static V set1(T x) { return V{} + x; }

  static V load(const T* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  template <class From>
  static V load(const From* p) {
    V v;
    for (int i = 0; i < kLanes; ++i) v[i] = static_cast<T>(to_float(p[i]));
    return v;
  }
  template <class From>
  static V load_part(const From* p, int n) {
    V v{};
    for (int i = 0; i < n; ++i) v[i] = static_cast<T>(to_float(p[i]));
    return v;
  }
  static void store(T* p, V v) { __builtin_memcpy(p, &v, sizeof v); }
  static void store_part(T* p, V v, int n) {
    for (int i = 0; i < n; ++i) p[i] = v[i];
  }

  static V fma(V a, V b, V c) { return a * b + c; }
  static V max(V a, V b) { return a > b ? a : b; }  // b where one is NaN

  static T sum(V v) {
    if constexpr (kLanes == 4) {
      return (v[0] + v[2]) + (v[1] + v[3]);
    } else {
      return v[0] + v[1];
    }
  }
  struct Four {
    T value[4];
  };
  static Four sum4(V a, V b, V c, V d) { return {{sum(a), sum(b), sum(c), sum(d)}}; }
  static void store4(T* y, Four s, bool add) {
    for (int i = 0; i < 4; ++i) y[i] = add ? y[i] + s.value[i] : s.value[i];
  }
};

typedef float Float4 __attribute__((vector_size(16)));
typedef int Int4 __attribute__((vector_size(16)));
typedef double Double2 __attribute__((vector_size(16)));

struct F : Common<float, Float4, 4> {
  static V exp(V x) {
    const V low = set1(kExpLow), high = set1(kExpHigh);
    x = x < low ? low : x;  // NaN stays NaN
    x = x > high ? high : x;
    const V magic = set1(0x1.8p23f);  // adding it rounds to an integer
    const V n = (x * kLog2e + magic) - magic;
    const V r = (x - n * kLn2High) - n * kLn2Low;
    V p = r * kExp4 + kExp3;
    p = p * r + kExp2;
    p = p * r + kExp1;
    p = p * r + kExp0;
    p = (r * r) * p + r;
    const V whole = x == x ? n : V{};  // an integer of NaN is undefined
    const Int4 i = __builtin_convertvector(whole, Int4), first = i >> 1;
    return (p + 1.0f) * power(first) * power(i - first);
  }

 private:
  static V power(Int4 n) { return reinterpret_cast<V>((n + 127) << 23); }
};

struct D : Common<double, Double2, 2> {
  /// sum + amount where x >= bound, else sum.
  static V add_where(V x, V bound, V sum, V amount) { return sum + (x >= bound ? amount : zero()); }
};

}  // namespace
}  // namespace kvscope::cpu::portable
