// SPDX-License-Identifier: Apache-2.0
// Which steps of a run say something else, and which lost token explains it.
#include "viz/reduce/finding.h"

#include <gtest/gtest.h>

#include "viz/synthetic.h"

namespace kvscope::viz {
namespace {

/// The run with exactly these steps changed.
Snapshot with_changed(std::initializer_list<int> steps) {
  Snapshot s = synthetic::make_snapshot();
  for (std::size_t i = 0; i < s.lanes[3].steps.size(); ++i) {
    auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[i]);
    step->top1_same = std::ranges::find(steps, static_cast<int>(i)) == steps.end();
    step->top1_reference = 5;
    step->top1 = step->top1_same ? 5 : 7;
    s.lanes[3].steps[i] = step;
  }
  return s;
}

TEST(FindingTest, GoesFromOneChangedStepToTheNext) {
  const Snapshot s = with_changed({2, 7});
  EXPECT_EQ(next_changed_step(s, s.lanes[3], -1), 2);
  EXPECT_EQ(next_changed_step(s, s.lanes[3], 2), 7);
  EXPECT_EQ(next_changed_step(s, s.lanes[3], 7), -1);
  EXPECT_EQ(next_changed_step(s, s.lanes[3], 1000), -1);
}

TEST(FindingTest, DoesNotCountStepsThatPredictThePrompt) {
  synthetic::Shape shape;
  shape.prefill = false;
  Snapshot s = synthetic::make_snapshot(shape);
  auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[4]);
  step->top1_same = false;
  step->top1 = 7, step->top1_reference = 5;
  s.lanes[3].steps[4] = step;
  EXPECT_NE(next_changed_step(s, s.lanes[3], -1), 4);
}

TEST(FindingTest, FindsNothingWhereTheChoiceIsTheSame) {
  const Snapshot s = with_changed({2});
  EXPECT_EQ(finding_of(s, s.lanes[3], 3).step, -1);
  EXPECT_EQ(finding_of(s, s.lanes[3], -1).step, -1);
  EXPECT_EQ(finding_of(s, s.lanes[3], 1000).step, -1);
  EXPECT_EQ(finding_sentence(s, s.lanes[3], {}), "");
}

TEST(FindingTest, NamesTheTokenThatNoSlotStandsForWithTheMostAttention) {
  const Snapshot s = with_changed({2});
  const LaneSnapshot& lane = s.lanes[3];
  const Finding f = finding_of(s, lane, 2);
  ASSERT_EQ(f.step, 2);
  double most = 0;
  const StepRecord& step = *lane.steps[2];
  for (std::size_t h = 0; h < step.heads.size(); ++h) {
    const HeadRecord& head = step.heads[h];
    for (std::size_t t = 0; t < head.reference_attention.size(); ++t) {
      const bool seen = std::ranges::find(head.attended, static_cast<int>(t)) != head.attended.end();
      if (!seen && slot_of(*lane.fates, step, static_cast<int>(h), static_cast<int>(t)) < 0)
        most = std::max(most, static_cast<double>(head.reference_attention[t]));
    }
  }
  ASSERT_GT(most, 0.001);
  EXPECT_EQ(f.loss.attention, most);
  const std::string words = finding_sentence(s, lane, f);
  EXPECT_NE(words.find("evicted token " + std::to_string(f.loss.token)), std::string::npos) << words;
}

}  // namespace
}  // namespace kvscope::viz
