// SPDX-License-Identifier: Apache-2.0
// The inspector where there is little room, much to show, nothing, or something broken.
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "viz/inspector_fixture.h"
#include "viz/synthetic.h"
#include "viz/views/inspector/inspector_strip.h"

namespace kvscope::viz {
namespace {

TEST(InspectorPlaces, AnOfferStandsOverTheLowestBars) {
  const TokenAxis axis{.x0 = 100, .x1 = 500, .px = 4, .first = 0, .n_tokens = 100};
  const auto left_of = [&](std::initializer_list<int> high) {
    return place_over_lowest(axis, 150, [&](int token) { return std::ranges::find(high, token) == high.end() ? 0.1 : 1.0; });
  };
  for (const int token : {0, 20, 50, 80, 99}) {
    const float x = left_of({token}), bar = axis.x_of(token) + axis.px / 2;
    EXPECT_TRUE(bar < x || bar > x + 150) << token << " at " << x;
    EXPECT_GE(x, axis.x0);
    EXPECT_LE(x + 150, axis.x1);
  }
  EXPECT_EQ(place_over_lowest(axis, 1000, [](int token) { return token == 99 ? 1.0 : 0.0; }), axis.x0 + 8) << "wider than the axis";
}

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(InspectorTest, WithoutSelectionItTakesTheTokenThatIsMissedMost) {
  canvas.frame.selection.slot.reset();
  canvas.draw(*view);
  EXPECT_EQ(mark("card", "Token 0").value, "most missed, none selected") << "evicted, and the full cache pays it an eighth";
}

TEST_F(InspectorTest, WhereNothingIsMissedItTakesTheSlotWithTheMostVotesAndSaysSo) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  for (HeadRecord& head : step->heads) head.reference_attention.clear();
  snapshot.lanes[1].steps.back() = step;
  canvas.frame.selection.slot.reset();
  canvas.draw(*view);
  EXPECT_EQ(mark("card", "Slot 3").value, "most votes, none selected");
}

TEST_F(InspectorTest, SmallCanvasesDropTheCardsNotTheStrip) {
  for (const ImVec2 size : {ImVec2{1550, 460}, ImVec2{600, 300}, ImVec2{320, 200}}) {
    canvas.frame.size = size;
    canvas.draw(*view);
    EXPECT_EQ(count_marks(*view, "card"), 0) << size.x;
    EXPECT_GT(count_marks(*view, "fate"), 0) << size.x;
    for (const Mark& m : view->marks()) {
      EXPECT_LE(m.max.y, size.y + 0.5f) << m.kind << " " << m.label;
      EXPECT_GE(m.min.y, -0.5f) << m.kind << " " << m.label;
    }
  }
}

TEST_F(InspectorTest, AWindowOf1280By800HasItsCardsWithTheirButtons) {
  canvas.frame.size = {1260, 612};
  for (const int slot : {3, 7}) {  // with merges, and alone
    canvas.frame.selection.slot = slot;
    canvas.draw(*view);
    for (const char* card : {"Lineage", "Why"}) EXPECT_NE(find_mark(*view, "card", card), nullptr) << card;
    for (const char* button : {"Pin", "Evict", "Merge…"}) EXPECT_NE(find_mark(*view, "button", button), nullptr) << slot << button;
    for (const char* name : {"votes", "ranking score", "rank", "attention now", "born · last merge"})
      EXPECT_FALSE(row(name).empty()) << slot << name;
    EXPECT_GT(mark("cutoff", "L0 H0").max.y, 0);
  }
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());  // with one row more
  step->heads[0].agreement = {0, 1, 2, 2, 1, 0, 2, 1};
  snapshot.lanes[1].steps.back() = step;
  canvas.draw(*view);
  for (const char* button : {"Pin", "Evict", "Merge…"}) EXPECT_NE(find_mark(*view, "button", button), nullptr) << button;
  EXPECT_EQ(row("agreement"), "1 of 2 query heads");
}

