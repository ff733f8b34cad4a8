// SPDX-License-Identifier: Apache-2.0
// Budgets, protection and parameters as resolved for one model and prompt; when a policy acts and what it shows.
#include "policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using test::TinyLane;
using testing::IsEmpty;

const ModelConfig kModel = test::tiny_model(2, 2, 2);

std::unique_ptr<Policy> make(const std::string& spec, int n_prompt = 100, PromptMode mode = PromptMode::prefill) {
  return Policy::make({.spec = parse_lane_spec(spec), .model = &kModel, .n_prompt = n_prompt, .mode = mode});
}

/// key=value of all resolved parameters, blank-separated.
std::string params_of(const Policy& policy) {
  std::string out;
  for (const ResolvedParam& p : policy.params()) {
    std::string number = std::to_string(p.number);
    if (p.is_count) number = std::to_string(static_cast<int>(p.number));
    while (!p.is_count && number.back() == '0') number.pop_back();
    out += (out.empty() ? "" : " ") + p.key + '=' + (p.is_text ? p.text : number);
  }
  return out;
}

TEST(Policy, AWholeWindowIsObservedHoweverSmallTheBudget) {
  const auto observed = [](const char* spec, int n_prompt) {
    const auto policy = make(spec, n_prompt);
    return std::pair(params_of(*policy).substr(8, 9), policy->recent(0, 0));
  };
  EXPECT_EQ(observed("snapkv:slots=40,window=30,whole_window=1", 100), std::pair(std::string("window=30"), 30));
  EXPECT_EQ(observed("snapkv:slots=10,window=30,whole_window=1", 100), std::pair(std::string("window=30"), 10)) << "the newest stay";
  EXPECT_EQ(observed("snapkv:slots=10,window=30,whole_window=1,sinks=3", 100).second, 7);
  EXPECT_EQ(observed("snapkv:slots=5,window=64,whole_window=1", 21), std::pair(std::string("window=20"), 5)) << "one token is ranked";
  for (const int c : {1, 29, 30, 31}) {
    const auto policy = make(fmt::format("snapkv:slots={},window=30,whole_window=1", c).c_str(), 100);
    EXPECT_EQ(std::pair(policy->budget(0, 0), policy->recent(0, 0)), std::pair(std::optional(c), std::min(c, 30))) << "no room is missing";
  }
  const auto small = make("snapkv:slots=40,window=30,sinks=4,whole_window=1@slots=3,layers=0,heads=1");
  EXPECT_EQ(std::pair(small->budget(0, 1), small->recent(0, 1)), std::pair(std::optional(5), 1)) << "beside the sinks the newest stays";
}

TEST(Policy, ParametersAreShownAsResolved) {
  EXPECT_EQ(params_of(*make("full")), "group=mean");
  EXPECT_EQ(params_of(*make("h2o:slots=10")), "sinks=0 recent=5 group=mean slots=10");
  EXPECT_EQ(params_of(*make("h2o:ratio=0.25,recent=0.2,group=max")), "sinks=0 recent=5 group=max slots=25");
  EXPECT_EQ(params_of(*make("streaming:slots=10")), "sinks=4 positions=cache group=mean slots=10");
  EXPECT_EQ(params_of(*make("snapkv:slots=10")), "sinks=0 window=5 kernel=7 pool=max whole_window=0 group=mean slots=10 refresh=0");
  EXPECT_EQ(params_of(*make("snapkv:slots=10,window=2", 100, PromptMode::stream)),
            "sinks=0 window=2 kernel=7 pool=max whole_window=0 group=mean slots=10 refresh=1");
  EXPECT_EQ(params_of(*make("keepkv:slots=10,sinks=2,form=zip")),
            "sinks=2 recent=2 base=window window=32 threshold=0.8 alpha=0.9 predict=ema form=zip group=mean slots=10");
}

