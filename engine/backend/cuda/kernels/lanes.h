// SPDX-License-Identifier: Apache-2.0
#pragma once

// How kernels load numbers, several at a time, and add over the lanes of a warp.

#include "backend/cuda/kernels/types.h"

namespace kvscope::cuda {

/// kCount numbers that are loaded and stored at once. The address must be a multiple of its size.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T x[kCount];
};

/// As many numbers as one load can bring: 16 bytes.
template <class T>
inline constexpr int kWide = 16 / static_cast<int>(sizeof(T));

template <class T, int kCount>
__device__ inline Pack<T, kCount> load(const T* p) {
  return *reinterpret_cast<const Pack<T, kCount>*>(p);
}

/// The same of what is read once, so that it leaves what is read again in the first cache.
template <class T, int kCount>
__device__ inline Pack<T, kCount> load_once(const T* p) {
#if defined(__CUDACC__)
  if constexpr (sizeof(T) * kCount == 16) {
    const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(p));
    return *reinterpret_cast<const Pack<T, kCount>*>(&bits);
  }
#endif
  return load<T, kCount>(p);
}

template <class T, int kCount>
__device__ inline void unpack(const Pack<T, kCount>& from, float* to) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = to_float(from.x[i]);
}

/// Sum over groups of `lanes` neighbouring lanes of a warp, the same bits in each of them. All lanes of the warp must call it.
template <class T>
__device__ inline T sum_over_lanes(T x, int lanes = 32) {
  for (int step = lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

__device__ inline float max_over_lanes(float x, int lanes = 32) {
  for (int step = lanes / 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

}  // namespace kvscope::cuda
