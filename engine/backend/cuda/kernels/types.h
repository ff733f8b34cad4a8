// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers in the formats of weights and caches, for host and device.

#include <cuda_runtime.h>
#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/half.h"

namespace kvscope::cuda {

struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

__host__ __device__ inline std::uint32_t bits_of(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
#endif
}

__host__ __device__ inline float float_of(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
#endif
}

__host__ __device__ inline float to_float(float x) { return x; }
__host__ __device__ inline float to_float(Bfloat x) { return float_of(static_cast<std::uint32_t>(x.bits) << 16); }
__host__ __device__ inline float to_float(Half x) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(x.bits));
#else
  return half_to_float(x.bits);
#endif
}

/// Nearest, ties to even; overflow to infinity.
template <class T>
__host__ __device__ T from_float(float x);

template <>
__host__ __device__ inline float from_float<float>(float x) {
  return x;
}

template <>
__host__ __device__ inline Bfloat from_float<Bfloat>(float x) {
  const std::uint32_t bits = bits_of(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};  // NaN stays NaN
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

template <>
__host__ __device__ inline Half from_float<Half>(float x) {
#if defined(__CUDA_ARCH__)
  return {__half_as_ushort(__float2half_rn(x))};
#else
  const std::uint32_t bits = bits_of(x), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (size >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // rounds to more than the largest
  if (size < 0x38800000u) {  // subnormal: count units of 2^-24; adding 2^23 leaves exactly their number in the mantissa, rounded to even
    const float units = float_of(size) * 0x1p24f + 0x1p23f;
    return {static_cast<std::uint16_t>(sign | (bits_of(units) - bits_of(0x1p23f)))};
  }
  const std::uint32_t rounded = size + 0xfffu + ((size >> 13) & 1u);
  return {static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
#endif
}

/// body(number type) for host loops over numbers of a dtype.
template <class Body>
void with_host_type(DType type, const Body& body) {
  if (type == DType::f32) return body(float{});
  if (type == DType::f16) return body(Half{});
  body(Bfloat{});
}

}  // namespace kvscope::cuda
