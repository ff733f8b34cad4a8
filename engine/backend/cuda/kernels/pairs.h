// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers of 16 bits in pairs.

#include <type_traits>

#include "backend/cuda/kernels/types.h"

namespace kvscope::cuda {

/// Two numbers of 16 bits in one register, the first in the low half.
__host__ __device__ inline std::uint32_t pair_of(std::uint32_t low, std::uint32_t high) { return (low & 0xffffu) | high << 16; }

/// x & mask | base in one instruction: of two constants the compiler makes two.
__device__ inline std::uint32_t masked_or(std::uint32_t x, std::uint32_t mask, std::uint32_t base) {
#if defined(__CUDA_ARCH__)
  std::uint32_t out;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(out) : "r"(x), "r"(mask), "r"(base));
  return out;
#else
  return (x & mask) | base;
#endif
}

/// x + y of both halves, rounded to 16 bits each.
template <class M>
__device__ inline std::uint32_t add_pairs(std::uint32_t x, std::uint32_t y) {
#if !defined(__CUDACC__)
  const auto sum = [](std::uint32_t p, std::uint32_t q) {
    return from_float<M>(to_float(M{static_cast<std::uint16_t>(p)}) + to_float(M{static_cast<std::uint16_t>(q)})).bits;
  };
  return pair_of(sum(x, y), sum(x >> 16, y >> 16));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t sum;
  if constexpr (std::is_same_v<M, Half>) {
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(x), "r"(y));
  } else {
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(0x3f803f80u), "r"(y));  // 8.0 has no sum of its own
  }
  return sum;
#else
  return x & y & 0u;
#endif
}

}  // namespace kvscope::cuda