TEST_F(InspectorTest, NamesOfLowRowsDoNotRunIntoEachOther) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  for (HeadRecord& head : step->heads) head.statistic.assign(head.pos.size(), 0.5);
  snapshot.lanes[1].steps.back() = step;
  snapshot.lanes[1].statistic = "accumulated attention";
  int compared = 0;
  for (float height = 540; height <= 700; height += 20) {
    canvas.frame.size = {1260, height};
    RecordedScene recorded(canvas);
    canvas.draw(*view);
    std::vector<float> lines;  // of the column of names
    for (const SceneCommand& c : recorded.scene.commands)
      if (c.kind == SceneCommand::Kind::text && !c.points.empty() && std::abs(c.points[0].x - 12) < 0.5f) lines.push_back(c.points[0].y);
    std::ranges::sort(lines);
    for (std::size_t i = 1; i < lines.size(); ++i) {
      EXPECT_GE(lines[i] - lines[i - 1], 10.5f) << height << " at " << lines[i];
      ++compared;
    }
  }
  EXPECT_GT(compared, 40);
}

TEST_F(InspectorTest, WhatHasNoRoomIsSaidAndCanBeShownInstead) {
  canvas.frame.size = {1260, 470};
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "card"), 0);
  const Mark hint = mark("no room", "the slot and what is beside it");
  EXPECT_THAT(hint.value, HasSubstr("a window 42 px higher shows both"));
  for (const Mark& m : view->marks())
    EXPECT_TRUE(m.kind == "no room" || m.kind == "button" || m.max.y <= hint.min.y + 0.5f) << m.kind << " " << m.label;
  const Mark button = mark("button", "Show them instead (Enter)");
  canvas.click(*view, {(button.min.x + button.max.x) / 2, (button.min.y + button.max.y) / 2});
  canvas.draw(*view);
  for (const char* card : {"Slot 3", "Lineage", "Why"}) EXPECT_NE(find_mark(*view, "card", card), nullptr) << card;
  EXPECT_EQ(count_marks(*view, "fate"), 0);
  EXPECT_NE(find_mark(*view, "no room", "scores, attention, fates and votes"), nullptr);
  EXPECT_TRUE(view->key(canvas.frame, "Enter", canvas.intents));
  canvas.draw(*view);
  EXPECT_GT(count_marks(*view, "fate"), 0);
  // The promise holds.
  canvas.frame.size.y += 42;
  canvas.draw(*view);
  EXPECT_GT(count_marks(*view, "fate"), 0);
  EXPECT_EQ(count_marks(*view, "card"), 3);
  EXPECT_EQ(count_marks(*view, "no room"), 0);
  EXPECT_FALSE(view->key(canvas.frame, "Enter", canvas.intents)) << "nothing to swap";
}

TEST_F(InspectorTest, ALowWindowGivesUpTheFiltersBeforeTheCards) {
  canvas.frame.size = {1260, 531};  // of a window of 1280 x 720
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "card"), 3);
  EXPECT_GT(count_marks(*view, "fate"), 0);
  EXPECT_EQ(count_marks(*view, "habit"), 0);
}

