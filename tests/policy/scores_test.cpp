// SPDX-License-Identifier: Apache-2.0
// Worked examples of the policies that rank by one score in every step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/near.h"
#include "policy/policy.h"
#include "policy/rankings/ranking.h"
#include "policy/rules.h"
#include "policy/selections/selection.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using test::at;
using test::TinyLane;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// n slots that all come before the rows, each of which scores them all.
SlotState observed(int n, const std::vector<std::vector<double>>& rows, const Ranking& ranking) {
  StatNeeds needs;
  ranking.require(needs);
  SlotState slots;
  for (int i = 0; i < n; ++i) append_slot(slots, needs, 1, i);
  for (const auto& row : rows) observe_step(slots, needs, 1, row, {});
  return slots;
}

HeadDecision decision(const SlotState& slots, const Ranking& ranking, int budget, Protection protection = {}) {
  HeadDecision head;
  head.view = {&slots, nullptr, 0, 0};
  head.budget = budget;
  head.due = true;
  head.is_protected = protected_mask(slots, protection);
  ranking.protect(head.view, head.is_protected);
  head.score = ranking.score(head.view);
  head.tie_break = ranking.tie_break(head.view);
  return head;
}

TEST(Scissorhands, CountsQueriesAboveAnEqualShareAndBreaksTiesByTheSum) {
  const HitRanking ranking(8);
  const SlotState slots = observed(4, {{.4, .3, .2, .1}, {.4, .3, .2, .1}}, ranking);
  EXPECT_THAT(ranking.statistic(slots), ElementsAre(2, 2, 0, 0));
  HeadDecision head = decision(slots, ranking, 3);
  TopSelection(RemovalOrder::by_pos).select(head, 0);
  EXPECT_THAT(head.keep, ElementsAre(0, 1, 2)) << "0.4 of attention beats 0.2";
}

TEST(Scissorhands, SeveralGoAtOnceWhenTheBudgetIsExceeded) {
  TinyLane lane("scissorhands:slots=8,recent=2,drop=3", test::tiny_model(1, 1, 1), 20, PromptMode::stream, 1);
  for (int t = 0; t < 8; ++t) lane.step();
  EXPECT_THAT(lane.plan_layer(0, 7, false)[0].removals, IsEmpty());
  lane.step();
  EXPECT_EQ(lane.plan_layer(0, 8, false)[0].removals.size(), 3u);
}

SlotState with_mean_and_std(const std::vector<double>& mean, const std::vector<double>& std_dev) {
  SlotState slots = test::slots_of(static_cast<int>(mean.size()));
  for (std::size_t i = 0; i < mean.size(); ++i) {
    slots.times.push_back(10);
    slots.sum.push_back(mean[i] * 10);
    slots.sum_sq.push_back((std_dev[i] * std_dev[i] + mean[i] * mean[i]) * 10);
  }
  return slots;
}

TEST(Roco, TheTokenWhoseAttentionVariesMostIsSpared) {
  const DeviationProtectedRanking ranking(1, 2);
  const std::vector<double> mean = {.10, .05, .20};
  for (const auto& [std_dev, spared, gone] : {std::tuple{std::vector{.20, .01, .01}, 0, 1}, {std::vector{.01, .30, .02}, 1, 0}}) {
    const SlotState slots = with_mean_and_std(mean, std_dev);
    HeadDecision head = decision(slots, ranking, 2);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(head.is_protected[at(i)], i == spared);
    TopSelection(RemovalOrder::by_pos).select(head, 0);
    EXPECT_THAT(head.gone, ElementsAre(gone));
  }
}

TEST(Roco, NeverProtectsMoreThanTheBudgetHolds) {
  const SlotState slots = with_mean_and_std({.1, .1, .1, .1, .1}, {.5, .4, .3, .2, .1});
  const HeadDecision head = decision(slots, DeviationProtectedRanking(4, 3), 3, {.sinks = 0, .recent = 2});
  EXPECT_THAT(head.is_protected, ElementsAre(1, 0, 0, 1, 1)) << "room for one besides the two recent ones";
  EXPECT_THAT(decision(slots, DeviationProtectedRanking(4, 3), 3, {.sinks = 0, .recent = 4}).is_protected, ElementsAre(0, 1, 1, 1, 1));
}

TEST(Roco, OfEqualDeviationsTheLowerPositionIsSpared) {
  const SlotState slots = with_mean_and_std({.5, .5, .5}, {.1, .1, .1});
  EXPECT_THAT(decision(slots, DeviationProtectedRanking(1, 3), 3).is_protected, ElementsAre(1, 0, 0));
}

TEST(Roco, SparedTokensShowNoScore) {
  TinyLane lane("roco:slots=8,recent=2,spread=2", test::tiny_model(1, 1, 2), 20, PromptMode::stream, 1);
  for (int t = 0; t < 9; ++t) lane.step();
  const Plan plan = lane.plan_layer(0, 8, false)[0];
  EXPECT_EQ(std::ranges::count_if(plan.score, [](double s) { return std::isnan(s); }), 4) << "two recent, two spared";
}

