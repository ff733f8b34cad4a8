// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/weighted_neighbour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Three or more slots of given mean attention (scored once) and values.
struct NeighboursExample {
  test::TinyHead head;

  NeighboursExample(const std::vector<double>& W, const std::vector<double>& values) {
    head.slots = test::slots_of(static_cast<int>(W.size()));
    head.slots.sum = W;
    head.slots.times.assign(W.size(), 1);
    for (const double v : values) {
      head.k.push_back({1.0});
      head.v.push_back({v});
    }
  }
  Plan merge(std::vector<int> gone) {
    HeadDecision d;
    d.view = {&head.slots, nullptr, 0, 0};
    d.score = head.slots.sum;
    d.gone = std::move(gone);
    WeightedNeighbourMerger().merge(d);
    return d.plan;
  }
};

const StatNeeds kNeeds{.sum = true};

TEST(WeightedNeighbour, ThePapersToyMixesPointOneAndPointFive) {
  NeighboursExample x({.1, .5, .9}, {6, 12, 7});
  const Plan plan = x.merge({0});
  ASSERT_EQ(plan.removals.size(), 1u);
  EXPECT_DOUBLE_EQ(plan.removals[0].w_removed, .1 / .6);
  EXPECT_DOUBLE_EQ(plan.removals[0].w_target, .5 / .6);
  x.head.apply(kNeeds, plan);
  EXPECT_DOUBLE_EQ(x.head.v[0][0], (.1 * 6 + .5 * 12) / .6);
  EXPECT_THAT(x.head.slots.members(0), ElementsAre(0, 1));
  EXPECT_THAT(x.head.slots.sum, ElementsAre(.5, .9)) << "the neighbour keeps its own statistic";
  EXPECT_THAT(x.head.k[0], ElementsAre(1.0)) << "and its key";
}

TEST(WeightedNeighbour, ANeighbourThatIsRemovedLaterHandsOnWhatItTook) {
  NeighboursExample x({.1, .2, .9}, {6, 12, 7});
  x.head.apply(kNeeds, x.merge({0, 1}));
  const double v1 = (.1 * 6 + .2 * 12) / .3;
  EXPECT_DOUBLE_EQ(x.head.v[0][0], (.2 * v1 + .9 * 7) / 1.1);
  EXPECT_THAT(x.head.slots.members(0), ElementsAre(0, 1, 2));
}

TEST(WeightedNeighbour, TheNeighbourIsTheNextSlotThatIsStillThere) {
  NeighboursExample x({.4, .1, .2, .9}, {1, 2, 3, 4});
  const Plan plan = x.merge({1, 2, 0});  // when 0 goes, 1 and 2 are gone
  EXPECT_EQ(plan.removals[0].target, 2);
  EXPECT_EQ(plan.removals[1].target, 3);
  EXPECT_EQ(plan.removals[2].target, 3);
  EXPECT_DOUBLE_EQ(plan.removals[2].w_removed, .4 / 1.3);
}

TEST(WeightedNeighbour, TheLastSlotHasNoNeighbourAndIsEvicted) {
  NeighboursExample x({.9, .1}, {1, 2});
  const Plan plan = x.merge({1});
  EXPECT_EQ(plan.removals[0].target, -1);
  EXPECT_THAT(plan.merges, IsEmpty());
}

TEST(WeightedNeighbour, WithoutAnyAttentionTheValueStaysAndTheTokenStillJoins) {
  NeighboursExample x({0, 0}, {1, 2});
  const Plan plan = x.merge({0});
  x.head.apply(kNeeds, plan);
  EXPECT_EQ(x.head.v[0][0], 2);
  EXPECT_THAT(x.head.slots.members(0), ElementsAre(0, 1));
  EXPECT_EQ(plan.removals[0].w_target, 1);
}

}  // namespace
}  // namespace kvscope
