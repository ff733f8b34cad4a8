// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace kvscope {
namespace {

/// IEEE 754-2019 binary16 by its definition, in double.
double half_by_definition(unsigned bits) {
  const double sign = bits & 0x8000u ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 10) & 31u), fraction = static_cast<int>(bits & 1023u);
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(HalfToFloat, EqualsTheDefinitionForAll65536Values) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float f = half_to_float(static_cast<std::uint16_t>(bits));
    const double expected = half_by_definition(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(f)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(f), expected) << bits;
      ASSERT_EQ(std::signbit(f), (bits & 0x8000u) != 0) << bits;
    }
  }
}

TEST(HalfToFloat, KnowsTheNumbersOfTheTextbook) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0xc000), -2.0f);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x0400), 0x1p-14f);
}

TEST(BfloatToFloat, IsTheUpperHalfOfAFloatForAll65536Values) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float f = bfloat_to_float(static_cast<std::uint16_t>(bits));
    std::uint32_t word;
    std::memcpy(&word, &f, 4);
    ASSERT_EQ(word, bits << 16);
  }
}

}  // namespace
}  // namespace kvscope
