// SPDX-License-Identifier: Apache-2.0
// Keys that differ from the others stay.
#include <gtest/gtest.h>

#include <cmath>

#include "policy/rankings/key_difference_ranking.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

TEST(KeyDifference, TheKeyApartFromTheOthersRanksFirst) {
  // normalised: (1,0) (1,0) (0,1); mean (2/3, 1/3), its length sqrt(5)/3
  const double keys[] = {2, 0, 1, 0, 0, 7};
  const std::vector<double> score = key_differences(keys, 3);
  EXPECT_DOUBLE_EQ(score[0], -2 / std::sqrt(5));
  EXPECT_DOUBLE_EQ(score[1], -2 / std::sqrt(5)) << "the length of a key does not matter";
  EXPECT_DOUBLE_EQ(score[2], -1 / std::sqrt(5));
}

TEST(KeyDifference, ZeroVectorsScoreZero) {
  const double one_zero[] = {0, 0, 3, 0};
  EXPECT_EQ(key_differences(one_zero, 2), (std::vector<double>{0, -1}));
  const double opposite[] = {1, 0, -1, 0};
  EXPECT_EQ(key_differences(opposite, 2), (std::vector<double>{0, 0})) << "the mean is zero";
  EXPECT_TRUE(key_differences({}, 0).empty());
}

TEST(KeyDifference, ReadsTheKeysOfTheHeadAndNothingElse) {
  const test::Rows keys = {{2, 0}, {1, 0}, {0, 7}};
  const test::RowGeometry geometry(keys);
  const SlotState slots = test::slots_of(3);
  const KeyDifferenceRanking ranking;
  EXPECT_EQ(ranking.score({&slots, &geometry, 0, 0}), key_differences(std::vector<double>{2, 0, 1, 0, 0, 7}, 3));
  StatNeeds needs;
  ranking.require(needs);
  EXPECT_FALSE(needs.reads_a() || needs.reads_z() || needs.key_norm);
}

}  // namespace
}  // namespace kvscope
