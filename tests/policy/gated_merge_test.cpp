// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/gated_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include "core/error.h"
#include "policy/allocations/variance_allocation.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

test::TinyHead head_of(const test::Rows& keys) {
  test::TinyHead head;
  head.slots = test::slots_of(static_cast<int>(keys.size()));
  head.k = head.v = keys;
  return head;
}

HeadDecision decision(const test::TinyHead& head, const test::RowGeometry& keys, std::vector<int> keep, std::vector<int> gone,
                      int layer = 0) {
  HeadDecision d;
  d.view = {&head.slots, &keys, layer, 0};
  d.keep = std::move(keep);
  d.gone = std::move(gone);
  return d;
}

/// The unit vector of given cosine to (1, 0).
std::vector<double> at_cosine(double c) { return {c, std::sqrt(1 - c * c)}; }

TEST(GatedMerge, WeightsOfThePaper) {
  EXPECT_THAT(similarity_weights(std::vector{.9, .8}, MergeForm::paper),
              ElementsAre(DoubleNear(.36717, 1e-5), DoubleNear(.33223, 1e-5), DoubleNear(.30061, 1e-5)));
  const std::vector<double> one = similarity_weights(std::vector{1.0}, MergeForm::paper);
  EXPECT_THAT(one, ElementsAre(.5, .5)) << "as similar as itself: an equal share";
}

TEST(GatedMerge, WeightsOfTheCodeShortenTheKey) {
  EXPECT_THAT(similarity_weights(std::vector{.9, .8}, MergeForm::code), ElementsAre(DoubleEq(1 / 3.0), DoubleEq(.3), DoubleEq(.8 / 3)));
}

TEST(GatedMerge, IdenticalKeysStayAsTheyAre) {
  test::TinyHead head = head_of({{1, 0}, {1, 0}, {0, 1}});
  const test::RowGeometry keys(head.k);
  HeadDecision d = decision(head, keys, {1, 2}, {0});
  GatedMerger(.5, MergeForm::paper).merge(d);
  ASSERT_THAT(d.plan.removals, SizeIs(1));
  EXPECT_EQ(d.plan.removals[0].target, 1);
  head.apply(StatNeeds{}, d.plan);
  EXPECT_THAT(head.k, ElementsAre(ElementsAre(1, 0), ElementsAre(0, 1)));
  EXPECT_THAT(head.slots.members(0), ElementsAre(0, 1));
}

TEST(GatedMerge, TheThresholdIsTheMeanSimilarityOfTheFirstRemovals) {
  test::TinyHead head = head_of({at_cosine(.9), at_cosine(.5), {1, 0}});
  const test::RowGeometry keys(head.k);
  HeadDecision d = decision(head, keys, {2}, {0, 1});
  GatedMerger merger(.5, MergeForm::paper);
  EXPECT_EQ(merger.tau(0), std::nullopt);
  merger.merge(d);
  EXPECT_NEAR(merger.tau(0).value(), .7, 1e-15);
  EXPECT_EQ(d.plan.theta, merger.tau(0)) << "recorded: why it merged or not";
  EXPECT_EQ(d.plan.removals[0].target, 2) << ".9 reaches .7";
  EXPECT_EQ(d.plan.removals[1].target, -1) << ".5 does not";
  EXPECT_NEAR(d.plan.removals[1].cos, .5, 1e-15) << "the cosine is shown all the same";
  EXPECT_NEAR(d.plan.removals[0].w_removed, std::exp(.9) / (std::numbers::e + std::exp(.9)), 1e-15);
}

TEST(GatedMerge, TheThresholdFollowsBeforeItGates) {
  test::TinyHead head = head_of({at_cosine(.9), {1, 0}});
  const test::RowGeometry keys(head.k);
  GatedMerger merger(.25, MergeForm::paper);
  HeadDecision first = decision(head, keys, {1}, {0});
  merger.merge(first);
  test::TinyHead other = head_of({at_cosine(.1), {1, 0}});
  const test::RowGeometry other_keys(other.k);
  HeadDecision second = decision(other, other_keys, {1}, {0});
  merger.merge(second);
  EXPECT_NEAR(merger.tau(0).value(), .75 * .9 + .25 * .1, 1e-15);
  EXPECT_EQ(second.plan.removals[0].target, -1);
}

