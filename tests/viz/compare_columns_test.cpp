// SPDX-License-Identifier: Apache-2.0
// What the comparison does where its numbers find no room.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "viz/compare_fixture.h"

namespace kvscope::viz {
namespace {

using namespace testing;

/// Cut in the middle, "ExpectedAttentionPress" and "Expected Attention" look alike.
TEST_F(CompareTest, ALongNameHasTwoLinesInATallRow) {
  snapshot.lanes[1].title = "ExpectedAttentionOfAnotherPress";
  snapshot.lanes[2].title = "Short";
  canvas.draw(*view);
  EXPECT_EQ(mark("name", "lane 2").value, "Short");
  const std::string lines = mark("name", "lane 1").value;
  const std::size_t bar = lines.find('|');
  ASSERT_NE(bar, std::string::npos) << lines;
  EXPECT_EQ(lines.substr(0, bar) + lines.substr(bar + 1), snapshot.lanes[1].title) << "nothing is left out";
  // In a lower row, which has a name and one line, the line is its second half; that of the parameters, where a name does not tell.
  const auto at_height = [&](float height, const char* other) {
    snapshot.lanes[2].title = other;
    canvas.frame.size = {1550, height};
    canvas.draw(*view);
    return mark("name", "lane 1").value;
  };
  const std::string whole = snapshot.lanes[1].title;
  bool found = false;
  for (float height = 480; height > 200 && !found; height -= 10)
    found = at_height(height, "Short") == lines && at_height(height, whole.c_str()) == whole;
  EXPECT_TRUE(found);
}

TEST_F(CompareTest, ANameThatIsCutSaysSo) {
  snapshot.lanes[1].title = "Mine: the one with more words than there is room for";
  canvas.draw(*view);
  EXPECT_EQ(mark("name", "lane 1").value, "Mine…");
}

TEST_F(CompareTest, SaysWhichColumnsFoundNoRoom) {
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "columns hidden"), 0);
  const int all = count_marks(*view, "column");
  EXPECT_EQ(all, 10);
  canvas.frame.size = {1230, 870};
  canvas.draw(*view);
  const Mark* hidden = nullptr;
  for (const Mark& m : view->marks()) hidden = m.kind == "columns hidden" ? &m : hidden;
  ASSERT_NE(hidden, nullptr);
  const int shown = count_marks(*view, "column");
  EXPECT_LT(shown, all);
  EXPECT_EQ(hidden->value, fmt::format("{} columns hidden", all - shown));
  EXPECT_TRUE(hidden->label.starts_with("policy work, first differs")) << hidden->label;
  canvas.move(*view, centre(*hidden));
  ASSERT_NE(canvas.last<HoverAt>(), nullptr);
  EXPECT_EQ(canvas.last<HoverAt>()->tooltip.at(0), "No room for: " + hidden->label);
  const Table table = view->table(canvas.frame);
  EXPECT_EQ(table.columns.size(), static_cast<std::size_t>(all) + 2) << "the table has all of them";
}

TEST_F(CompareTest, AnAnswerSaysHowMuchOfItFindsNoRoomAndHowMuchOfThatIsWrong) {
  LaneSnapshot& run = snapshot.lanes[1];
  const int n = static_cast<int>(run.steps.size());
  const std::set<int> wrong = {1, n - 2, n - 1};
  for (int s = 0; s < n; ++s) {
    auto step = std::make_shared<StepRecord>(*run.steps[static_cast<std::size_t>(s)]);
    step->top1 = step->top1_reference + (wrong.contains(s) ? 1 : 0);
    run.steps[static_cast<std::size_t>(s)] = step;
  }
  for (const ImVec2 size : {ImVec2(1900, 870), ImVec2(1550, 870), ImVec2(1550, 400)}) {
    canvas.frame.size = size;
    canvas.draw(*view);
    int shown = 0, of_them_wrong = 0;
    float end = 0;
    for (const Mark& m : view->marks()) {
      if (!m.label.starts_with("lane 1 step ")) continue;
      shown += m.kind.starts_with("answer");
      of_them_wrong += m.kind == "answer.changed";
      end = std::max(end, m.max.x);
    }
    ASSERT_GT(shown, 0);
    ASSERT_LT(shown, n);
    const Mark& more = mark("answer.more", "lane 1");
    EXPECT_EQ(more.value, fmt::format("+{} ({} wrong)", n - shown, 3 - of_them_wrong)) << size.x << " x " << size.y;
    EXPECT_LE(std::max(end, more.max.x), mark("metric", "lane 1 KL, nats").max.x - 20);
    EXPECT_GT(shown, size.x > 1800 ? 3 : 1) << "there is room for more";
  }
}