TEST(Policy, TheBudgetIsARoundedShareOfThePromptAndRaisedToItsMinimum) {
  EXPECT_EQ(make("h2o:ratio=0.2", 512)->budget(1, 1), 102);
  EXPECT_EQ(make("h2o:ratio=0.5", 5)->budget(0, 0), 3) << "2.5 rounds up";
  EXPECT_EQ(make("h2o:ratio=0.01,recent=4,sinks=2")->budget(0, 0), 7) << "sinks + recent + 1";
  EXPECT_EQ(make("h2o:ratio=0,recent=4,sinks=2")->budget(0, 0), 7) << "nothing is raised to the least";
  EXPECT_EQ(make("h2o:slots=0,recent=4,sinks=2")->budget(0, 0), 7);
  EXPECT_EQ(make("streaming:slots=1")->budget(0, 0), 5);
  EXPECT_EQ(make("snapkv:slots=1")->budget(0, 0), 2);
  EXPECT_EQ(make("snapkv:slots=6,sinks=5")->budget(0, 0), 9) << "window 3, sinks 5 and one more";
  EXPECT_EQ(make("full")->budget(0, 0), std::nullopt);
}

TEST(Policy, ByPositionEverythingKeptIsSinkOrRecent) {
  const auto streaming = make("streaming:slots=20");
  EXPECT_EQ(streaming->sinks(), 4);
  EXPECT_EQ(streaming->recent(1, 0), 16);
  EXPECT_EQ(make("local:slots=20")->recent(0, 0), 20);
  EXPECT_EQ(make("snapkv:slots=20,window=6")->recent(0, 0), 6);
  EXPECT_EQ(make("full")->recent(0, 0), 0);
}

TEST(Policy, PositionsBiasAndMergingAreProperties) {
  EXPECT_EQ(make("streaming:slots=20")->positions(), Positions::cache);
  EXPECT_EQ(make("streaming:slots=20,positions=original")->positions(), Positions::original);
  EXPECT_EQ(make("h2o:slots=20")->positions(), Positions::original);
  EXPECT_EQ(make("keepkv:slots=20")->bias(), Bias::votes);
  EXPECT_EQ(make("weightedkv:slots=20")->bias(), Bias::none);
  EXPECT_FALSE(make("weightedkv:slots=20")->evict_only());
  EXPECT_TRUE(make("weightedkv:slots=20,merge=off")->evict_only());
  EXPECT_TRUE(make("snapkv:slots=20")->evict_only());
  EXPECT_FALSE(make("full")->compresses());
}

TEST(Policy, OnlyWhatIsReadIsAskedFor) {
  EXPECT_FALSE(make("local:slots=5")->needs().reads_a());
  EXPECT_TRUE(make("h2o:slots=5,group=sum")->needs().sum);
  EXPECT_EQ(make("h2o:slots=5,group=sum")->needs().group, GroupReduce::sum);
  EXPECT_EQ(make("snapkv:slots=20,window=6")->needs().rows, 6);
  const StatNeeds ema = make("keepkv:slots=20,window=6")->needs();
  EXPECT_TRUE(ema.ema && !ema.z_now && !ema.keep_z_rows);
  EXPECT_EQ(ema.z_rows, 6);
  const StatNeeds now = make("keepkv:slots=20,predict=current")->needs();
  EXPECT_TRUE(now.z_now && !now.ema);
  EXPECT_EQ(now.z_rows, 1);
}

