// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "snapshot/synthetic.h"
#include "viz/format.h"
#include "viz/headless.h"
#include "viz/lineage_fixture.h"
#include "viz/reduce_text.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class InspectorTest : public ::testing::Test {
 protected:
  InspectorTest() {
    canvas.frame.selection.lane = 1;
    canvas.frame.selection.layer = 0;
    canvas.frame.selection.kv_head = 0;
    canvas.frame.selection.slot = 3;
  }
  const Mark& mark(std::string_view kind, std::string_view label) {
    const Mark* found = find_mark(*view, kind, label);
    EXPECT_NE(found, nullptr) << kind << " " << label;
    static const Mark none{};
    return found == nullptr ? none : *found;
  }
  std::string row(std::string_view name) { return mark("slot.row", name).value; }

  Snapshot snapshot = small_snapshot();
  std::unique_ptr<View> view = make_inspector();
  Headless canvas{snapshot, {1550, 866}};
};

TEST_F(InspectorTest, EveryRowPrintsTheNumbersOfTheRecord) {
  canvas.draw(*view);
  EXPECT_EQ(mark("score", "L0 H0 t4").value, "0.900");
  EXPECT_EQ(mark("score", "L0 H0 t5").value, "0.300");        // removed in this step: still filled
  EXPECT_EQ(mark("score.gone", "L0 H0 t0").value, "0.0500");  // removed earlier: outline
  EXPECT_EQ(mark("score", "L0 H0 t7").value, "–");            // protected, not ranked: never a zero
  EXPECT_EQ(mark("statistic", "L0 H0 t3").value, "0.0400");
  EXPECT_EQ(mark("attention", "L0 H0 t3").value, "0.200");
  EXPECT_EQ(mark("attention.reference", "L0 H0 t1").value, "0.125");
  EXPECT_EQ(mark("votes", "L0 H0 t3").value, "4");
  EXPECT_EQ(mark("fate", "L0 H0 t1").value, "merged");
  EXPECT_EQ(mark("fate", "L0 H0 t0").value, "evicted");
  EXPECT_EQ(mark("text", "L0 H0 t3").value, "t3");
  EXPECT_EQ(mark("cutoff", "L0 H0").value, "0.800");
}

TEST_F(InspectorTest, BarsStandAsHighAsTheScaleSays) {
  canvas.draw(*view);
  const Mark &high = mark("score", "L0 H0 t6"), &low = mark("score", "L0 H0 t5");  // 1.1 and 0.3 on a square-root scale that ends at 1.1
  const float full = high.max.y - high.min.y;
  EXPECT_NEAR((low.max.y - low.min.y) / full, std::sqrt(0.3 / 1.1), 1.5 / static_cast<double>(full));
}

TEST_F(InspectorTest, CardLineageAndReasonsDescribeTheSelectedSlot) {
  canvas.draw(*view);
  EXPECT_EQ(row("position"), "3");
  EXPECT_EQ(row("votes"), "4");
  EXPECT_EQ(row("members"), "4 tokens");
  EXPECT_EQ(row("ranking score"), "0.800");
  EXPECT_EQ(row("rank"), "3 of 3 ranked");
  EXPECT_EQ(row("share"), "0.0400");
  EXPECT_EQ(row("attention now"), "0.200");
  EXPECT_EQ(row("logit bias b"), "+1.2500");
  EXPECT_EQ(row("born · last merge"), "step 3 · step 7");
  EXPECT_EQ(count_marks(*view, "member"), 4);
  EXPECT_EQ(count_marks(*view, "merge"), 3);
  EXPECT_EQ(mark("merge", "t5 into t3").value, "step 7, w 0.300, cos 0.950");
  EXPECT_EQ(mark("slot", "slot 3").value, "4 votes");
  EXPECT_EQ(mark("why", "2").value, "Nearest key: slot 3 «t3», cosine 0.950 ≥ 0.80, so it merges");
  EXPECT_EQ(mark("threshold", "cosine").value, "0.8");
  EXPECT_EQ(mark("head.row", "query head 1").value, "1 4.500 4.600 −0.100 −0.097");
  EXPECT_EQ(mark("cost", "compress_rel_l2").value, "this head's output changed by 1.2 % at step 7");
}

