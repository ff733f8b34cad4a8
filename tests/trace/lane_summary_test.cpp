// SPDX-License-Identifier: Apache-2.0
#include "trace/lane_summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trace/sample_run.h"

namespace kvscope {
namespace {

TEST(LaneSummary, IsTheMeanOverTheStepsInWhichANumberExists) {
  const Snapshot s = sample_run();
  const LaneSummary lane = summarize(s.lanes[1]);
  EXPECT_DOUBLE_EQ(lane.kl, 0.6) << "0.1 and 1.1";
  EXPECT_DOUBLE_EQ(lane.nll, 2.31) << "the last step has none";
  EXPECT_EQ(lane.top1_same, 0);
  EXPECT_DOUBLE_EQ(lane.local_rel_l2, 0.013);
  EXPECT_DOUBLE_EQ(lane.attention_loss, 0.02);
  EXPECT_DOUBLE_EQ(lane.tokens_per_s, 250) << "one step of 4 ms after the first";
  EXPECT_EQ(summarize(s.lanes[0]).top1_same, 1);
}

TEST(LaneSummary, KnowsNothingOfALaneWithoutSteps) {
  const LaneSummary none = summarize({});
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
