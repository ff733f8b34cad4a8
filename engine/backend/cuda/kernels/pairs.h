// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers of 16 bits in pairs, and products of small matrices of them that a warp makes together.

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

/// d [16, 8] += a [16, 16] b [16, 8]; all lanes of the warp call it. With g = lane / 4, t = lane % 4 a lane has
///   a: rows g, g + 8 (a[0], a[1]) at k = 2t, 2t + 1; the same rows (a[2], a[3]) at k = 2t + 8, 2t + 9
///   b: column g at k = 2t, 2t + 1 (left) and at k = 2t + 8, 2t + 9 (right)
///   d: row g, columns 2t, 2t + 1 (d[0], d[1]); row g + 8, the same columns (d[2], d[3]).
/// M: Half or Bfloat. Products are exact, sums f32. A number of d depends on its row of a and its column of b alone.
template <class M>
__device__ inline void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t left, std::uint32_t right) {
#if !defined(__CUDACC__)
  const int g = emulator::lane() / 4, t = emulator::lane() % 4;
  const auto both = [](std::uint32_t x, std::uint32_t y) { return x | static_cast<std::uint64_t>(y) << 32; };
  const auto add = [](float& sum, std::uint64_t x, std::uint64_t y) {
    for (int i = 0; i < 64; i += 16)
      sum += to_float(M{static_cast<std::uint16_t>(x >> i)}) * to_float(M{static_cast<std::uint16_t>(y >> i)});
  };
  for (int from = 0; from < 4; ++from) {
    const std::uint64_t upper = emulator::shuffle(both(a[0], a[2]), 4 * g + from),
                        lower = emulator::shuffle(both(a[1], a[3]), 4 * g + from),
                        even = emulator::shuffle(both(left, right), 8 * t + from),
                        odd = emulator::shuffle(both(left, right), 8 * t + 4 + from);
    add(d[0], upper, even);
    add(d[1], upper, odd);
    add(d[2], lower, even);
    add(d[3], lower, odd);
  }
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<M, Half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(left), "r"(right));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(left), "r"(right));
  }
#elif defined(__CUDA_ARCH__)
  __trap();  // no device before 8.0 is given such a kernel
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