TEST_F(InspectorTest, TheNoteOfTheCosinesStandsBesideTheNumbersOfTheirAxis) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[7]);
  for (Event& e : step->heads[0].events)
    if (e.kind == Event::Kind::merge) e.runner_ups = {{6, 0.78}, {2, 0.75}};
  snapshot.lanes[1].steps[7] = step;
  for (const float width : {900.f, 1200.f, 1600.f}) {
    canvas.frame.size.x = width;
    canvas.draw(*view);
    const Mark* note = nullptr;
    for (const Mark& m : view->marks())
      if (m.kind == "cosine.note") note = &m;
    if (note == nullptr) continue;  // no room for the card at all
    for (const Mark& m : view->marks()) {
      if (m.kind != "cosine.tick") continue;
      const bool apart = m.max.x <= note->min.x || m.min.x >= note->max.x || m.max.y <= note->min.y + 3 || m.min.y >= note->max.y - 3;
      EXPECT_TRUE(apart) << m.label << " under \"" << note->label << "\" at " << width;
    }
  }
}

TEST_F(InspectorTest, FactsAddUp) {
  EXPECT_EQ(view->facts(canvas.frame),
            "L0 · H0 · slots 4 of 8 tokens (50.0 %) · merged away 3 · evicted 1 · votes 7 + 1 lost = 8 · attention lost 20.0 % · local "
            "error 113.5 % · "
            "effective tokens 5.00 · top 8 hold 100 % of the attention");
}

TEST_F(InspectorTest, AMeasureThatIsMissingIsNotAZero) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  HeadRecord& head = step->heads[0];
  head.score.assign(head.score.size(), kNotAvailable);
  head.statistic[0] = kNotAvailable;
  head.attention.clear();
  head.reference_attention.clear();
  head.compress_rel_l2 = kNotAvailable;
  head.cutoff = kNotAvailable;
  snapshot.lanes[1].steps.back() = step;
  canvas.draw(*view);
  EXPECT_EQ(row("ranking score"), "n/a");
  EXPECT_EQ(row("rank"), "not ranked");
  EXPECT_EQ(row("share"), "n/a");
  EXPECT_EQ(row("attention now"), "n/a");
  EXPECT_EQ(mark("cost", "compress_rel_l2").value, "not measured");
  EXPECT_EQ(count_marks(*view, "attention"), 0);
  EXPECT_EQ(find_mark(*view, "statistic", "L0 H0 t3"), nullptr);
  EXPECT_EQ(count_marks(*view, "cutoff"), 0);
}

TEST_F(InspectorTest, WithoutStatisticTheRowIsLeftOutAndTheOthersGrow) {
  canvas.draw(*view);
  const Mark before = mark("attention", "L0 H0 t3");
  for (StepPtr& step : snapshot.lanes[1].steps) {
    auto copy = std::make_shared<StepRecord>(*step);
    copy->heads[0].statistic.clear();
    step = copy;
  }
  snapshot.lanes[1].statistic.clear();
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "statistic"), 0);
  const Mark& after = mark("attention", "L0 H0 t3");
  EXPECT_GT(after.max.y - after.min.y, before.max.y - before.min.y);
  EXPECT_EQ(find_mark(*view, "slot.row", "share"), nullptr);
}

TEST_F(InspectorTest, NegativeScoresStandOnALinearScale) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  step->heads[0].score = {-9.5, -8.25, -7, kNotAvailable};
  step->heads[0].cutoff = -9.5;
  snapshot.lanes[1].steps.back() = step;
  canvas.draw(*view);
  EXPECT_EQ(mark("score", "L0 H0 t3").value, "−9.50");
  const Mark &a = mark("score", "L0 H0 t3"), &b = mark("score", "L0 H0 t4");
  EXPECT_GT(b.max.y - b.min.y, a.max.y - a.min.y);
}

