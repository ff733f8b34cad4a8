// SPDX-License-Identifier: Apache-2.0
#include "trace/lane_summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trace/sample_run.h"

namespace kvscope {
namespace {

TEST(LaneSummary, IsTheMeanOverTheStepsInWhichANumberExists) {
  const Snapshot s = sample_run();
  const LaneSummary lane = summarize(s, 1);
  EXPECT_DOUBLE_EQ(lane.kl, 0.6) << "0.1 and 1.1";
  EXPECT_DOUBLE_EQ(lane.nll, 2.31) << "the last step has none";
  EXPECT_EQ(lane.top1_same, 0);
  EXPECT_DOUBLE_EQ(lane.local_rel_l2, 0.013);
  EXPECT_DOUBLE_EQ(lane.attention_loss, 0.02);
  EXPECT_DOUBLE_EQ(lane.tokens_per_s, 250) << "one step of 4 ms after the first";
  EXPECT_EQ(summarize(s, 0).top1_same, 1);
}

TEST(LaneSummary, ComparesWithTheFullCacheOnlyWhileBothReadTheSameText) {
  Snapshot s = sample_run();
  EXPECT_EQ(summarize(s, 1).compared, 2);
  auto other = std::make_shared<StepRecord>(*s.lanes[1].steps[0]);
  other->next_token = 4;  // the full cache was fed token 9
  s.lanes[1].steps[0] = other;
  const LaneSummary lane = summarize(s, 1);
  EXPECT_EQ(lane.compared, 1);
  EXPECT_DOUBLE_EQ(lane.kl, 0.1) << "the second step has read another text";
}

TEST(LaneSummary, KnowsNothingOfALaneWithoutSteps) {
  Snapshot s;
  s.lanes.resize(1);
  const LaneSummary none = summarize(s, 0);
  EXPECT_TRUE(std::isnan(none.kl));
  EXPECT_TRUE(std::isnan(none.tokens_per_s));
}

TEST(LaneTokens, ArePromptAndWhatTheLaneWasFed) {
  const Snapshot s = sample_run();
  EXPECT_EQ(lane_tokens(s, s.lanes[1]), std::vector<int>({1, 300, 17, 9}));
}

TEST(LaneTokens, DoNotRepeatThePromptInStreamMode) {
  Snapshot s = sample_run();
  LaneSnapshot lane;
  for (const auto& [position, next] : {std::pair{0, 300}, {1, 17}, {2, 40}, {3, -1}}) {
    StepRecord r;
    r.position = position;
    r.next_token = next;
    lane.steps.push_back(std::make_shared<StepRecord>(r));
  }
  EXPECT_EQ(lane_tokens(s, lane), std::vector<int>({1, 300, 17, 40}));
}

}  // namespace
}  // namespace kvscope
