// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/characters.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "viz/headless.h"
#include "viz/synthetic.h"
#include "viz/views.h"
#include "viz/views/head_grid/head_grid.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

/// Six layers of eight query heads on four KV heads, without any habit; a test gives them some.
HeadCharacters plain(const Snapshot& s) {
  HeadCharacters c;
  c.n_layers = s.model.n_layers;
  c.n_heads = s.model.n_heads;
  c.sink_tokens = 4;
  c.near_tokens = 16;
  const auto n = static_cast<std::size_t>(c.n_layers * c.n_heads);
  for (auto* x : {&c.sink, &c.local, &c.previous, &c.induction, &c.retrieval}) x->assign(n, 0.01);
  c.entropy.assign(n, std::log(140.0));
  return c;
}

class HabitTest : public ::testing::Test {
 protected:
  void measured() { snapshot.characters = std::make_shared<const HeadCharacters>(c); }
  std::size_t at(int layer, int query_head) const { return static_cast<std::size_t>(layer * c.n_heads + query_head); }
  void show(HeadGrid& view, Habit habit) {
    view.choose(0, kRecordMetrics + static_cast<int>(habit));
    canvas.draw(view);
  }

  Snapshot snapshot = synthetic::make_snapshot();
  HeadCharacters c = plain(snapshot);
  Headless canvas{snapshot, {346, 306}};
  HeadGrid grid;
};

TEST_F(HabitTest, ACellShowsTheHighestOfTheQueryHeadsThatShareIt) {
  c.retrieval[at(4, 2)] = 0.7165;
  c.retrieval[at(4, 3)] = 0.6589;
  measured();
  show(grid, Habit::retrieval);
  EXPECT_EQ(find_mark(grid, "cell", "L4 H1")->value, "71.7 %");
  EXPECT_EQ(find_mark(grid, "cell", "L4 H0")->value, "1.0 %");
  EXPECT_EQ(find_mark(grid, "legend", "")->value.substr(0, 12), "0 % to 71.7 ");
  canvas.move(grid, centre(*find_mark(grid, "cell", "L4 H1")));
  const std::vector<std::string>& lines = canvas.last<HoverAt>()->tooltip;
  EXPECT_EQ(lines.at(1), "habit: retrieval 71.7 % (share on the token to be repeated, highest query head)");
  EXPECT_EQ(lines.at(2), "rank 1 of 24 heads, 1 = highest");
  EXPECT_LE(lines.size(), 12u);
  EXPECT_THAT(lines.back(), HasSubstr("retrieval 71.7 %"));
}

TEST_F(HabitTest, WhatNobodyMeasuredIsSaidAndNoNumber) {
  show(grid, Habit::sink);
  EXPECT_EQ(find_mark(grid, "cell", "L0 H0")->value, "n/a");
  ASSERT_NE(find_mark(grid, "not measured", ""), nullptr);
  EXPECT_EQ(find_mark(grid, "not measured", "")->value, "not measured: kvscope-cli heads --out-characters");
  EXPECT_EQ(find_mark(grid, "legend", ""), nullptr);
  snapshot.characters_problem = "x/heads.json: expected JSON, got something else at byte 7 of 9";
  show(grid, Habit::sink);
  EXPECT_EQ(find_mark(grid, "not measured", "")->value, snapshot.characters_problem);
  EXPECT_TRUE(std::isnan(habit_of(snapshot, Habit::sink, 0, 0)));
  EXPECT_EQ(habit_caption(snapshot, 0, 0).words, snapshot.characters_problem);
}

TEST_F(HabitTest, HabitsDoNotDependOnTheStepOrTheRange) {
  c.sink[at(0, 0)] = 0.5;
  measured();
  canvas.frame.selection.steps = StepRange{1, 2};
  show(grid, Habit::sink);
  EXPECT_EQ(find_mark(grid, "cell", "L0 H0")->value, "50.0 %");
  EXPECT_THAT(find_mark(grid, "legend", "")->value, Not(HasSubstr("mean")));
}

TEST_F(HabitTest, TheCaptionNamesTheHabitWithItsFigureAndHowItWasMeasured) {
  c.retrieval[at(4, 3)] = 0.6589;
  c.sink[at(4, 3)] = 0.928;
  c.local[at(4, 2)] = 0.8;
  c.previous[at(4, 2)] = 0.5;
  measured();
  const HabitCaption both = habit_caption(snapshot, 4, 1);
  EXPECT_EQ(both.name, "Retrieval head");
  EXPECT_EQ(both.words, "looks back at the token to copy next, however far away: 65.9 % of its attention (query head 3)");
  EXPECT_EQ(both.besides, "also previous-token head 50.0 % (query head 2), sink head 92.8 % (query head 3)")
      << "the token before is a near one";
  EXPECT_EQ(both.measured, "full cache, mean on hidden-number texts");
  const HabitCaption none = habit_caption(snapshot, 0, 0);
  EXPECT_EQ(none.name, "No one habit");
  EXPECT_EQ(none.words, "it spreads its attention as if over 140 tokens");
}

TEST_F(HabitTest, TheWordsDoNotSayMoreThanTheFigure) {
  c.local[at(2, 2)] = 0.319;
  c.local[at(3, 2)] = 0.62;
  measured();
  EXPECT_EQ(habit_caption(snapshot, 2, 1).words, "looks at the newest tokens: 31.9 % of its attention (query head 2)");
  EXPECT_EQ(habit_caption(snapshot, 3, 1).words, "looks mostly at the newest tokens: 62.0 % of its attention (query head 2)");
}

TEST_F(HabitTest, TheInspectorCaptionsItsHead) {
  c.previous[at(3, 3)] = 0.85;
  Headless wide(snapshot, {1200, 860});
  wide.frame.selection.layer = 3;
  wide.frame.selection.kv_head = 1;
  const auto inspector = make_inspector();
  wide.draw(*inspector);
  EXPECT_EQ(find_mark(*inspector, "habit", "")->value,
            "What this head habitually looks at was not measured: kvscope-cli heads --out-characters");
  measured();
  wide.draw(*inspector);
  ASSERT_NE(find_mark(*inspector, "habit", "Previous-token head"), nullptr);
  EXPECT_THAT(find_mark(*inspector, "habit", "Previous-token head")->value, HasSubstr("85.0 % of its attention (query head 3)"));
  for (const ImVec2 size : {ImVec2(300, 860), ImVec2(40, 430), ImVec2(1, 900)}) {
    wide.frame.size = size;
    wide.draw(*inspector);
  }
}

TEST_F(HabitTest, NumbersForAnotherShapeAreNotShown) {
  c.n_layers = 2;
  for (auto* x : {&c.sink, &c.local, &c.previous, &c.induction, &c.retrieval, &c.entropy}) x->resize(16);
  measured();
  show(grid, Habit::entropy);
  EXPECT_EQ(find_mark(grid, "cell", "L1 H3")->value, "4.94");
  EXPECT_EQ(find_mark(grid, "cell", "L5 H3")->value, "n/a");
  EXPECT_EQ(habit_caption(snapshot, 5, 3).name, "");
}

}  // namespace
}  // namespace kvscope::viz
