// SPDX-License-Identifier: Apache-2.0
#include "policy/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Chosen {
  std::vector<int> keep, gone;
};

Chosen choose(std::vector<double> score, int budget, Protection protection, RemovalOrder order = RemovalOrder::by_pos,
              std::vector<double> tie = {}) {
  const SlotState slots = test::slots_of(static_cast<int>(score.size()));
  HeadDecision head;
  head.view = {&slots, nullptr, 0, 0};
  head.budget = budget;
  head.is_protected = protected_mask(slots, protection);
  head.score = std::move(score);
  head.tie_break = std::move(tie);
  TopSelection(order).select(head, 0);
  return {head.keep, head.gone};
}

TEST(Selection, OfEqualScoresTheLowerPositionStays) { EXPECT_THAT(choose({1, 3, 3, 0}, 2, {0, 1}).keep, ElementsAre(1, 3)); }

TEST(Selection, NanRanksLast) {
  EXPECT_THAT(choose({kNan, 1, -5, 2}, 3, {}).gone, ElementsAre(0));
  EXPECT_THAT(choose({kNan, 1, kNan, 2}, 3, {}).gone, ElementsAre(2)) << "of two NaN the younger goes";
  EXPECT_THAT(choose({kNan, kNan, kNan}, 1, {}).keep, ElementsAre(0));
}

TEST(Selection, ATieBreakDecidesBeforePosition) {
  EXPECT_THAT(choose({2, 2, 0, 0}, 3, {}, RemovalOrder::by_pos, {0, 0, 1, 2}).gone, ElementsAre(2));
}

TEST(Selection, SinksAndRecentStayWhateverTheirScore) {
  EXPECT_THAT(choose({0, 5, 4, 3, 0}, 3, {1, 1}).keep, ElementsAre(0, 1, 4));
  EXPECT_THAT(choose({0, 5, 4, 3, 0}, 1, {1, 1}).keep, ElementsAre(0, 4)) << "protected slots stay even over the budget";
  EXPECT_THAT(choose({0, 1, 2}, 1, {2, 2}).gone, IsEmpty());
}

TEST(Selection, PositionsOfStreamingAreTheFirstTwoAndTheLastThree) {
  EXPECT_THAT(choose({0, 1, 2, 3, 4, 5, 6, 7}, 5, {2, 0}).keep, ElementsAre(0, 1, 5, 6, 7));
}

TEST(Selection, RemovalsAreToldByPositionOrLowestFirst) {
  EXPECT_THAT(choose({3, 1, 2, 9}, 1, {}).gone, ElementsAre(0, 1, 2));
  EXPECT_THAT(choose({3, 1, 2, 9}, 1, {}, RemovalOrder::lowest_first).gone, ElementsAre(1, 2, 0));
}

TEST(Selection, HeavyHittersOfThreeRowsAreTheFirstAndTheNewest) { EXPECT_THAT(choose({1.8, .7, .5}, 2, {0, 1}).keep, ElementsAre(0, 2)); }

TEST(Selection, SinksAreNamedByPositionNotByPlace) {
  SlotState slots = test::slots_of(6);
  keep_slots(slots, std::vector{1, 3, 4, 5});
  EXPECT_THAT(protected_mask(slots, {2, 1}), ElementsAre(1, 0, 0, 1)) << "pos 0 is gone, so of the two sinks only pos 1 is left";
}

}  // namespace
}  // namespace kvscope
