// SPDX-License-Identifier: Apache-2.0
// The inspector under mouse and keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "viz/inspector_fixture.h"
#include "viz/synthetic.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::HasSubstr;

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

TEST_F(InspectorTest, TheCutoffMovesByKeyToo) {
  const int budget = snapshot.lanes[1].steps.back()->heads[0].budget;
  ASSERT_TRUE(view->key(canvas.frame, "Shift+Up", canvas.intents));
  ASSERT_NE(canvas.last<SetBudget>(), nullptr);
  EXPECT_EQ(canvas.last<SetBudget>()->slots, budget + 1);
  ASSERT_TRUE(view->key(canvas.frame, "Shift+Down", canvas.intents));
  EXPECT_EQ(canvas.last<SetBudget>()->slots, budget - 1);
  canvas.intents.clear();
  canvas.frame.selection.lane = 0;
  view->key(canvas.frame, "Shift+Up", canvas.intents);
  EXPECT_EQ(canvas.last<SetBudget>(), nullptr) << "the full cache has no budget";
}

TEST_F(InspectorTest, TheFiltersMoveByKeyToo) {
  canvas.draw(*view);
  const auto value = [&](const char* slider) {
    canvas.draw(*view);
    return mark("slider", slider).value;
  };
  for (const auto& [slider, key] : {std::pair("score", "S"), {"votes", "V"}, {"age", "A"}}) {
    ASSERT_EQ(value(slider), "any");
    for (int n = 0; n < 10 && mark("hidden", "tokens").value == "nothing hidden"; ++n) {
      ASSERT_TRUE(view->key(canvas.frame, key, canvas.intents));
      EXPECT_NE(value(slider), "any") << slider;
    }
    EXPECT_NE(mark("hidden", "tokens").value, "nothing hidden") << slider;
    for (int n = 0; n < 10 && value(slider) != "any"; ++n)
      ASSERT_TRUE(view->key(canvas.frame, std::string("Shift+") + key, canvas.intents));
    EXPECT_EQ(value(slider), "any");
  }
  EXPECT_EQ(mark("hidden", "tokens").value, "nothing hidden");
}

TEST_F(InspectorTest, WhatTheCardsShowIsSaidToo) {
  canvas.frame.selection.slot = 0;  // evicted
  canvas.frame.selection.tokens = TokenRange{0, 0};
  canvas.draw(*view);
  const std::string said = view->cursor_text(canvas.frame);
  int n = 0;
  for (const Mark& m : view->marks()) {
    if (m.kind != "why" && m.kind != "why.line" && m.kind != "cost") continue;
    ++n;
    EXPECT_THAT(said, HasSubstr(m.value));
  }
  EXPECT_GT(n, 2);
  EXPECT_THAT(said, HasSubstr("R: restore"));
  EXPECT_THAT(view->summary(canvas.frame), HasSubstr("filters: score ≥ any, votes ≥ any, age ≤ any"));
  view->choose(1, 2);
  EXPECT_THAT(view->summary(canvas.frame), HasSubstr("votes ≥ 2"));
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
  EXPECT_THAT(hover->tooltip, ::testing::ElementsAre("token 3 «t3» · L0 · H0", "kept by rank", "attention 20.0 %, rank 1 of 5",
                                                     "ranking score 0.800", "share 0.0400", "4 votes"));
  canvas.move(*view, centre(mark("fate", "L0 H0 t1")));
  EXPECT_THAT(canvas.last<HoverAt>()->tooltip,
              ::testing::ElementsAre("token 1 «t1» · L0 · H0", "merged into slot 2 at step 4",
                                     "attention of this query, every token in place 12.5 %, not in this cache",
                                     "ranking score at its removal 0.100", "cosine to the nearest kept key 0.900"));
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
  canvas.frame.edit_scope = "L2 · H1";
  canvas.move(*view, centre(mark("button", "Evict")));
  EXPECT_THAT(canvas.last<HoverAt>()->tooltip, ::testing::ElementsAre("Evict the slot, L2 · H1, in a run beside this one (E)"));

  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  step->heads[0].pinned = {3};
  snapshot.lanes[1].steps.back() = step;
  canvas.draw(*view);
  canvas.move(*view, centre(mark("button", "Pin")));
  EXPECT_EQ(mark("button", "Pin").value, "Unpin");
  EXPECT_THAT(canvas.last<HoverAt>()->tooltip,
              ::testing::ElementsAre(::testing::StartsWith("It is pinned by hand: let the policy choose")));
  EXPECT_EQ(click("Pin"), What::pin) << "who edits knows that it is pinned";
  EXPECT_EQ(click("Pin"), std::nullopt) << "a double click: another button may stand there by then";
  step->heads[0].pinned = {};

  canvas.frame.selection.slot = 1;  // merged into slot 2, two steps ago: evicting that would be of another token
  canvas.frame.selection.tokens = TokenRange{1, 1};
  EXPECT_EQ(click("Restore"), What::restore);
  EXPECT_EQ(click("Pin"), What::pin);
  EXPECT_EQ(find_mark(*view, "button", "Evict"), nullptr);
  EXPECT_EQ(find_mark(*view, "button", "Merge…"), nullptr);
  canvas.frame.selection.slot = 0;  // evicted
  canvas.frame.selection.tokens = TokenRange{0, 0};
  EXPECT_EQ(click("Restore"), What::restore);
  EXPECT_EQ(find_mark(*view, "button", "Evict"), nullptr);
  // Several that are selected are meant together, as by key.
  canvas.frame.selection.tokens = TokenRange{0, 2};
  EXPECT_EQ(click("Pin"), What::pin);
  EXPECT_EQ(click("Restore"), What::restore);
  EXPECT_EQ(canvas.last<Select>(), nullptr) << "the selection stays";
  EXPECT_EQ(mark("button", "Restore").value, "Restore · 3 tokens, L2 · H1");
  canvas.frame.selection.lane = 0;
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "button", "Restore"), nullptr) << "the reference is not edited";
  canvas.intents.clear();
  canvas.frame.selection.lane = 1;
}

TEST_F(InspectorTest, ArrowsGoToTheNeighbourThatIsDrawnAndFromHeadToHead) {
  const auto press = [&](const char* key) {
    EXPECT_TRUE(view->key(canvas.frame, key, canvas.intents));
    canvas.apply();
    return canvas.frame.selection.slot;
  };
  EXPECT_EQ(press("Right"), 4);
  EXPECT_EQ(press("Right"), 5) << "it has no slot any more, and is drawn";
  EXPECT_EQ(press("Left"), 4);
  view->choose(1, 1);  // those with a slot
  EXPECT_EQ(press("Right"), 6) << "5 is hidden";
  view->choose(1, 0);
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

}  // namespace
}  // namespace kvscope::viz
