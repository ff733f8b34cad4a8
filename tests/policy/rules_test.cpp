// SPDX-License-Identifier: Apache-2.0
#include "policy/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace kvscope {
namespace {

using testing::ElementsAre;

TEST(Rules, RoundsHalvesUp) {
  EXPECT_EQ(round_half_up(2.5), 3);
  EXPECT_EQ(round_half_up(2.4999), 2);
  EXPECT_EQ(round_half_up(0.2 * 512), 102);
  EXPECT_EQ(round_half_up(1e300), 1'000'000'000) << "no overflow";
}

TEST(Rules, AValueWithADecimalPointIsAFractionOfTheBudget) {
  EXPECT_EQ(count_or_fraction("0.5", 9), 5);
  EXPECT_EQ(count_or_fraction("3", 9), 3);
  EXPECT_EQ(count_or_fraction("1.0", 9), 9);
  EXPECT_EQ(count_or_fraction("0.2", 10), 2);
}

TEST(Rules, LargestRemainderKeepsTheSumAndGivesTiesToTheLowerIndex) {
  EXPECT_THAT(largest_remainder(std::vector{5.5, 2.5}, 8), ElementsAre(6, 2));
  EXPECT_THAT(largest_remainder(std::vector{6.4, 1.6}, 8), ElementsAre(6, 2));
  EXPECT_THAT(largest_remainder(std::vector{1 / 3.0, 1 / 3.0, 1 / 3.0 + 1e-15}, 1), ElementsAre(1, 0, 0)) << "the last bits decide nothing";
}

TEST(Rules, LargestRemainderPassesOnWhatAFullShareCannotTake) {
  EXPECT_THAT(largest_remainder(std::vector{7.6, 0.4}, 8, std::vector{5, 5}), ElementsAre(5, 3));
  EXPECT_THAT(largest_remainder(std::vector{7.6, 0.4}, 8, std::vector{2, 3}), ElementsAre(2, 3)) << "all full: the rest is left";
}

TEST(Rules, SplitmixIsTheStandardFinaliser) {
  EXPECT_EQ(splitmix64(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(splitmix64(1), 0x910A2DEC89025CC1u);
}

TEST(Rules, DrawsAreCountedNotSequential) {
  EXPECT_DOUBLE_EQ(uniform_draw(0, 0, 0, 0, 0), 0.6615986530695558);
  std::set<double> seen;
  double sum = 0;
  for (int step = 0; step < 8; ++step)
    for (int layer = 0; layer < 3; ++layer)
      for (int head = 0; head < 3; ++head)
        for (int e = 0; e < 8; ++e) {
          const double u = uniform_draw(0, step, layer, head, e);
          EXPECT_GE(u, 0.0);
          EXPECT_LT(u, 1.0);
          seen.insert(u);
          sum += u;
        }
  EXPECT_EQ(seen.size(), 8u * 3 * 3 * 8);
  EXPECT_NEAR(sum / static_cast<double>(seen.size()), 0.5, 0.05);
}

}  // namespace
}  // namespace kvscope