TEST(GatedMerge, AllHeadsOfALayerShareOneThresholdAndLayersDoNot) {
  test::TinyHead a = head_of({at_cosine(.9), {1, 0}}), b = head_of({at_cosine(.5), {1, 0}});
  const test::RowGeometry keys_a(a.k), keys_b(b.k);
  std::vector<HeadDecision> layer = {decision(a, keys_a, {1}, {0}), decision(b, keys_b, {1}, {0})};
  GatedMerger merger(.5, MergeForm::paper);
  merger.merge_layer(layer, 0);
  EXPECT_NEAR(merger.tau(0).value(), .7, 1e-15);
  EXPECT_EQ(layer[0].plan.removals[0].target, 1);
  EXPECT_EQ(layer[1].plan.removals[0].target, -1);
  EXPECT_EQ(merger.tau(1), std::nullopt);
  HeadDecision next = decision(b, keys_b, {1}, {0}, /*layer=*/1);
  merger.merge(next);
  EXPECT_NEAR(merger.tau(1).value(), .5, 1e-15);
  EXPECT_EQ(next.plan.removals[0].target, 1);
}

TEST(GatedMerge, ACopyGoesOnWithTheSameThreshold) {
  test::TinyHead head = head_of({at_cosine(.9), {1, 0}});
  const test::RowGeometry keys(head.k);
  GatedMerger merger(.5, MergeForm::paper);
  HeadDecision d = decision(head, keys, {1}, {0});
  merger.merge(d);
  const std::unique_ptr<Merger> copy = merger.clone();
  EXPECT_EQ(dynamic_cast<const GatedMerger&>(*copy).tau(0), merger.tau(0));
}

TEST(VarianceAllocation, ALayerThatIsEvenGetsMore) {
  // one head always has u = 0; two unequal heads are scaled to 0 and 1: u = 1/2
  const std::vector<double> even = {1, 1, 1}, uneven = {3, 0, 0};
  const std::vector<std::vector<std::span<const double>>> columns = {{even, even}, {even, uneven}};
  const double e = std::exp(-.5);
  EXPECT_THAT(variance_shares(columns, 10), ElementsAre(DoubleNear(20 / (1 + e), 1e-12), DoubleNear(20 * e / (1 + e), 1e-12)));
}

TEST(VarianceAllocation, BudgetsAreSetOnceThePromptWasSeen) {
  const ModelConfig model = test::tiny_model(3, 2, 1);
  test::TinyLane lane("d2o:slots=12,sinks=1,recent=2,alloc=variance", model, 40, PromptMode::prefill, 3);
  lane.load(40);
  std::vector<HeadView> views;
  for (int l = 0; l < 3; ++l)
    for (int h = 0; h < 2; ++h) views.push_back({&lane.head(l, h).slots, nullptr, l, h});
  EXPECT_EQ(lane.policy->budget(1, 0), 12);
  lane.policy->after_prompt(views);
  int sum = 0;
  for (int l = 0; l < 3; ++l) {
    EXPECT_EQ(lane.policy->budget(l, 0), lane.policy->budget(l, 1)) << "one share per layer";
    sum += lane.policy->budget(l, 0).value();
  }
  EXPECT_EQ(sum, 3 * 12);
}

TEST(VarianceAllocation, NeedsThePromptAtOnce) {
  const ModelConfig model = test::tiny_model(1, 1, 1);
  EXPECT_THROW(
      Policy::make(
          {.spec = parse_lane_spec("d2o:slots=12,alloc=variance"), .model = &model, .n_prompt = 40, .mode = PromptMode::stream, .seed = 0}),
      UsageError);
}

}  // namespace
}  // namespace kvscope