TEST(Policy, OncePoliciesActAfterThePromptAndThenOnlyEveryRefreshTokens) {
  TinyLane once("snapkv:slots=10,window=3", kModel, 30, PromptMode::prefill, 1);
  TinyLane again("snapkv:slots=10,window=3,refresh=3", kModel, 30, PromptMode::prefill, 1);
  EXPECT_FALSE(once.policy->every_step());
  EXPECT_TRUE(again.policy->every_step());
  for (TinyLane* lane : {&once, &again}) {
    lane->load(30);
    const std::vector<Plan> plans = lane->plan_layer(0, 0, true);
    EXPECT_EQ(plans[0].removals.size(), 20u);
    EXPECT_EQ(plans[0].score.size(), 30u);
    for (int h = 0; h < 2; ++h) lane->head(0, h).apply(lane->policy->needs(), plans[static_cast<std::size_t>(h)]);
  }
  for (int t = 1; t <= 6; ++t) {
    once.step();
    again.step();
    EXPECT_THAT(once.plan_layer(0, t, false)[0].removals, IsEmpty());
    EXPECT_THAT(once.plan_layer(0, t, false)[0].score, IsEmpty()) << "no ranking in a step where it does not run";
    const std::vector<Plan> plans = again.plan_layer(0, t, false);
    EXPECT_EQ(plans[0].removals.size(), t % 3 == 0 ? 3u : 0u) << "n > C + 2 for the first time at 13 slots";
    for (int h = 0; h < 2; ++h) again.head(0, h).apply(again.policy->needs(), plans[static_cast<std::size_t>(h)]);
  }
}

TEST(Policy, RankingsAreShownInEveryStepButNotWherePositionDecides) {
  for (const char* spec : {"h2o:slots=50", "weightedkv:slots=50", "keepkv:slots=50"}) {
    TinyLane lane(spec, kModel, 20, PromptMode::stream, 1);
    for (int t = 0; t < 8; ++t) lane.step();
    const Plan plan = lane.plan_layer(0, 7, false)[0];
    ASSERT_EQ(plan.score.size(), 8u) << spec;
    EXPECT_THAT(plan.removals, IsEmpty());
  }
  TinyLane lane("streaming:slots=6", kModel, 20, PromptMode::stream, 1);
  for (int t = 0; t < 8; ++t) lane.step();
  const Plan plan = lane.plan_layer(0, 7, false)[0];
  EXPECT_EQ(plan.removals.size(), 2u);
  EXPECT_THAT(plan.score, IsEmpty());
  EXPECT_TRUE(std::isnan(plan.removals[0].score));
}

TEST(Policy, ProtectedSlotsHaveNoScore) {
  TinyLane lane("h2o:slots=8,sinks=2,recent=3", kModel, 20, PromptMode::stream, 1);
  for (int t = 0; t < 10; ++t) lane.step();
  const Plan plan = lane.plan_layer(1, 9, false)[1];
  for (int i = 0; i < 10; ++i) EXPECT_EQ(std::isnan(plan.score[static_cast<std::size_t>(i)]), i < 2 || i >= 7) << i;
  for (const Removal& r : plan.removals) EXPECT_EQ(r.score, plan.score[static_cast<std::size_t>(r.slot)]);
}

TEST(Policy, NanScoresRankLastAndAreCounted) {
  TinyLane lane("h2o:slots=8,recent=2", kModel, 20, PromptMode::stream, 1);
  for (int t = 0; t < 9; ++t) lane.step();
  lane.head(0, 0).slots.sum[3] = std::numeric_limits<double>::quiet_NaN();
  const Plan plan = lane.plan_layer(0, 8, false)[0];
  ASSERT_EQ(plan.removals.size(), 1u);
  EXPECT_EQ(plan.removals[0].slot, 3);
  EXPECT_TRUE(std::isnan(plan.removals[0].score));
  EXPECT_EQ(lane.policy->nan_scores(), 1);
}

TEST(Policy, ACopyDecidesAndCountsOnItsOwn) {
  TinyLane lane("keepkv:slots=8,threshold=-1", kModel, 20, PromptMode::stream, 1);
  for (int t = 0; t < 9; ++t) lane.step();
  const std::unique_ptr<Policy> copy = lane.policy->clone();
  SlotState& slots = lane.head(0, 0).slots;
  std::vector<double> row(slots.pos.size(), 0.1);
  row[5] = std::numeric_limits<double>::quiet_NaN();
  slots.rows.push(row);
  lane.plan_layer(0, 8, false);
  EXPECT_EQ(lane.policy->nan_scores(), 1);
  EXPECT_EQ(copy->nan_scores(), 0);
  EXPECT_EQ(copy->name(), "keepkv");
}

}  // namespace
}  // namespace kvscope