TEST(Tova, OneDecisionForAllHeadsByTheMeanOfTheirRows) {
  const auto policy = Policy::make({.spec = parse_lane_spec("tova:slots=2"),
                                    .model =
                                        [] {
                                          static const ModelConfig model = test::tiny_model(1, 2, 1);
                                          return &model;
                                        }(),
                                    .n_prompt = 3});
  std::vector<SlotState> heads(2);
  const std::vector<std::vector<double>> rows = {{.5, .3, .2}, {.1, .6, .3}};
  for (std::size_t h = 0; h < 2; ++h) {
    for (int i = 0; i < 3; ++i) append_slot(heads[h], policy->needs(0), 1, i);
    observe_step(heads[h], policy->needs(0), 1, rows[h], {});
  }
  const std::vector<HeadView> views = {{&heads[0], nullptr, 0, 0}, {&heads[1], nullptr, 0, 1}};
  for (const Plan& plan : policy->plan(views, 0, false)) {
    EXPECT_THAT(plan.score, Pointwise(DoubleNear(1e-15), {.3, .45, .25}));
    ASSERT_EQ(plan.removals.size(), 1u);
    EXPECT_EQ(plan.removals[0].slot, 2) << "the newest token competes like any other";
  }
}

TEST(PyramidInfer, DeeperLayersHoldLessAndLookAtFewerRows) {
  TinyLane lane("pyramidinfer:slots=20,sinks=2,recent=0.5,decay=0.5", test::tiny_model(3, 2, 2), 60, PromptMode::prefill, 1);
  const Policy& policy = *lane.policy;
  int total = 0;
  for (int l = 0; l < 3; ++l) {
    EXPECT_EQ(policy.budget(l, 0), policy.budget(l, 1));
    EXPECT_EQ(policy.needs(l).rows, policy.recent(l, 0));
    total += *policy.budget(l, 0);
  }
  EXPECT_EQ(total, 60);
  EXPECT_GT(*policy.budget(0, 0), *policy.budget(1, 0));
  EXPECT_GT(*policy.budget(1, 0), *policy.budget(2, 0));
  EXPECT_EQ(policy.needs().rows, policy.recent(0, 0)) << "the prompt is asked for as many rows as any layer reads";
  lane.load(60);
  for (int l = 0; l < 3; ++l) {
    EXPECT_EQ(lane.head(l, 0).slots.rows.rows(), policy.recent(l, 0));
    const std::vector<Plan> plans = lane.plan_layer(l, 0, true);
    ASSERT_EQ(plans[0].removals.size(), plans[1].removals.size());
    for (std::size_t i = 0; i < plans[0].removals.size(); ++i) EXPECT_EQ(plans[0].removals[i].slot, plans[1].removals[i].slot);
  }
}

TEST(PyramidInfer, AShareBelowItsMinimumIsRaised) {
  const ModelConfig model = test::tiny_model(4, 1, 1);
  const auto policy =
      Policy::make({.spec = parse_lane_spec("pyramidinfer:slots=8,sinks=4,recent=3,decay=0"), .model = &model, .n_prompt = 100});
  for (int l = 1; l < 4; ++l) EXPECT_GE(*policy->budget(l, 0), 8) << "sinks + recent + 1";
}

TEST(KNorm, TheLongestKeyGoes) {
  StatNeeds needs;
  ColumnRanking<statistics::KeyNorm>().require(needs);
  SlotState slots;
  for (int i = 0; i < 3; ++i) append_slot(slots, needs, 1, i, std::vector{2.0, 5.0, 3.0}[at(i)]);
  HeadDecision head = decision(slots, ColumnRanking<statistics::KeyNorm>(), 2);
  EXPECT_THAT(head.score, ElementsAre(-2, -5, -3));
  TopSelection(RemovalOrder::by_pos).select(head, 0);
  EXPECT_THAT(head.gone, ElementsAre(1));
}

TEST(Random, RemovalsAreTheDrawsOfTheCounter) {
  const SlotState slots = test::slots_of(6);
  HeadDecision head;
  head.view = {&slots, nullptr, 2, 1};
  head.budget = 4;
  head.is_protected = protected_mask(slots, {.sinks = 1, .recent = 1});
  RandomSelection(7).select(head, 3);
  std::vector<int> left = {1, 2, 3, 4}, gone;
  for (int e = 0; e < 2; ++e) {
    const auto drawn = left.begin() + static_cast<int>(uniform_draw(7, 3, 2, 1, e) * static_cast<double>(left.size()));
    gone.push_back(*drawn);
    left.erase(drawn);
  }
  EXPECT_EQ(head.gone, gone);
  HeadDecision again = head;
  RandomSelection(7).select(again, 3);
  EXPECT_EQ(again.gone, gone) << "a replay draws the same";
  RandomSelection(7).select(again, 4);
  RandomSelection(8).select(head, 3);
  EXPECT_TRUE(again.gone != gone || head.gone != gone) << "another step or seed draws anew";
}

