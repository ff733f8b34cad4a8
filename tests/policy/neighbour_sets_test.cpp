// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/neighbour_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

KeyRows key_rows(const test::Rows& keys) {
  std::vector<double> flat;
  for (const auto& k : keys) flat.insert(flat.end(), k.begin(), k.end());
  return {flat, static_cast<int>(keys.size())};
}

std::vector<double> at_angle(double x) { return {std::cos(x), std::sin(x)}; }

TEST(NeighbourSets, UnlikeKeysStayAloneAndLikeOnesBecomeOneSet) {
  EXPECT_THAT(neighbour_sets(key_rows({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}), .75),
              ElementsAre(ElementsAre(2), ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(neighbour_sets(key_rows({{1, 1}, {1, 1}, {1, 1}}), .75), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(neighbour_sets(key_rows({}), .75), IsEmpty());
}

TEST(NeighbourSets, AKeyIsComparedWithTheAnchorNotWithItsNeighbour) {
  // half a radian apart: each is close to the next one, the first is far from the last
  const KeyRows keys = key_rows({at_angle(0), at_angle(.5), at_angle(1)});
  EXPECT_THAT(neighbour_sets(keys, std::cos(.6)), ElementsAre(ElementsAre(1, 2), ElementsAre(0)));
  EXPECT_THAT(neighbour_sets(keys, std::cos(1.1)), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(NeighbourSets, ANewSetStartsWhereSimilarityIsNotAboveTheThreshold) {
  const KeyRows keys = key_rows({{1, 0}, {0, 1}});
  EXPECT_EQ(neighbour_sets(keys, 0).size(), 2u) << "a cosine of 0 is not above 0";
  EXPECT_EQ(neighbour_sets(keys, -1e-9).size(), 1u);
  EXPECT_EQ(key_rows({{0, 0}, {0, 1}}).cosine(0, 1), 0) << "a zero vector is like nothing";
}

TEST(NeighbourSets, TheFittingThresholdIsTheLargestThatLeavesRoom) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 20; ++round) {
    test::Rows keys(40, std::vector<double>(3));
    for (auto& k : keys)
      for (double& x : k) x = normal(random);
    const KeyRows r = key_rows(keys);
    // plain bisection, nothing remembered
    double lo = -1, hi = 1;
    for (int i = 0; i < 20; ++i) (neighbour_sets(r, (lo + hi) / 2).size() <= 9 ? lo : hi) = (lo + hi) / 2;
    EXPECT_EQ(fitting_theta(r, 9), lo);
    EXPECT_LE(neighbour_sets(r, lo).size(), 9u);
  }
  EXPECT_EQ(fitting_theta(key_rows({{1, 0}, {0, 1}}), 0), -1) << "no threshold leaves no set at all";
}

TEST(NeighbourSets, WeightsFallWithTheDistanceToThePivot) {
  const std::vector<double> distance = {0, 3, 4};  // sigma = 3.5
  EXPECT_THAT(gauss_weights(distance, 0, {}), ElementsAre(DoubleNear(.452, 1e-3), DoubleNear(.313, 1e-3), DoubleNear(.235, 1e-3)));
  EXPECT_THAT(gauss_weights(distance, 0, {Sigma::Kind::eq7, 0}),
              ElementsAre(DoubleNear(.374, 1e-3), DoubleNear(.329, 1e-3), DoubleNear(.297, 1e-3)));
  const double g = std::exp(-.5), total = 1 + 2 * g;  // sigma = the distance
  EXPECT_THAT(gauss_weights(std::vector{2.0, 0.0, 2.0}, 1, {Sigma::Kind::number, 2}),
              ElementsAre(DoubleNear(g / total, 1e-15), DoubleNear(1 / total, 1e-15), DoubleNear(g / total, 1e-15)));
}

TEST(NeighbourSets, IdenticalKeysHaveEqualWeights) {
  EXPECT_THAT(gauss_weights(std::vector{0.0, 0.0, 0.0}, 1, {}), ElementsAre(1 / 3.0, 1 / 3.0, 1 / 3.0));
  EXPECT_THAT(gauss_weights(std::vector{0.0}, 0, {}), ElementsAre(1.0));
}

TEST(NeighbourSets, ASetBecomesOneSlotAtItsMostAttendedMember) {
  test::TinyHead head;
  head.slots = test::slots_of(5);
  head.slots.sum = {.1, .4, .4, .9, .2};
  head.k = head.v = {{1, 0}, {1, 0}, {1, 0}, {0, 1}, {1, 0}};
  const test::RowGeometry keys(head.k);
  HeadDecision d;
  d.view = {&head.slots, &keys, 0, 0};
  d.budget = 3;
  d.keep = {4};
  d.gone = {0, 1, 2, 3};
  NeighbourSetMerger({}).merge(d);
  ASSERT_EQ(d.plan.removals.size(), 2u);
  EXPECT_EQ(d.plan.removals[0].slot, 0);
  EXPECT_EQ(d.plan.removals[0].target, 2) << "equal attention: the later one is the pivot";
  EXPECT_EQ(d.plan.removals[1].slot, 1);
  EXPECT_THAT(d.plan.merges[0].members, ElementsAre(2, 0, 1));
  EXPECT_GT(d.plan.theta, 0);
  head.apply(StatNeeds{.sum = true}, d.plan);
  EXPECT_THAT(head.slots.pos, ElementsAre(2, 3, 4));
  EXPECT_THAT(head.slots.members(0), ElementsAre(0, 1, 2));
  EXPECT_THAT(head.slots.sum, ElementsAre(.4, .9, .2)) << "the pivot keeps its own attention";
}

TEST(NeighbourSets, AFixedThresholdMayLeaveMoreThanTheBudget) {
  const ModelConfig model = test::tiny_model(1, 1, 1);
  test::TinyLane lane("kvmerger:slots=10,fit=threshold,threshold=2", model, 30, PromptMode::prefill, 1);
  lane.load(30);
  const Plan plan = lane.plan_layer(0, 0, true)[0];
  EXPECT_THAT(plan.removals, IsEmpty()) << "no cosine is above 2";
  EXPECT_EQ(plan.theta, 2);
}

}  // namespace
}  // namespace kvscope
