// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/value_spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/rules.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Slots of given accumulated attention; one number as value.
struct SpreadExample {
  test::TinyHead head;

  SpreadExample(const std::vector<double>& A, const std::vector<double>& values) {
    head.slots = test::slots_of(static_cast<int>(A.size()));
    head.slots.sum = A;
    head.slots.times.assign(A.size(), 1);
    for (const double v : values) {
      head.k.push_back({v});
      head.v.push_back({v});
    }
  }
  Plan merge(std::vector<int> keep, std::vector<int> gone, int m, int step = 0) {
    HeadDecision d;
    d.view = {&head.slots, nullptr, 0, 0};
    d.keep = std::move(keep);
    d.gone = std::move(gone);
    ValueSpreadMerger(m, /*seed=*/0).merge_layer({&d, 1}, step);
    return d.plan;
  }
};

TEST(ValueSpread, TheChanceIsTheAttentionAgainstTheMeanOfTheTargets) {
  EXPECT_DOUBLE_EQ(spread_probability(.1, .4), .25);
  EXPECT_EQ(spread_probability(.5, .4), 1);
  EXPECT_EQ(spread_probability(0, 0), 0);
  EXPECT_EQ(spread_probability(.1, 0), 1);
}

TEST(ValueSpread, ThePapersExampleAddsHalfOfTheValueToBothNeighbours) {
  SpreadExample x({.2, .1, .3}, {2, 1, 0});  // mean of the targets .2: certain
  const Plan plan = x.merge({1, 2}, {0}, 2);
  ASSERT_THAT(plan.removals, SizeIs(1));
  EXPECT_EQ(plan.removals[0].target, -1) << "the token itself is evicted";
  EXPECT_THAT(plan.removals[0].spread, ElementsAre(1, 2));
  x.head.apply(StatNeeds{.sum = true}, plan);
  EXPECT_EQ(x.head.v[0][0], 2);
  EXPECT_EQ(x.head.v[1][0], 1) << "what was 2 + 1 + 0 is 2 + 1";
  EXPECT_THAT(x.head.k, ElementsAre(ElementsAre(1), ElementsAre(0))) << "keys stay";
  EXPECT_EQ(x.head.slots.evicted_votes, 1);
}

TEST(ValueSpread, WithoutAttentionNothingIsSpread) {
  SpreadExample x({0, 0, 0}, {2, 1, 0});
  const Plan plan = x.merge({1, 2}, {0}, 2);
  EXPECT_THAT(plan.removals[0].spread, IsEmpty());
  EXPECT_THAT(plan.merges, IsEmpty());
}

TEST(ValueSpread, TheLastSlotHasNoOneToSpreadTo) {
  SpreadExample x({.2, .9}, {2, 1});
  EXPECT_THAT(x.merge({0}, {1}, 2).removals[0].spread, IsEmpty());
}

TEST(ValueSpread, ATargetOfSeveralTakesAllTheirParts) {
  SpreadExample x({9, 9, .1, .1}, {4, 8, 1, 2});
  const Plan plan = x.merge({2, 3}, {0, 1}, 32);
  x.head.apply(StatNeeds{.sum = true}, plan);
  EXPECT_EQ(x.head.v[0][0], 1 + 4 / 2.0 + 8 / 2.0);
  EXPECT_EQ(x.head.v[1][0], 2 + 4 / 2.0 + 8 / 2.0);
}

TEST(ValueSpread, EveryRemovalHasItsOwnDraw) {
  // chance 1/2 each; removal e of a step is spread if and only if draw e of POLICIES.md section 2 lies below it
  int spread = 0;
  for (int step = 0; step < 50; ++step) {
    SpreadExample x({.5, .5, 1, 1}, {1, 1, 1, 1});
    const Plan plan = x.merge({2, 3}, {0, 1}, 2, step);
    for (int e = 0; e < 2; ++e) {
      EXPECT_EQ(!plan.removals[static_cast<std::size_t>(e)].spread.empty(), uniform_draw(0, step, 0, 0, e) < .5);
      spread += !plan.removals[static_cast<std::size_t>(e)].spread.empty();
    }
  }
  EXPECT_GT(spread, 30);
  EXPECT_LT(spread, 70);
}

}  // namespace
}  // namespace kvscope