TEST_F(InspectorTest, ReasonsWithoutRoomAreScrolledTo) {
  canvas.frame.selection.slot = 5;  // merged
  canvas.frame.size = {1260, 574};
  canvas.draw(*view);
  EXPECT_EQ(mark("why.hidden", "more of reason 3: PgDown").min.y, mark("cost", "compress_rel_l2").min.y);
  EXPECT_EQ(find_mark(*view, "why", "4"), nullptr);
  const Mark thumb = mark("why.scroll", "reasons"), first = mark("why", "1");
  for (int i = 0; i < 30; ++i) canvas.wheel(*view, {first.min.x + 20, first.max.y}, -1);
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "why", "1"), nullptr);
  EXPECT_LE(mark("why", "4").max.y, mark("cost", "compress_rel_l2").min.y);
  EXPECT_GT(mark("why.scroll", "reasons").min.y, thumb.min.y);
  EXPECT_NE(find_mark(*view, "why.hidden", "begins above: PgUp"), nullptr);
  EXPECT_TRUE(view->key(canvas.frame, "PageUp", canvas.intents));
  for (int i = 0; i < 5; ++i) view->key(canvas.frame, "PageUp", canvas.intents);
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "why", "1"), nullptr);

  // Where there is room for all, nothing scrolls.
  canvas.frame.size.y = 900;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "why"), 4);
  EXPECT_EQ(count_marks(*view, "why.hidden") + count_marks(*view, "why.scroll"), 0);
  EXPECT_FALSE(view->key(canvas.frame, "PageDown", canvas.intents));
}

TEST_F(InspectorTest, APictureForAFileIsAsHighAsItsReasonsNeed) {
  canvas.frame.selection.slot = 5;  // merged
  canvas.frame.alone = true;
  for (const char* const beside : {"lineage, else why", "why"})
    for (const float width : {1000.0f, 1260.0f})
      for (const float height : {200.0f, 420.0f, 574.0f, 620.0f}) {
        view->choose(0, beside == std::string_view("why") ? 2 : 0);
        canvas.frame.size = {width, height};
        canvas.draw(*view);
        const float lacking = view->lacking_height();
        canvas.frame.size.y += std::ceil(lacking);
        canvas.draw(*view);
        const std::string where = fmt::format("{} at {} x {}, {} more", beside, width, height, lacking);
        EXPECT_EQ(view->lacking_height(), 0) << where;
        EXPECT_EQ(count_marks(*view, "why.hidden") + count_marks(*view, "why.scroll"), 0) << where;
        EXPECT_GT(count_marks(*view, "fate"), 0) << where << ": and nothing else gives way";
        EXPECT_NE(find_mark(*view, "why", "4"), nullptr) << where << ": on paper the reasons come before the lineage";
        EXPECT_GT(lacking, 0) << where;
      }
  canvas.frame.size = {1260, 1000};
  canvas.draw(*view);
  EXPECT_EQ(view->lacking_height(), 0) << "what has room stays as it is";
  canvas.frame.alone = false;
  canvas.frame.size = {1260, 574};
  canvas.draw(*view);
  EXPECT_EQ(view->lacking_height(), 0) << "on screen it is scrolled";
}

TEST_F(InspectorTest, APictureForAFileLeavesTheReasonsWhereTheyAreScrolledTo) {
  canvas.frame.selection.slot = 5;
  canvas.frame.size = {1260, 574};
  canvas.draw(*view);
  EXPECT_TRUE(view->key(canvas.frame, "PageDown", canvas.intents));
  canvas.draw(*view);
  const float thumb = mark("why.scroll", "reasons").min.y;
  canvas.frame.alone = true;
  canvas.frame.size.y = 900;
  canvas.draw(*view);
  canvas.frame.alone = false;
  canvas.frame.size.y = 574;
  canvas.draw(*view);
  EXPECT_EQ(mark("why.scroll", "reasons").min.y, thumb);
}

TEST_F(InspectorTest, EveryOtherRunSaysWhatBecameOfTheToken) {
  while (snapshot.lanes.size() < 9) snapshot.lanes.push_back(snapshot.lanes[1]);
  ++snapshot.sequence;
  canvas.frame.size = {1260, 2000};
  canvas.draw(*view);
  std::string all;
  for (const Mark& m : view->marks())
    if (m.kind == "why.line") all += m.value + "\n";
  for (const char* const letter : {"C ", "D ", "E ", "F ", "G ", "H ", "I "}) EXPECT_THAT(all, HasSubstr(std::string("\n") + letter));
  EXPECT_THAT(all, Not(HasSubstr(" more\n")));
}