/// Runs that read their own texts are compared while they read one; and what was fed next may be written in wide letters.
TEST_F(CompareTest, NoUnitRunsIntoTheColumnBeforeIt) {
  snapshot.follow = "self";
  LaneSnapshot& run = snapshot.lanes[1];
  auto step = std::make_shared<StepRecord>(*run.steps[1]);
  ++step->next_token;
  run.steps[1] = step;
  for (const float scale : {1.0f, 1.5f}) {
    Headless scaled{snapshot, {1550 * scale, 870 * scale}, true, scale};
    scaled.frame.selection.step = 2;
    scaled.draw(*view);
    EXPECT_EQ(mark("unit", "mean KL").value, "of one text");
    EXPECT_EQ(mark("unit", "top-1 same").value, "of one text") << "whole";
    int n = 0;
    for (const Mark& m : view->marks()) {
      if (m.kind != "unit") continue;
      EXPECT_GE(m.min.x, mark("column", m.label).min.x + (m.label == "answer" ? 0 : 5)) << m.label << ": " << m.value;
      EXPECT_LE(m.max.x, mark("column", m.label).max.x) << m.label << ": " << m.value;
      ++n;
    }
    EXPECT_GE(n, 9);
  }
  auto vocabulary = std::make_shared<std::vector<TokenInfo>>(1);
  vocabulary->front() = {.id = 0, .bytes = "海伦的门牌号是四百"};
  snapshot.vocabulary = vocabulary;
  for (LaneSnapshot& lane : snapshot.lanes) {
    auto fed = std::make_shared<StepRecord>(*lane.steps[2]);
    fed->next_token = 0;
    lane.steps[2] = fed;
  }
  ++snapshot.sequence;
  canvas.draw(*view);
  EXPECT_NE(mark("unit", "−ln p").value.find("…"), std::string::npos) << mark("unit", "−ln p").value;
  EXPECT_GE(mark("unit", "−ln p").min.x, mark("column", "−ln p").min.x + 5);
}

/// The facts in the title of the panel have no room for it in a small window.
TEST_F(CompareTest, TheColumnOfSlotsSaysThatBudgetsDiffer) {
  canvas.frame.size = {944, 420};
  canvas.draw(*view);
  EXPECT_EQ(mark("column", "slots").value, "step 2");
  snapshot.lanes[1].slots_asked = 17;
  canvas.frame.snapshot = &snapshot;
  canvas.draw(*view);
  EXPECT_EQ(mark("column", "slots").value, "they differ");
}

/// Place by place after the full cache's tokens, or a text that the run wrote.
TEST_F(CompareTest, TheColumnOfAnswersSaysWhoseTextTheyFollow) {
  canvas.frame.size = {1700, 600};
  for (const auto& [follow, words] :
       {std::pair("reference", "after A's tokens"), std::pair("self", "top choices"), std::pair("file", "after given tokens")}) {
    snapshot.follow = follow;
    ++snapshot.sequence;
    canvas.frame.snapshot = &snapshot;
    canvas.draw(*view);
    EXPECT_EQ(mark("column", "answer").value, words);
  }
}

TEST_F(CompareTest, AChoiceOfNumbersBringsHiddenColumnsBack) {
  canvas.frame.size = {1230, 870};
  ASSERT_EQ(view->options().at(2).name, "numbers");
  view->choose(2, 2);
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "column", "policy work"), nullptr);
  EXPECT_NE(find_mark(*view, "column", "KV bytes"), nullptr);
  EXPECT_EQ(find_mark(*view, "column", "mean KL"), nullptr);
  EXPECT_EQ(count_marks(*view, "columns hidden"), 0);
  view->choose(2, 1);
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "column", "mean KL"), nullptr);
  EXPECT_EQ(find_mark(*view, "column", "KV bytes"), nullptr);
}

}  // namespace
}  // namespace kvscope::viz