TEST(Random, TheRunsSeedHoldsUnlessTheLaneHasItsOwn) {
  const ModelConfig model = test::tiny_model(1, 1, 1);
  const auto seed_of = [&](const char* spec) {
    for (const ResolvedParam& p : Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 9, .seed = 5})->params())
      if (p.key == "seed") return p.number;
    return -1.0;
  };
  EXPECT_EQ(seed_of("random:slots=4"), 5);
  EXPECT_EQ(seed_of("random:slots=4,seed=9"), 9);
}

HeadDecision two_stages(std::vector<double> score, std::vector<double> norms, int budget, double alpha, Protection protection = {}) {
  static SlotState slots;
  slots = test::slots_of(static_cast<int>(score.size()));
  const test::GivenNorms geometry(std::move(norms));
  HeadDecision head;
  head.view = {&slots, &geometry, 0, 0};
  head.budget = budget;
  head.is_protected = protected_mask(slots, protection);
  head.score = head.plan.score = std::move(score);
  for (std::size_t i = 0; i < head.score.size(); ++i)
    if (head.is_protected[i]) head.plan.score[i] = kNan;
  TwoStageSelection(alpha, 1e-4).select(head, 0);
  return head;
}

TEST(CriticalKv, HalfByAttentionAndTheRestByAttentionTimesNorm) {
  const HeadDecision head = two_stages({.5, .3, .2}, {1, 1, 4}, 2, .5);
  EXPECT_THAT(head.keep, ElementsAre(0, 2)) << "0.2 x 4 beats 0.3 x 1";
  EXPECT_THAT(head.plan.score, Pointwise(DoubleNear(1e-12), {.5001, .3001, .8004}));
}

TEST(CriticalKv, AlphaOneIsAttentionAloneAndAlphaZeroTheProduct) {
  EXPECT_THAT(two_stages({.5, .3, .2}, {1, 1, 4}, 2, 1).keep, ElementsAre(0, 1));
  EXPECT_THAT(two_stages({.5, .3, .2}, {1, 9, 4}, 2, 0).keep, ElementsAre(1, 2));
}

TEST(CriticalKv, ProtectedSlotsStayAndShowNoScore) {
  const HeadDecision head = two_stages({kNan, .3, .2, kNan}, {9, 1, 4, 9}, 3, .5, {.sinks = 1, .recent = 1});
  EXPECT_THAT(head.keep, ElementsAre(0, 2, 3));
  EXPECT_TRUE(std::isnan(head.plan.score[0]) && std::isnan(head.plan.score[3]));
}

TEST(AdaKv, HeadBudgetsOfALayerKeepTheirSumAndFollowTheScores) {
  TinyLane lane("adakv:slots=10,window=4,kernel=1,alpha=0.1", test::tiny_model(2, 3, 2), 40, PromptMode::prefill, 4);
  lane.load(40);
  const std::unique_ptr<Policy> before = lane.policy->clone();
  bool uneven = false;
  for (int l = 0; l < 2; ++l) {
    const std::vector<Plan> plans = lane.plan_layer(l, 0, true);
    int total = 0;
    for (int h = 0; h < 3; ++h) {
      total += *lane.policy->budget(l, h);
      uneven |= lane.policy->budget(l, h) != 10;
      EXPECT_EQ(plans[at(h)].removals.size(), at(40 - *lane.policy->budget(l, h)));
      EXPECT_EQ(before->budget(l, h), 10) << "a copy made before keeps its budgets";
    }
    EXPECT_EQ(total, 30);
  }
  EXPECT_TRUE(uneven);
  EXPECT_TRUE(lane.policy->decides_like(*before)) << "moved budgets are an outcome, not a parameter";
}

TEST(Policy, DecidesLikeAnotherOnlyWithTheSameBudgetsAndParameters) {
  const ModelConfig model = test::tiny_model(3, 2, 1);
  const auto policy = [&](const char* spec, int n_prompt) {
    return Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = n_prompt});
  };
  EXPECT_TRUE(policy("h2o:slots=20", 50)->decides_like(*policy("h2o:slots=20", 60)));
  EXPECT_FALSE(policy("h2o:ratio=0.5", 50)->decides_like(*policy("h2o:ratio=0.5", 60)));
  EXPECT_FALSE(policy("h2o:slots=20", 50)->decides_like(*policy("tova:slots=20", 50)));
  EXPECT_FALSE(policy("pyramidkv:slots=20", 25)->decides_like(*policy("pyramidkv:slots=20", 90)))
      << "the first layer is limited by a short text";
  EXPECT_FALSE(policy("pyramidinfer:slots=20", 15)->decides_like(*policy("pyramidinfer:slots=20", 90)))
      << "nothing to distribute in the short text";
}

}  // namespace
}  // namespace kvscope
