// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "backend/cuda/kernels/types.h"

namespace kvscope::cuda {
namespace {

template <class T>
void every_number_comes_back() {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const T x{static_cast<std::uint16_t>(bits)};
    const float value = to_float(x);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(from_float<T>(value)))) << bits;
    } else {
      EXPECT_EQ(from_float<T>(value).bits, bits);
    }
  }
}

TEST(Formats, EveryHalfAndBfloatComesBackFromFloat) {
  every_number_comes_back<Half>();
  every_number_comes_back<Bfloat>();
}

/// Between two neighbours the nearer one, at the middle the even one; for all pairs of positive numbers.
template <class T>
void rounds_to_nearest_even(std::uint16_t largest) {
  for (std::uint16_t bits = 0; bits < largest; ++bits) {
    const float low = to_float(T{bits}), high = to_float(T{static_cast<std::uint16_t>(bits + 1)}), middle = low + (high - low) / 2;
    const std::uint16_t even = static_cast<std::uint16_t>(bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(from_float<T>(middle).bits, even);
    EXPECT_EQ(from_float<T>(std::nextafter(middle, low)).bits, bits);
    EXPECT_EQ(from_float<T>(std::nextafter(middle, high)).bits, bits + 1);
    EXPECT_EQ(from_float<T>(-middle).bits, even | 0x8000);
  }
}

TEST(Formats, HalvesRoundToTheNearestAndTiesToEven) { rounds_to_nearest_even<Half>(0x7bff); }

TEST(Formats, BfloatsRoundToTheNearestAndTiesToEven) {
  for (std::uint16_t bits = 0x0080; bits < 0x7f7f; ++bits) {  // normal ones; below, floats have no more digits to speak of
    const float low = to_float(Bfloat{bits}), high = to_float(Bfloat{static_cast<std::uint16_t>(bits + 1)}),
                middle = low + (high - low) / 2;
    EXPECT_EQ(from_float<Bfloat>(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(from_float<Bfloat>(std::nextafter(middle, low)).bits, bits);
  }
}

TEST(Formats, WhatIsTooLargeBecomesInfinity) {
  EXPECT_EQ(from_float<Half>(65504.0f).bits, 0x7bff);
  EXPECT_EQ(from_float<Half>(65519.0f).bits, 0x7bff);
  EXPECT_EQ(from_float<Half>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(from_float<Half>(-INFINITY).bits, 0xfc00);
  EXPECT_EQ(from_float<Bfloat>(3.4e38f).bits, 0x7f80);
}

}  // namespace
}  // namespace kvscope::cuda
