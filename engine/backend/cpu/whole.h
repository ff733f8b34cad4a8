// SPDX-License-Identifier: Apache-2.0
#pragma once

// What whole_body.h needs of numbers one by one. The scale that makes floats whole numbers X of so many bits and a sign: |x - scale X| is
// at most half the scale, which is a power of two: 2^-22 of the largest x with 22 bits, about what float itself keeps of that one.

#include <bit>
#include <cstdint>

namespace kvscope::cpu {

struct WholeScale {
  float scale;
  float inverse;  // 1 / scale

  /// `most`: the bits of the largest of the numbers without their signs. If it is not finite, neither is the scale, so that it shows.
  WholeScale(std::int32_t most, int bits) {
    constexpr int kMantissa = 23, kNotFinite = 0xff, kBias = 127;
    constexpr std::int32_t kRoom = 1 << 17;                     // X is at most 127/128 of a power of two: digits of 8 bits end before it
    const int least = bits, top = (most + kRoom) >> kMantissa;  // below `least` the scale would be subnormal
    const int exponent = top > least ? top : least;
    const bool finite = most >> kMantissa != kNotFinite;
    scale = finite ? power(exponent + 1 - bits) : __builtin_nanf("");
    inverse = finite ? power(2 * kBias - (exponent + 1 - bits)) : 0.0f;
  }

 private:
  static float power(int biased) { return std::bit_cast<float>(static_cast<std::int32_t>(biased) << 23); }
};

/// Eight scales and eight minima of six bits, out of the twelve bytes of Q4_K and Q5_K, each in a byte.
struct PackedScales {
  std::uint64_t scales, minima;

  explicit PackedScales(const std::uint8_t* p) {
    std::uint32_t low, middle, high;
    __builtin_memcpy(&low, p, 4);
    __builtin_memcpy(&middle, p + 4, 4);
    __builtin_memcpy(&high, p + 8, 4);
    constexpr std::uint32_t kSix = 0x3f3f3f3f, kFour = 0x0f0f0f0f, kTwo = 0x30303030;
    scales = (low & kSix) | static_cast<std::uint64_t>((high & kFour) | (low >> 2 & kTwo)) << 32;
    minima = (middle & kSix) | static_cast<std::uint64_t>((high >> 4 & kFour) | (middle >> 2 & kTwo)) << 32;
  }
};

}  // namespace kvscope::cpu
