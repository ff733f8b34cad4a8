// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/bins.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/draw/ramp_texels.h"

namespace kvscope::viz {
namespace {

TEST(Bins, SumsOfGroupsEqualThoseOneByOne) {
  std::mt19937 random(1);
  for (const std::size_t group : {1u, 2u, 3u, 4u, 8u, 64u, 1024u, 2048u}) {
    for (const std::size_t n : {0u, 1u, 3u, 700u}) {
      std::vector<std::uint16_t> counts(n * group);
      for (auto& c : counts) c = static_cast<std::uint16_t>(random());
      std::vector<std::uint32_t> out(n, 9);
      group_sums(counts, group, out);
      for (std::size_t i = 0; i < n; ++i) {
        std::uint32_t sum = 0;
        for (std::size_t j = 0; j < group; ++j) sum += counts[i * group + j];
        ASSERT_EQ(out[i], sum) << i << " of " << n << " groups of " << group;
      }
    }
  }
}

TEST(Bins, BitsAreCountedInGroupsAndAfterTheLastWordThereAreNone) {
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> words(5);
  for (auto& w : words) w = random();
  for (const std::size_t group : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u}) {
    std::vector<std::uint32_t> wide(words.size() * 64 / group + 4);
    bit_counts(words, group, 3, wide);
    std::vector<std::uint16_t> narrow(wide.size());
    bit_counts(words, group, 3, narrow);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      std::uint32_t sum = 0;
      for (std::size_t bit = (i + 3) * group; bit < (i + 4) * group && bit < words.size() * 64; ++bit)
        sum += words[bit / 64] >> (bit % 64) & 1;
      ASSERT_EQ(wide[i], sum) << i << " of " << group;
      ASSERT_EQ(narrow[i], sum);
    }
  }
  std::vector<std::uint64_t> other(words.size(), 0xFFFF0000FFFF0000ull);
  std::int64_t common = 0;
  for (const std::uint64_t w : words) common += std::popcount(w & other[0]);
  EXPECT_EQ(common_bits(words, other), common);
}

TEST(Bins, WhatIsGreaterIsABitAndIsCounted) {
  std::array<int, 64> x{}, n{};
  for (int k = 0; k < 64; ++k) x[static_cast<std::size_t>(k)] = k * 7 % 13;
  n.fill(5);
  const std::uint64_t bits = greater_bits(x, 6, n);
  for (std::size_t k = 0; k < 64; ++k) {
    EXPECT_EQ(bits >> k & 1, x[k] > 6 ? 1u : 0u);
    EXPECT_EQ(n[k], x[k] > 6 ? 6 : 5);
  }
}

TEST(RampTexels, AreThoseOfTheRampAtEveryShare) {
  const std::span<const Rgb> colours = dark_theme().sequential;
  RampTexelsCache cache;
  for (const std::size_t n : {0u, 1u, 7u, 1024u, 50000u}) {
    const RampTexels& texels = cache.of(colours, n);
    for (std::size_t i = 0; i <= n; i += 1 + n / 97)
      ASSERT_EQ(texels[i], colour(ramp(colours, n > 0 ? static_cast<double>(i) / static_cast<double>(n) : 0))) << i << " of " << n;
  }
}

}  // namespace
}  // namespace kvscope::viz
