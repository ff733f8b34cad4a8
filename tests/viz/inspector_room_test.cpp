// SPDX-License-Identifier: Apache-2.0
// The inspector where there is little room, much to show, nothing, or something broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "viz/inspector_fixture.h"
#include "viz/synthetic.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST_F(InspectorTest, WithoutSelectionItTakesTheSlotWithTheMostVotesAndSaysSo) {
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
    for (const char* name : {"votes", "ranking score", "rank", "attention now", "born · last merge"}) EXPECT_FALSE(row(name).empty()) << slot << name;
    EXPECT_GT(mark("cutoff", "L0 H0").max.y, 0);
  }
}

TEST_F(InspectorTest, WhatHasNoRoomIsSaidAndCanBeShownInstead) {
  canvas.frame.size = {1260, 531};  // of a window of 1280 x 720
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "card"), 0);
  const Mark hint = mark("no room", "the slot, its lineage and why");
  EXPECT_THAT(hint.value, HasSubstr("a window 59 px higher shows all"));
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
  canvas.frame.size.y += 59;
  canvas.draw(*view);
  EXPECT_GT(count_marks(*view, "fate"), 0);
  EXPECT_EQ(count_marks(*view, "card"), 3);
  EXPECT_EQ(count_marks(*view, "no room"), 0);
  EXPECT_FALSE(view->key(canvas.frame, "Enter", canvas.intents)) << "nothing to swap";
}

TEST_F(InspectorTest, AReasonWithoutRoomIsCountedNotCut) {
  canvas.frame.size = {1260, 602};
  canvas.draw(*view);
  const int low = count_marks(*view, "why");
  EXPECT_EQ(mark("why.hidden", "2 of 4 steps fit").min.y, mark("cost", "compress_rel_l2").min.y);
  canvas.frame.size.y = 866;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "why"), 4);
  EXPECT_LT(low, 4);
  EXPECT_EQ(count_marks(*view, "why.hidden"), 0);
}

TEST_F(InspectorTest, TheNoteOnHiddenReasonsFitsWhatIsSeen) {
  int cut = 0;
  for (float height = 600; height <= 866; height += 4) {
    canvas.frame.size = {1260, height};
    canvas.draw(*view);
    if (count_marks(*view, "why.hidden") == 0) continue;
    const bool all_begin = find_mark(*view, "why", "4") != nullptr;
    cut += all_begin;
    EXPECT_EQ(find_mark(*view, "why.hidden", "step 4 is cut") != nullptr, all_begin) << height;
  }
  EXPECT_GT(cut, 0) << "else the test has not seen the case";
}

TEST_F(InspectorTest, BesideTheSlotStandsWhatWasChosen) {
  canvas.frame.size = {900, 866};
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "card", "Lineage"), nullptr);
  EXPECT_EQ(find_mark(*view, "card", "Why"), nullptr);
  ASSERT_EQ(view->options().size(), 2u);
  view->choose(0, 2);
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "card", "Lineage"), nullptr);
  EXPECT_NE(find_mark(*view, "card", "Why"), nullptr);
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
