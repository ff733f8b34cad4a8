// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/host_device.h"

namespace kvscope {

/// 64 bits for place i of a synthetic weight; they look random.
KVSCOPE_HOST_DEVICE inline std::uint64_t synthetic_bits(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ seed;  // the finish of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Whole number from -127 to 127 for place i. Times 2^-12 it is a number of every format, exactly.
KVSCOPE_HOST_DEVICE inline int synthetic_number(std::uint64_t seed, std::uint64_t i) {
  return static_cast<int>(synthetic_bits(seed, i) % 255) - 127;
}

inline constexpr float kSyntheticUnit = 0x1p-12f;

/// Types that a synthetic weight can have in blocks.
constexpr bool has_synthetic_blocks(DType type) { return type == DType::q8_0 || type == DType::q4_k || type == DType::q6_k; }

/// Block i of a synthetic weight: codes and scales inside of it look random, its factors (f16) are such that numbers are of the size of the
/// other formats': about 0.018.
KVSCOPE_HOST_DEVICE inline void synthetic_block(DType type, std::uint64_t seed, std::uint64_t i, unsigned char* to) {
  constexpr std::uint64_t kMostWords = 27;
  const int bytes = static_cast<int>(block_of(type).bytes);
  std::uint64_t bits = 0;
  for (int at = 0; at < bytes; ++at, bits >>= 8) {
    if (at % 8 == 0) bits = synthetic_bits(seed, i * kMostWords + static_cast<std::uint64_t>(at / 8));
    to[at] = static_cast<unsigned char>(bits);
  }
  const auto put = [to](int at, unsigned half) {
    to[at] = static_cast<unsigned char>(half);
    to[at + 1] = static_cast<unsigned char>(half >> 8);
  };
  if (type == DType::q8_0) put(0, 0x0c00);    // 2^-12
  if (type == DType::q6_k) put(208, 0x0100);  // 2^-16
  if (type == DType::q4_k) {
    put(0, 0x0400);  // 2^-14
    put(2, 0x0f80);  // 7.5 of them: codes are 7.5 on average
  }
}

}  // namespace kvscope