TEST_F(InspectorTest, AnEquationIsReadToItsEndHoweverNarrowTheCard) {
  canvas.frame.selection.slot = 5;  // merged
  snapshot.lanes[1].score_equation =
      "w_1 times the mean attention of the last queries plus w_2 times the largest that any of them pays to it, over the norm of its value: "
      "w_1 and w_2 are what the policy was given";
  view->choose(0, 2);
  for (const float width : {1260.0f, 1000.0f, 900.0f}) {
    canvas.frame.size = {width, 1100};
    RecordedScene recorded(canvas);
    canvas.draw(*view);
    const Mark card = mark("card", "Why");
    std::string words;
    for (const SceneCommand& c : recorded.scene.commands) {
      if (c.kind != SceneCommand::Kind::text || c.points[0].x < card.min.x || c.points[0].x > card.max.x || c.points[0].y < card.min.y)
        continue;
      EXPECT_FALSE(c.text.ends_with("…")) << width << ": " << c.text;
      EXPECT_LE(c.points[0].x + c.width, card.max.x + 0.5f) << width << ": " << c.text;
      words += c.text + " ";
    }
    EXPECT_THAT(words, HasSubstr("what the policy was given")) << width;
  }
}

TEST_F(InspectorTest, EveryReasonCanBeReachedAtAnyHeight) {
  canvas.frame.selection.slot = 5;  // merged
  for (float height = 600; height <= 866; height += 14) {
    canvas.frame.size = {1260, height};
    canvas.draw(*view);
    for (int i = 0; i < 9; ++i) view->key(canvas.frame, "PageDown", canvas.intents);
    canvas.draw(*view);
    EXPECT_NE(find_mark(*view, "why", "4"), nullptr) << height;
    EXPECT_EQ(count_marks(*view, "head.row"), 2) << height;
    for (int i = 0; i < 9; ++i) view->key(canvas.frame, "PageUp", canvas.intents);
  }
}

TEST_F(InspectorTest, InLowRowsAgreementCanStandForTheStatistic) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  step->heads[0].agreement = {0, 1, 2, 2, 1, 0, 2, 1};
  snapshot.lanes[1].steps.back() = step;
  canvas.frame.size = {1260, 612};
  canvas.draw(*view);
  EXPECT_GT(count_marks(*view, "statistic"), 0);
  EXPECT_EQ(count_marks(*view, "agreement"), 0);
  view->choose(2, 1);
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "statistic"), 0);
  EXPECT_GT(count_marks(*view, "agreement"), 0);
  canvas.frame.size.y = 900;
  canvas.draw(*view);
  EXPECT_GT(count_marks(*view, "statistic"), 0);
  EXPECT_GT(count_marks(*view, "agreement"), 0);
}

TEST_F(InspectorTest, BesideTheSlotStandsWhatWasChosen) {
  canvas.frame.size = {900, 866};
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "card", "Lineage"), nullptr);
  EXPECT_EQ(find_mark(*view, "card", "Why"), nullptr);
  ASSERT_EQ(view->options().size(), 3u);
  view->choose(0, 2);
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "card", "Lineage"), nullptr);
  EXPECT_NE(find_mark(*view, "card", "Why"), nullptr);
}

TEST_F(InspectorTest, ALayerWithAWindowSaysHowFarItSees) {
  EXPECT_THAT(view->facts(canvas.frame), Not(HasSubstr("sees the last")));
  snapshot.model.layers.assign(static_cast<std::size_t>(snapshot.model.n_layers), LayerConfig());
  snapshot.model.layers[0].window = 4;
  EXPECT_THAT(view->facts(canvas.frame), HasSubstr(" · sees the last 4 tokens · slots "));
}