TEST_F(InspectorTest, DraggingTheCutoffAsksForTheSlotsThatStayAboveIt) {
  canvas.draw(*view);
  const Mark cut = mark("cutoff", "L0 H0");
  const Mark top = mark("score", "L0 H0 t6");  // 1.1, the highest: the top of the row
  const ImVec2 from((cut.min.x + cut.max.x) / 2, (cut.min.y + cut.max.y) / 2);
  const float height = top.max.y - top.min.y;
  const auto y_of = [&](double score) { return top.max.y - height * static_cast<float>(std::sqrt(score / 1.1)); };
  canvas.press(*view, from);
  canvas.move(*view, {from.x, y_of(1.0)});  // only 1.1 stays, and the protected newest
  EXPECT_EQ(canvas.last<SetBudget>(), nullptr) << "a preview: asked for when the line is let go";
  canvas.move(*view, {from.x, y_of(0.1)});  // the removed one (0.3) comes back too
  canvas.release(*view);
  const SetBudget* budget = canvas.last<SetBudget>();
  ASSERT_NE(budget, nullptr);
  EXPECT_EQ(budget->lane, 1);
  EXPECT_EQ(budget->layer, 0);
  EXPECT_EQ(budget->kv_head, 0);
  EXPECT_EQ(budget->slots, 5);
  canvas.intents.clear();
  canvas.move(*view, {from.x, y_of(1.0)});
  EXPECT_EQ(canvas.last<SetBudget>(), nullptr);
  EXPECT_EQ(canvas.last<Select>(), nullptr) << "the drag was not a click on a token";
}

TEST_F(InspectorTest, TheReferenceHasNoCutoffToDrag) {
  canvas.frame.selection.lane = 0;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "cutoff"), 0);
  EXPECT_EQ(mark("why", "nothing").value, "No budget: every token keeps its slot.");
}

TEST_F(InspectorTest, ClickingAColumnSelectsTheToken) {
  canvas.draw(*view);
  canvas.click(*view, centre(mark("fate", "L0 H0 t4")));
  const Select* select = canvas.last<Select>();
  ASSERT_NE(select, nullptr);
  EXPECT_EQ(select->selection.slot, 4);
  EXPECT_EQ(select->selection.tokens, (TokenRange{4, 4}));
  EXPECT_EQ(select->selection.layer, 0);
}

TEST_F(InspectorTest, ClickingALeafOfTheLineageSelectsItAndSaysHowItCame) {
  canvas.draw(*view);
  const ImVec2 leaf = centre(mark("lineage", "t5"));
  canvas.move(*view, leaf);
  const HoverAt* hover = canvas.last<HoverAt>();
  ASSERT_NE(hover, nullptr);
  EXPECT_EQ(hover->hover.token, 5);
  EXPECT_EQ(hover->tooltip[1], "merged into slot 3 at step 7");
  EXPECT_EQ(hover->tooltip[2], "weight 0.300, cosine 0.950");
  canvas.click(*view, leaf);
  EXPECT_EQ(canvas.last<Select>()->selection.slot, 5);
}

TEST_F(InspectorTest, TooltipsRepeatTheRecord) {
  canvas.draw(*view);
  canvas.move(*view, centre(mark("fate", "L0 H0 t3")));
  const HoverAt* hover = canvas.last<HoverAt>();
  ASSERT_NE(hover, nullptr);
  EXPECT_THAT(hover->tooltip, ::testing::ElementsAre("token 3 «t3» · L0 · H0", "kept by rank", "attention 0.200, rank 1 of 5",
                                                     "ranking score 0.800", "share 0.0400", "4 votes"));
  canvas.move(*view, centre(mark("fate", "L0 H0 t1")));
  EXPECT_THAT(canvas.last<HoverAt>()->tooltip,
              ::testing::ElementsAre("token 1 «t1» · L0 · H0", "merged into slot 2 at step 4",
                                     "attention in the reference 0.125, not in this cache", "ranking score at its removal 0.100",
                                     "cosine to the nearest kept key 0.900"));
}

