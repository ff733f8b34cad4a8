// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <variant>
#include <vector>

#include "viz/compare_fixture.h"

namespace kvscope::viz {
namespace {

using namespace testing;

class WaitingTest : public CompareTest {
 protected:
  void wait_for(int n) {
    for (int i = 0; i < n; ++i) waiting.push_back({i + 1, "H2O", "25 %", i == 0, i == 0 ? 0.5 : 0.0});
    canvas.frame.waiting = waiting;
    canvas.draw(*view);
  }
  std::vector<WaitingRun> waiting;
};

TEST_F(WaitingTest, RunsThatAreNotThereYetHaveARowAndSayHowFarTheyAre) {
  wait_for(2);
  EXPECT_EQ(count_marks(*view, "lane"), 4) << "those that are there stay";
  EXPECT_EQ(mark("waiting", "run 1").value, "H2O · 25 % · running, 50.0 %");
  EXPECT_EQ(mark("waiting", "run 2").value, "H2O · 25 % · waiting");
  const Mark& last = mark("lane", "lane 3");
  EXPECT_GE(mark("waiting", "run 1").min.y, last.max.y) << "below the runs";
}

TEST_F(WaitingTest, ManyAreCountedInsteadOfPushingTheRunsAway) {
  wait_for(12);
  EXPECT_EQ(count_marks(*view, "waiting"), 4);
  EXPECT_EQ(mark("note", "waiting").value, "and 8 more, waiting: Tools, Jobs lists them");
  EXPECT_EQ(count_marks(*view, "lane"), 4);
}

TEST_F(WaitingTest, TheCrossCancelsThatRun) {
  wait_for(3);
  const Mark& cross = mark("button", "cancel run 2");
  canvas.click(*view, {(cross.min.x + cross.max.x) / 2, (cross.min.y + cross.max.y) / 2});
  std::vector<int> cancelled;
  for (const Intent& intent : canvas.intents)
    if (const auto* cancel = std::get_if<CancelRun>(&intent)) cancelled.push_back(cancel->id);
  EXPECT_THAT(cancelled, ::testing::ElementsAre(2));
}

}  // namespace
}  // namespace kvscope::viz
