// SPDX-License-Identifier: Apache-2.0
#include "snapshot/figures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trace/sample_run.h"

namespace kvscope {
namespace {

TEST(RunFigures, CountTheStepsAfterThePromptInWhichANumberExists) {
  const Snapshot s = sample_run();
  const RunFigures f = run_figures(s, s.lanes[1]);
  EXPECT_EQ(f.first, 1);
  EXPECT_EQ(f.n_steps, 1);
  EXPECT_DOUBLE_EQ(f.kl.mean(), 1.1) << "the prompt's own step, 0.1, does not count";
  EXPECT_TRUE(std::isnan(f.nll.mean())) << "the last step has fed no token";
  EXPECT_EQ(f.top1_share(), 0);
  EXPECT_DOUBLE_EQ(f.local_rel_l2.mean(), 0.013);
  EXPECT_DOUBLE_EQ(f.attention_loss.mean(), 0.02);
  EXPECT_DOUBLE_EQ(f.tokens_per_s(), 250) << "one step of 4 ms";
  EXPECT_EQ(f.slots, 2.5) << "two and three";
  EXPECT_EQ(f.bytes, s.lanes[1].kv_bytes);
  EXPECT_EQ(f.allocated, s.lanes[1].bytes);
  EXPECT_EQ(run_figures(s, s.lanes[0]).top1_share(), 1);
}

TEST(RunFigures, CountEveryStepOfAStreamedPrompt) {
  Snapshot s = sample_run();
  s.prefill_mode = false;
  const RunFigures f = run_figures(s, s.lanes[1]);
  EXPECT_EQ(f.first, 0);
  EXPECT_DOUBLE_EQ(f.kl.mean(), 0.6) << "0.1 and 1.1";
  EXPECT_DOUBLE_EQ(f.nll.mean(), 2.31);
}

TEST(RunFigures, CompareWithTheFullCacheOnlyWhileBothReadTheSameText) {
  Snapshot s = sample_run();
  s.prefill_mode = false;
  s.follow = "self";
  EXPECT_EQ(run_figures(s, s.lanes[1]).compared, 2);
  auto other = std::make_shared<StepRecord>(*s.lanes[1].steps[0]);
  other->next_token = 4;  // the full cache was fed token 9
  s.lanes[1].steps[0] = other;
  const RunFigures f = run_figures(s, s.lanes[1]);
  EXPECT_EQ(f.compared, 1);
  EXPECT_DOUBLE_EQ(f.kl.mean(), 0.1) << "the second step has read another text";
  s.prefill_mode = true;
  EXPECT_TRUE(std::isnan(run_figures(s, s.lanes[1]).kl.mean())) << "none to compare is not 0";
  EXPECT_TRUE(std::isnan(run_figures(s, s.lanes[1]).top1_share()));
}

TEST(RunFigures, OfARunWithoutStepsAreNotAvailable) {
  Snapshot s;
  s.lanes.resize(1);
  const RunFigures none = run_figures(s, s.lanes[0]);
  EXPECT_EQ(none.first, -1);
  EXPECT_TRUE(std::isnan(none.kl.mean()) && std::isnan(none.slots) && std::isnan(none.tokens_per_s()));
}

TEST(RunFigures, OfAPromptWithoutStepsAfterItHaveACacheAndNoMeans) {
  Snapshot s = sample_run();
  for (LaneSnapshot& lane : s.lanes) lane.steps.resize(1);
  const RunFigures f = run_figures(s, s.lanes[1]);
  EXPECT_EQ(f.n_steps, 0);
  EXPECT_TRUE(std::isnan(f.kl.mean()));
  EXPECT_EQ(f.slots, 2);
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