TEST_F(InspectorTest, ButtonsOfTheSlotEditItByHand) {
  using What = EditTokens::What;
  const auto click = [&](const char* button) {
    canvas.draw(*view);
    canvas.intents.clear();
    canvas.click(*view, centre(mark("button", button)));
    const EditTokens* edit = canvas.last<EditTokens>();
    return edit == nullptr ? std::optional<What>() : edit->what;
  };
  EXPECT_EQ(click("Pin"), What::pin);
  EXPECT_EQ(click("Evict"), What::evict);
  ASSERT_NE(canvas.last<Select>(), nullptr) << "the slot that is looked at is the one that is meant";
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{3, 3}));
  EXPECT_EQ(click("Merge…"), What::merge);
  EXPECT_EQ(find_mark(*view, "button", "Restore"), nullptr);
  canvas.move(*view, centre(mark("button", "Evict")));
  EXPECT_THAT(canvas.last<HoverAt>()->tooltip, ::testing::ElementsAre(HasSubstr("(E)")));

  canvas.frame.selection.slot = 0;  // evicted
  canvas.frame.selection.tokens = TokenRange{0, 0};
  EXPECT_EQ(click("Restore"), What::restore);
  EXPECT_EQ(find_mark(*view, "button", "Evict"), nullptr);
  canvas.frame.selection.lane = 0;
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "button", "Restore"), nullptr) << "the reference is not edited";
  canvas.intents.clear();
  canvas.frame.selection.lane = 1;
}

TEST_F(InspectorTest, ArrowsGoFromSlotToSlotAndFromHeadToHead) {
  ASSERT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.slot, 4);
  canvas.apply();
  ASSERT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.slot, 6) << "5 has no slot any more";
  canvas.intents.clear();
  ASSERT_TRUE(view->key(canvas.frame, "Home", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.slot, 3);
  const Snapshot large = synthetic::make_snapshot();
  canvas.frame.snapshot = &large;
  canvas.frame.selection = Selection{3, 2, 3, {}, {}, {}};
  ASSERT_TRUE(view->key(canvas.frame, "Down", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.layer, 3);
  EXPECT_EQ(canvas.last<Select>()->selection.kv_head, 0);
  canvas.draw(*view);
  canvas.click(*view, centre(mark("button", "previous head")));
  EXPECT_EQ(canvas.last<Select>()->selection.kv_head, 2);
}

TEST_F(InspectorTest, WheelZoomsAtTheCursorAndDraggingPans) {
  const Snapshot large = synthetic::make_snapshot();
  canvas.frame.snapshot = &large;
  canvas.frame.selection = Selection{3, 2, 3, {}, {}, {}};
  const auto& attended = large.lanes[3].steps.back()->heads[11].attended;
  const std::string left = "L2 H3 t" + std::to_string(attended[20]), right = "L2 H3 t" + std::to_string(attended[21]);
  const auto distance = [&] { return mark("attention", right).min.x - mark("attention", left).min.x; };
  canvas.draw(*view);
  const float before = distance();
  const ImVec2 there(centre(mark("attention", left)).x, mark("attention", left).max.y - 1);
  for (int i = 0; i < 5; ++i) canvas.wheel(*view, there, 1);
  canvas.draw(*view);
  const float zoomed = distance(), at = centre(mark("attention", left)).x;
  EXPECT_GT(zoomed, 2 * before);
  EXPECT_NEAR(at, there.x, zoomed + 1);
  canvas.intents.clear();
  canvas.drag(*view, there, {there.x + 120, there.y});
  canvas.draw(*view);
  EXPECT_NEAR(centre(mark("attention", left)).x, at + 120, 3);
  EXPECT_EQ(canvas.last<Select>(), nullptr);
  ASSERT_TRUE(view->key(canvas.frame, "0", canvas.intents));
  canvas.draw(*view);
  EXPECT_FLOAT_EQ(distance(), before);
}

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

TEST_F(InspectorTest, AReasonWithoutRoomIsCountedNotCut) {
  canvas.frame.size = {1260, 612};
  canvas.draw(*view);
  const int low = count_marks(*view, "why");
  EXPECT_EQ(mark("why.hidden", "2 of 4 steps fit").min.y, mark("cost", "compress_rel_l2").min.y);
  canvas.frame.size.y = 866;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "why"), 4);
  EXPECT_LT(low, 4);
  EXPECT_EQ(count_marks(*view, "why.hidden"), 0);
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