TEST_F(InspectorTest, EmptySnapshotsAndLanesWithoutStepsShowASentence) {
  const Snapshot nothing;
  canvas.frame.snapshot = &nothing;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "empty"), 1);
  EXPECT_EQ(view->facts(canvas.frame), "");
  EXPECT_EQ(view->cursor_text(canvas.frame), "");
  EXPECT_FALSE(view->key(canvas.frame, "Left", canvas.intents));
  snapshot.lanes[1].steps.clear();
  canvas.frame.snapshot = &snapshot;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "empty"), 1);
  canvas.frame.snapshot = nullptr;
  canvas.draw(*view);
  EXPECT_TRUE(view->table(canvas.frame).rows.empty());
}

TEST_F(InspectorTest, EveryHeadOfManyDrawsWithinTheLimit) {
  synthetic::Shape shape;
  shape.n_layers = shape.n_kv_heads = shape.n_heads = 32;
  shape.n_generated = 2;
  const Snapshot large = synthetic::make_snapshot(shape);
  canvas.frame.snapshot = &large;
  for (const int head : {0, 511, 1023}) {
    canvas.frame.selection = Selection{3, head / 32, head % 32, {}, {}, {}};
    const ImDrawData* data = canvas.draw(*view);
    EXPECT_LE(view->marks().size(), 5000u);
    EXPECT_GT(data->TotalVtxCount, 0);
  }
}

TEST_F(InspectorTest, LongTextsStayWithinTheLimit) {
  const Snapshot huge = synthetic::make_huge_snapshot(1, 1, 32768);
  canvas.frame.snapshot = &huge;
  canvas.frame.selection = Selection{1, 0, 0, {}, {}, {}};
  canvas.draw(*view);
  EXPECT_LE(view->marks().size(), 5000u);
  for (int i = 0; i < 30; ++i) canvas.wheel(*view, {700, 100}, 1);
  canvas.draw(*view);
  EXPECT_LE(view->marks().size(), 5000u);
  EXPECT_GT(count_marks(*view, "text"), 10);
}

TEST_F(InspectorTest, APictureHasNoSlidersAndNoArrows) {
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "slider"), 3);
  EXPECT_NE(find_mark(*view, "button", "next head"), nullptr);
  canvas.frame.alone = true;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "slider"), 0);
  EXPECT_EQ(find_mark(*view, "button", "next head"), nullptr);
}

TEST_F(InspectorTest, APixelOfSeveralTokensSaysWhichOfThemItShows) {
  const Snapshot huge = synthetic::make_huge_snapshot(1, 1, 2048);
  canvas.frame.snapshot = &huge;
  canvas.frame.selection = Selection{1, 0, 0, {}, {}, {}};
  canvas.draw(*view);
  EXPECT_TRUE(mark("legend.note", "L0 H0").value.starts_with("1 px = up to 2 tokens")) << mark("legend.note", "L0 H0").value;
  canvas.frame.size.x = 1100;
  canvas.draw(*view);
  EXPECT_EQ(mark("legend.note", "L0 H0").value, "1 px = up to 3 tokens, the most of them") << "in short where there is little room";
  canvas.frame.snapshot = &snapshot;
  canvas.frame.size.x = 1550;
  canvas.draw(*view);
  EXPECT_EQ(mark("legend.note", "L0 H0").value, "dots = votes, bar above 5");
}

TEST_F(InspectorTest, BrokenRecordsDoNotBreakThePicture) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  HeadRecord& head = step->heads[0];
  head.pos.push_back(500);  // after the query
  head.score.resize(1);
  head.votes.clear();
  head.bias = {1};
  head.attention.resize(2);
  head.merges[0].mu.clear();
  head.merges[0].T.resize(1);
  snapshot.lanes[1].steps.back() = step;
  for (int token = -3; token < 12; ++token) {
    canvas.frame.selection.slot = token;
    canvas.draw(*view);
    EXPECT_GT(view->marks().size(), 0u);
  }
}

}  // namespace
}  // namespace kvscope::viz
