// SPDX-License-Identifier: Apache-2.0
#pragma once

// What devices from capability 8.0 on bring for products of 16-bit numbers: small matrices that a warp loads and multiplies together, and
// copies to shared memory that nobody waits for until he says so. All lanes of a warp call these together.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend/cuda/kernels/types.h"

// A kernel that uses them has a body only where this is set.
#if !defined(__CUDACC__) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
#define KVSCOPE_TENSOR_CORES 1
#endif

namespace kvscope::cuda {

#if defined(__CUDACC__)

/// An address in shared memory: as many bytes behind it as are added.
using SharedPlace = std::uint32_t;

__device__ inline SharedPlace place_of(void* p) { return static_cast<SharedPlace>(__cvta_generic_to_shared(p)); }

/// Four matrices of 8 x 8 numbers: lane l says where row l % 8 of matrix l / 8 is, and out[i] are the numbers 2 (l % 4) and the next one of
/// row l / 4 of matrix i.
__device__ inline void load_matrices(SharedPlace row, std::uint32_t (&out)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row)
               : "memory");
}

/// The same of their transposes.
__device__ inline void load_transposed(SharedPlace row, std::uint32_t (&out)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row)
               : "memory");
}

/// c [16, 8] += a [16, 16] b [8, 16]^T, sums in f32. Lane l: c of rows l / 4 and, from c[2] on, l / 4 + 8, columns 2 (l % 4) and the next
/// one; a as load_matrices() gives it of the halves (upper left, lower left, upper right, lower right), b of (left, right).
template <class T>
__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t left, std::uint32_t right) {
  if constexpr (std::is_same_v<T, Bfloat>) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(left), "r"(right));
  } else {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(left), "r"(right));
  }
}

/// Two numbers side by side, the first in the lower half.
template <class T>
__device__ inline std::uint32_t pack(float first, float second) {
  std::uint32_t out;
  if constexpr (std::is_same_v<T, Bfloat>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(second), "f"(first));
  }
  return out;
}

/// 2^x: the same bits wherever it is called; exact for 0, 0 for -infinity.
__device__ inline float power_of_two(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

/// 16 bytes, both addresses multiples of 16. They are there when wait_for_copies() has returned in the thread that asked for them.
__device__ inline void copy_async(SharedPlace to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(__cvta_generic_to_global(from)) : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

#else  // the same on the host, thread by thread

using SharedPlace = unsigned char*;

inline SharedPlace place_of(void* p) { return static_cast<SharedPlace>(p); }

inline std::uint32_t two_numbers(const unsigned char* first, const unsigned char* second) {
  std::uint16_t x[2];
  std::memcpy(&x[0], first, 2);
  std::memcpy(&x[1], second, 2);
  return x[0] | static_cast<std::uint32_t>(x[1]) << 16;
}

inline void load_matrices(SharedPlace row, std::uint32_t (&out)[4]) {
  const SharedPlace* const rows = emulator::of_warp(row);
  const int l = emulator::lane();
  for (int i = 0; i < 4; ++i) {
    const SharedPlace from = rows[8 * i + l / 4] + 4 * (l % 4);
    out[i] = two_numbers(from, from + 2);
  }
}

inline void load_transposed(SharedPlace row, std::uint32_t (&out)[4]) {
  const SharedPlace* const rows = emulator::of_warp(row);
  const int l = emulator::lane();
  for (int i = 0; i < 4; ++i) {
    const SharedPlace* const from = rows + 8 * i + 2 * (l % 4);
    out[i] = two_numbers(from[0] + 2 * (l / 4), from[1] + 2 * (l / 4));
  }
}

template <class T>
void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t left, std::uint32_t right) {
  struct Parts {
    std::uint32_t a[4], b[2];
  };
  const Parts* const lanes = emulator::of_warp(Parts{{a[0], a[1], a[2], a[3]}, {left, right}});
  const int l = emulator::lane();
  const auto number = [](std::uint32_t two, int i) { return to_float(T{static_cast<std::uint16_t>(two >> (16 * i))}); };
  for (int i = 0; i < 4; ++i) {
    const Parts *const rows = lanes + l / 4 * 4, *const columns = lanes + (l % 4 * 2 + i % 2) * 4;
    for (int k = 0; k < 16; ++k)
      c[i] = fmaf(number(rows[k % 8 / 2].a[i / 2 + k / 8 * 2], k % 2), number(columns[k % 8 / 2].b[k / 8], k % 2), c[i]);
  }
}

template <class T>
std::uint32_t pack(float first, float second) {
  return from_float<T>(first).bits | static_cast<std::uint32_t>(from_float<T>(second).bits) << 16;
}

inline float power_of_two(float x) { return std::exp2(x); }

inline void copy_async(SharedPlace to, const void* from) { emulator::copy_later(to, from, 16); }
inline void wait_for_copies() { emulator::wait_for_copies(); }

#endif

}  // namespace kvscope::cuda
