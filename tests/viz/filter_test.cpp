// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/synthetic.h"
#include "viz/the_mark.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::HasSubstr;

HeadColumns five_tokens() {
  HeadColumns c;
  c.category = {Category::sink, Category::kept, Category::merged, Category::evicted, Category::fresh};
  c.votes = {1, 3, 0, 0, 1};
  c.score = {kNotAvailable, 0.5, kNotAvailable, 0.1, 0.2};
  c.score_gone = {0, 0, 0, 1, 0};
  c.attention = {0.25, 0.5, kNotAvailable, kNotAvailable, 0.25};
  c.lost = {kNotAvailable, kNotAvailable, 0.1, 0.2, kNotAvailable};
  c.removal.resize(5);
  return c;
}

std::vector<int> hidden_by(const TokenFilter& filter) {
  std::vector<int> out;
  for (int t = 0; t < 5; ++t) {
    if (filter.hides(five_tokens(), t)) out.push_back(t);
  }
  return out;
}

TEST(TokenFilter, HidesBelowItsThresholdsAndNeverWhatWasNotRanked) {
  EXPECT_FALSE(TokenFilter{}.active());
  EXPECT_TRUE(hidden_by({}).empty());
  EXPECT_EQ(hidden_by({.min_score = 0.2}), (std::vector<int>{3}));
  EXPECT_EQ(hidden_by({.min_score = 0.3}), (std::vector<int>{3, 4}));
  EXPECT_EQ(hidden_by({.min_votes = 1}), (std::vector<int>{2, 3}));
  EXPECT_EQ(hidden_by({.min_votes = 2}), (std::vector<int>{0, 2, 3, 4}));
  EXPECT_EQ(hidden_by({.max_age = 2}), (std::vector<int>{0, 1}));
}

TEST(TokenFilter, CountsWhatItHides) {
  HeadColumns columns = five_tokens();
  const HiddenCount count = hide_tokens(columns, {.min_votes = 2});
  EXPECT_EQ(count.tokens, 4);
  EXPECT_EQ(count.all_tokens, 5);
  EXPECT_EQ(count.slots, 2);
  EXPECT_EQ(count.all_slots, 3);
  EXPECT_EQ(columns.category[0], Category::unseen);
  EXPECT_TRUE(std::isnan(columns.attention[0]));
  EXPECT_EQ(columns.category[1], Category::kept);
  EXPECT_DOUBLE_EQ(columns.score[1], 0.5);
}

TEST(RangeSummary, SaysOfHowManyEveryNumberIs) {
  EXPECT_EQ(range_summary(five_tokens(), TokenRange{1, 3}),
            "tokens 1–3 (3) · score of 2: sum 0.600, mean 0.300, max 0.500 · attention of 1: sum 0.500, mean 0.500, max 0.500 · votes 3");
  EXPECT_THAT(range_summary(five_tokens(), TokenRange{2, 2}), HasSubstr("score n/a · attention n/a"));
  EXPECT_EQ(range_summary(five_tokens(), TokenRange{7, 9}), "");
  const std::vector<TokenRange> ranges = {{1, 1}, {3, 4}, {8, 9}};
  const std::string both = range_summary(five_tokens(), ranges);
  EXPECT_THAT(both, HasSubstr("tokens 1, 3–4 (3)")) << "what the step has not seen does not count";
}

TEST(TopMass, IsTheShareOfTheMostAttended) {
  HeadRecord head;
  EXPECT_TRUE(std::isnan(top_mass(head, 3)));
  head.attention = {0.1f, 0.4f, 0.2f, 0.1f};
  EXPECT_NEAR(top_mass(head, 1), 0.5, 1e-6);
  EXPECT_NEAR(top_mass(head, 2), 0.75, 1e-6);
  EXPECT_NEAR(top_mass(head, 99), 1, 1e-6);
  EXPECT_NEAR(top_mass(head, 0), 0, 1e-6);
}

class FilterBarTest : public ::testing::Test {
 protected:
  FilterBarTest() {
    canvas.frame.selection.lane = 3;
    canvas.frame.selection.layer = 2;
    canvas.frame.selection.kv_head = 1;
    canvas.draw(*view);
  }
  const Mark& mark(std::string_view kind, std::string_view label) { return the_mark(*view, kind, label); }

  Snapshot snapshot = synthetic::make_snapshot();
  std::unique_ptr<View> view = make_inspector();
  Headless canvas{snapshot, {1550, 866}};
};

TEST_F(FilterBarTest, DraggingASliderHidesTokensAndSaysHowMany) {
  EXPECT_EQ(mark("hidden", "tokens").value, "nothing hidden");
  const int before = count_marks(*view, "score");
  const Mark slider = mark("slider", "score");
  const float y = (slider.min.y + slider.max.y) / 2;
  canvas.drag(*view, {slider.min.x, y}, {slider.min.x + 0.6f * (slider.max.x - slider.min.x), y});
  canvas.draw(*view);
  EXPECT_NE(mark("slider", "score").value, "any");
  EXPECT_THAT(mark("hidden", "tokens").value, HasSubstr("of 179 tokens, "));
  EXPECT_LT(count_marks(*view, "score"), before);
  // Picture and table hide the same tokens.
  const Table table = view->table(canvas.frame);
  const std::string hidden = std::to_string(179 - static_cast<int>(table.rows.size()));
  EXPECT_THAT(mark("hidden", "tokens").value, HasSubstr("hidden: " + hidden + " of 179"));
  EXPECT_THAT(table.note, HasSubstr("hidden by the filter: " + hidden + " of 179 tokens"));
  EXPECT_EQ(canvas.last<Select>(), nullptr) << "a slider is no token";
  canvas.double_click(*view, {(slider.min.x + slider.max.x) / 2, y});
  canvas.draw(*view);
  EXPECT_EQ(mark("hidden", "tokens").value, "nothing hidden");
}

TEST_F(FilterBarTest, TheListOfTheHeaderSetsThemToo) {
  view->choose(1, 1);
  canvas.draw(*view);
  const HeadRecord& head = snapshot.lanes[3].steps.back()->heads[9];
  EXPECT_EQ(mark("hidden", "tokens").value, "hidden: " + std::to_string(179 - head.pos.size()) + " of 179 tokens, 0 of 42 slots");
  EXPECT_EQ(view->options()[1].current, 1);
  view->choose(1, 0);
  canvas.draw(*view);
  EXPECT_EQ(mark("hidden", "tokens").value, "nothing hidden");
}

TEST_F(FilterBarTest, ARangeOfTokensIsSummedUp) {
  canvas.frame.selection.tokens = TokenRange{20, 60};
  canvas.draw(*view);
  EXPECT_THAT(mark("summary", "selected tokens").value, HasSubstr("tokens 20–60 (41) · score of "));
  canvas.frame.selection.tokens = TokenRange{20, 20};
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "summary"), 0);
  EXPECT_THAT(view->facts(canvas.frame), HasSubstr(" · top 8 hold "));
}

}  // namespace
}  // namespace kvscope::viz
