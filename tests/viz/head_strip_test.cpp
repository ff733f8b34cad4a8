// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snapshot/synthetic.h"
#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/lineage_fixture.h"
#include "viz/reduce/text.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Selection head_of(int lane, int layer, int kv_head, int step) {
  Selection s;
  s.lane = lane;
  s.layer = layer;
  s.kv_head = kv_head;
  s.step = step;
  return s;
}

TEST(PickHead, WithoutSelectionTakesTheLargestErrorAndSaysSo) {
  Snapshot snapshot = small_snapshot();
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  step->heads.push_back(step->heads[0]);
  step->heads[1].kv_head = 1;
  step->heads[0].local_l1_wo = 3;
  step->heads[1].local_l1_wo = 5;
  snapshot.lanes[1].steps.back() = step;
  Selection selection;
  selection.lane = 1;
  const HeadPick pick = pick_head(snapshot, selection);
  EXPECT_EQ(pick.head, 1);
  EXPECT_FALSE(pick.chosen);
  EXPECT_THAT(head_facts(pick), HasSubstr("largest error, none selected"));
  step->heads[0].local_l1_wo = step->heads[1].local_l1_wo = 0;
  EXPECT_THAT(head_facts(pick), ::testing::AllOf(HasSubstr("(none selected)"), ::testing::Not(HasSubstr("largest"))))
      << "no error, none of them the largest";
  selection.layer = 0;
  selection.kv_head = 0;
  EXPECT_EQ(pick_head(snapshot, selection).head, 0);
  EXPECT_TRUE(pick_head(snapshot, selection).chosen);
}

TEST(PickHead, ErrorsThatAreNotAvailableDoNotWin) {
  Snapshot snapshot = small_snapshot();
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  step->heads[0].local_l1_wo = kNotAvailable;
  step->heads.push_back(step->heads[0]);
  snapshot.lanes[1].steps.back() = step;
  Selection selection;
  selection.lane = 1;
  EXPECT_EQ(pick_head(snapshot, selection).head, 0);
}

TEST(PickHead, ClampsStepsAndLanesAndSurvivesEmptySnapshots) {
  EXPECT_EQ(pick_head(Snapshot{}, Selection{}).lane, -1);
  const Snapshot snapshot = small_snapshot();
  EXPECT_EQ(pick_head(snapshot, head_of(99, 0, 0, 99)).lane, 1);
  EXPECT_EQ(pick_head(snapshot, head_of(1, 0, 0, 99)).step, 7);
  EXPECT_FALSE(pick_head(snapshot, head_of(1, 7, 7, 3)).chosen);
  Snapshot no_steps = snapshot;
  no_steps.lanes[1].steps.clear();
  EXPECT_EQ(pick_head(no_steps, head_of(1, 0, 0, 0)).values, nullptr);
}

TEST(HeadFacts, PrintsTheMeasuresOfTheRecord) {
  const Snapshot snapshot = small_snapshot();
  EXPECT_EQ(
      head_facts(pick_head(snapshot, head_of(1, 0, 0, 7))),
      "L0 · H0 · attention lost to eviction 20.0 %, stood in by merges 25.0 % · local error 113.5 % · after Wₒ 729 · changed by this step's removals 1.2 %");
  Snapshot unmeasured = snapshot;
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  step->heads[0].attention_loss = step->heads[0].local_rel_l2 = step->heads[0].local_l1_wo = kNotAvailable;
  unmeasured.lanes[1].steps.back() = step;
  EXPECT_THAT(head_facts(pick_head(unmeasured, head_of(1, 0, 0, 7))),
              HasSubstr("attention lost to eviction n/a, stood in by merges 25.0 % · local error n/a · after Wₒ n/a"));
}

/// Where numbers are stored with fewer bits, the head changes though every token stays.
TEST(HeadFacts, AChangeByStorageIsNoneByRemovals) {
  Snapshot snapshot = small_snapshot();
  LaneSnapshot& lane = snapshot.lanes[1];
  lane.stored_as = "x = q·s + z";
  auto step = std::make_shared<StepRecord>(*lane.steps.back());
  step->heads[0].events.clear();
  lane.steps.back() = step;
  EXPECT_THAT(head_facts(pick_head(snapshot, head_of(1, 0, 0, 7))), HasSubstr(" · changed by this step's storage 1.2 %"));
  step->heads[0].events = {Event{}};
  EXPECT_THAT(head_facts(pick_head(snapshot, head_of(1, 0, 0, 7))), HasSubstr(" · changed by this step's removals and storage 1.2 %"));
}

/// What a query would pay to tokens whose slot it could not see, but another's that stands for them.
TEST(HeadFacts, AttentionThatMergedSlotsStandInForIsNoneThatWasLost) {
  const Snapshot snapshot = small_snapshot();
  const LaneSnapshot& lane = snapshot.lanes[1];
  for (int step = 0; step < 8; ++step) {
    const HeadPick pick = pick_head(snapshot, head_of(1, 0, 0, step));
    double merged = 0;
    for (int t = 0; t <= step; ++t) {
      const bool seen = std::ranges::find(pick.values->attended, t) != pick.values->attended.end();
      const bool stood_for = step > 0 && slot_of(*lane.fates, *lane.steps[static_cast<std::size_t>(step) - 1], 0, t) >= 0;
      if (!seen && stood_for) merged += static_cast<double>(pick.values->reference_attention[static_cast<std::size_t>(t)]);
    }
    EXPECT_DOUBLE_EQ(stood_in_by_merges(pick), merged) << step;
    EXPECT_EQ(merged > 0, step >= 5) << step << ": what a step merges its own query still saw";
    EXPECT_EQ(head_facts(pick).find("stood in by merges") != std::string::npos, step >= 5);
  }
  Snapshot without = snapshot;
  auto last = std::make_shared<StepRecord>(*lane.steps.back());
  last->heads[0].reference_attention.clear();
  without.lanes[1].steps.back() = last;
  EXPECT_TRUE(std::isnan(stood_in_by_merges(pick_head(without, head_of(1, 0, 0, 7))))) << "not captured is not zero";
  EXPECT_THAT(head_facts(pick_head(without, head_of(1, 0, 0, 7))), HasSubstr("attention lost 20.0 % ·"));
}

TEST(HeadColumns, SeparateWhatTheQuerySawFromWhatOnlyTheReferenceHas) {
  const Snapshot snapshot = small_snapshot();
  const HeadColumns columns = head_columns(snapshot, pick_head(snapshot, head_of(1, 0, 0, 7)));
  ASSERT_EQ(columns.size(), 8);
  for (const int seen : {3, 4, 5, 6, 7}) {  // five slots before the step's compression
    EXPECT_FLOAT_EQ(static_cast<float>(columns.attention[static_cast<std::size_t>(seen)]), 0.2f);
    EXPECT_TRUE(std::isnan(columns.lost[static_cast<std::size_t>(seen)]));
  }
  for (const int gone : {0, 1, 2}) {
    EXPECT_TRUE(std::isnan(columns.attention[static_cast<std::size_t>(gone)]));
    EXPECT_FLOAT_EQ(static_cast<float>(columns.lost[static_cast<std::size_t>(gone)]), 0.125f);
  }
  EXPECT_THAT(columns.votes, ElementsAre(0, 0, 0, 4, 1, 0, 1, 1));
}

TEST(HeadColumns, AGoneTokenKeepsTheScoreItHadAtItsRemoval) {
  const Snapshot snapshot = small_snapshot();
  const HeadColumns columns = head_columns(snapshot, pick_head(snapshot, head_of(1, 0, 0, 7)));
  EXPECT_DOUBLE_EQ(columns.score[0], 0.05);
  EXPECT_EQ(columns.score_gone[0], 1);
  EXPECT_DOUBLE_EQ(columns.score[5], 0.30);  // removed in this very step
  EXPECT_EQ(columns.score_gone[5], 0);
  EXPECT_DOUBLE_EQ(columns.score[4], 0.9);
  EXPECT_TRUE(std::isnan(columns.score[7]));  // protected as recent
  EXPECT_EQ(fate_text(columns, 1), "merged into slot 2 at step 4");
  EXPECT_EQ(fate_text(columns, 0), "evicted at step 6");
  EXPECT_EQ(fate_text(columns, 99), "not seen yet");
}

TEST(HeadColumnsCache, FollowsStepsAsIfComputedAnew) {
  Snapshot snapshot = synthetic::make_snapshot();
  // A run in which a token comes back by hand, so that its past cannot be undone step by step.
  auto back = std::make_shared<StepRecord>(*snapshot.lanes[2].steps[6]);
  const auto gone = std::ranges::find(snapshot.lanes[2].steps[0]->heads[5].events, Event::Kind::evict, &Event::kind);
  ASSERT_NE(gone, snapshot.lanes[2].steps[0]->heads[5].events.end());
  back->heads[5].events.push_back({.kind = Event::Kind::restore, .pos = gone->pos, .by_hand = true});
  snapshot.lanes.push_back(snapshot.lanes[2]);
  snapshot.lanes.back().steps[6] = back;
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  HeadColumnsCache cache;
  for (const int lane : {1, 3, 2, static_cast<int>(snapshot.lanes.size()) - 1}) {  // the last shares its first steps with the one before
    for (const int step : {3, 4, 5, 8, 7, 0, 12, 5, 6, 9}) {
      const HeadPick pick = pick_head(snapshot, head_of(lane, 1, 1, step));
      const HeadColumns &got = cache.of(snapshot, pick), expected = head_columns(snapshot, pick);
      EXPECT_EQ(got.category, expected.category);
      EXPECT_EQ(got.votes, expected.votes);
      EXPECT_EQ(got.score_gone, expected.score_gone);
      EXPECT_TRUE(std::ranges::equal(got.score, expected.score, same));
      EXPECT_TRUE(std::ranges::equal(got.attention, expected.attention, same));
      EXPECT_TRUE(std::ranges::equal(got.lost, expected.lost, same));
      EXPECT_TRUE(std::ranges::equal(got.statistic, expected.statistic, same));
      EXPECT_TRUE(std::ranges::equal(got.removal, expected.removal,
                                     [&](const Removal& a, const Removal& b) {
                                       return a.step == b.step && a.event.kind == b.event.kind && a.event.into == b.event.into &&
                                              same(a.event.score, b.event.score) && same(a.event.w_removed, b.event.w_removed) &&
                                              same(a.event.cos, b.event.cos);
                                     }))
          << "lane " << lane << " step " << step;
    }
  }
}

TEST(EffectiveTokens, AreTheExponentOfTheEntropy) {
  HeadRecord head;
  EXPECT_TRUE(std::isnan(effective_tokens(head)));
  head.attention = {0.25f, 0.25f, 0.25f, 0.25f};
  EXPECT_NEAR(effective_tokens(head), 4, 1e-6);
  head.attention = {1, 0, 0};
  EXPECT_NEAR(effective_tokens(head), 1, 1e-6);
  head.attention = {0.5f, 0.25f, 0.25f};  // exp(0.5 ln 2 + 0.5 ln 4) = 2^1.5
  EXPECT_NEAR(effective_tokens(head), 2.828427, 1e-5);
}

TEST(CutoffOf, CountsTheSlotsThatALineWouldKeep) {
  const Snapshot snapshot = small_snapshot();
  const Cutoff cut = cutoff_of(snapshot.lanes[1].steps[7]->heads[0]);  // ranked 0.8 0.9 1.1 kept, 0.3 removed; one protected
  EXPECT_THAT(cut.ranked.size(), 4u);
  EXPECT_EQ(cut.unranked, 1);
  EXPECT_EQ(cut.slots_at(2.0), 1);
  EXPECT_EQ(cut.slots_at(1.0), 2);
  EXPECT_EQ(cut.slots_at(0.8), 4);
  EXPECT_EQ(cut.slots_at(0.0), 5);
  EXPECT_EQ(Cutoff{}.slots_at(0), 1);
}

TEST(ValueScale, IsARootWhereNothingIsNegativeAndItsOwnInverse) {
  const std::vector<double> values = {0.04, kNotAvailable, 0.16};
  const ValueScale scale = scale_for(values);
  EXPECT_TRUE(scale.root);
  EXPECT_DOUBLE_EQ(scale.unit(0.04), 0.5);
  EXPECT_DOUBLE_EQ(scale.value(0.5), 0.04);
  EXPECT_TRUE(std::isnan(scale.unit(kNotAvailable)));
  const std::vector<double> negative = {-3, 1};
  EXPECT_FALSE(scale_for(negative).root);
  EXPECT_DOUBLE_EQ(scale_for(negative).unit(1), 1);
  EXPECT_GT(scale_for(negative).unit(-3), 0);
  EXPECT_DOUBLE_EQ(scale_for(std::vector<double>{}).high, 1);
  EXPECT_DOUBLE_EQ(scale_for(std::vector<double>{0, 0}).high, 1);
  EXPECT_DOUBLE_EQ(scale_for(std::vector<double>{-2, -2}).unit(-2), 0.5);
}

TEST(Ticks, AreRoundAndApart) {
  EXPECT_THAT(ticks_of({0, 1, true}, 0.15), ElementsAre(0, 0.1, 0.5, 1));
  EXPECT_THAT(ticks_of({0, 0.13, true}, 0.2), ElementsAre(0, 0.01, 0.05, 0.1));
  EXPECT_THAT(ticks_of({-4, 4, false}, 0.25), ElementsAre(-4, -2, 0, 2, 4));
  for (const double high : {1e-9, 3e-5, 0.7, 12.0, 4e8}) {
    const std::vector<double> ticks = ticks_of({0, high, true}, 0.2);
    EXPECT_GE(ticks.size(), 2u) << high;
    EXPECT_LE(ticks.size(), 6u) << high;
    EXPECT_LE(ticks.back(), high * (1 + 1e-9));
  }
}

class HeadStripTest : public ::testing::Test {
 protected:
  HeadStripTest() { canvas.frame.selection = head_of(3, 4, 1, 2); }
  const HeadRecord& record() const { return snapshot.lanes[3].steps[2]->heads[17]; }

  Snapshot snapshot = synthetic::make_snapshot();
  std::shared_ptr<TokenWindow> window = std::make_shared<TokenWindow>();
  std::unique_ptr<View> view = make_head_strip(window);
  Headless canvas{snapshot, {828, 148}};
};

TEST_F(HeadStripTest, BarsPrintTheAttentionOfTheRecordBelowTheColumnsOfTheAtlas) {
  canvas.draw(*view);
  int solid = 0;
  for (std::size_t i = 0; i < record().attended.size(); ++i) {
    const int token = record().attended[i];
    const Mark* bar = find_mark(*view, "attention", "L4 H1 t" + std::to_string(token));
    ASSERT_NE(bar, nullptr) << token;
    EXPECT_EQ(bar->value, format_attention(static_cast<double>(record().attention[i])));
    EXPECT_FLOAT_EQ(bar->min.x, 84 + 4 * static_cast<float>(token));
    ++solid;
  }
  EXPECT_EQ(count_marks(*view, "attention"), solid);
  EXPECT_EQ(count_marks(*view, "attention.reference"), 169 - solid);
}

TEST_F(HeadStripTest, AStateOfWhatWasEvictedHasABarOnTheSameScale) {
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "state", "L4 H1"), nullptr);
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[3].steps[2]);
  step->heads[17].pooled_tokens = 7;
  step->heads[17].pooled_share = static_cast<double>(step->heads[17].attention[0]);
  snapshot.lanes[3].steps[2] = step;
  for (const float width : {828.0f, 300.0f}) {  // with room behind the tokens, and without
    Headless narrow{snapshot, {width, 148}};
    narrow.frame.selection = canvas.frame.selection;
    narrow.draw(*view);
    const Mark* state = find_mark(*view, "state", "L4 H1");
    const Mark* same = find_mark(*view, "attention", "L4 H1 t" + std::to_string(record().attended[0]));
    ASSERT_NE(state, nullptr) << width;
    EXPECT_EQ(state->value, format_percent(record().pooled_share) + " of 7 evicted");
    EXPECT_LE(state->max.x, width);
    if (same != nullptr) {
      EXPECT_NEAR(state->min.y, same->min.y, 1) << "as high as a token with as much attention";
    }
  }
}

TEST_F(HeadStripTest, HatchedBarsPrintWhatTheReferencePays) {
  canvas.draw(*view);
  for (const Mark& mark : view->marks()) {
    if (mark.kind != "attention.reference") continue;
    const int token = std::stoi(mark.label.substr(mark.label.find('t') + 1));
    EXPECT_EQ(mark.value, format_attention(static_cast<double>(record().reference_attention[static_cast<std::size_t>(token)])));
  }
}

TEST_F(HeadStripTest, FollowsTheWindowOfTheAtlas) {
  window->first = 40;
  window->count = 50;
  canvas.draw(*view);
  for (const Mark& mark : view->marks()) {
    if (mark.kind != "attention" && mark.kind != "attention.reference") continue;
    const int token = std::stoi(mark.label.substr(mark.label.find('t') + 1));
    EXPECT_GE(token, 40);
    EXPECT_LE(token, 92);
  }
}

TEST_F(HeadStripTest, ClickSelectsHeadTokenAndSlotAndShiftExtends) {
  canvas.frame.selection.layer.reset();
  canvas.frame.selection.kv_head.reset();
  canvas.draw(*view);
  const int token = record().attended[10];
  canvas.click(*view, {84 + 4 * static_cast<float>(token) + 2, 60});
  const Select* select = canvas.last<Select>();
  ASSERT_NE(select, nullptr);
  EXPECT_EQ(select->selection.tokens, (TokenRange{token, token}));
  EXPECT_TRUE(select->selection.layer && select->selection.kv_head);
  canvas.apply();
  canvas.hold(/*shift=*/true);
  canvas.click(*view, {84 + 4 * static_cast<float>(token + 3) + 2, 60});
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{token, token + 3}));
  canvas.hold(/*shift=*/false);
}

TEST_F(HeadStripTest, TooltipHoldsTheNumbersOfTheRecordAndGoesWithTheMouse) {
  const int token = record().attended[10];
  canvas.move(*view, {84 + 4 * static_cast<float>(token) + 2, 60});
  const HoverAt* hover = canvas.last<HoverAt>();
  ASSERT_NE(hover, nullptr);
  EXPECT_EQ(hover->hover.token, token);
  EXPECT_LE(hover->tooltip.size(), 12u);
  EXPECT_THAT(hover->tooltip[2], HasSubstr("attention " + format_attention(static_cast<double>(record().attention[10]))));
  canvas.intents.clear();
  canvas.move(*view, {-50, -50});
  ASSERT_NE(canvas.last<HoverAt>(), nullptr);
  EXPECT_FALSE(canvas.last<HoverAt>()->hover.token);
  canvas.intents.clear();
  canvas.draw(*view);
  EXPECT_EQ(canvas.last<HoverAt>(), nullptr);  // said once
}

TEST_F(HeadStripTest, TheLargestLostTokenIsCalledOut) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[3].steps[2]);
  HeadRecord& head = step->heads[17];
  int gone = -1;
  for (int t = 20; t < 160 && gone < 0; ++t) {
    if (std::find(head.attended.begin(), head.attended.end(), t) == head.attended.end()) gone = t;
  }
  head.reference_attention[static_cast<std::size_t>(gone)] = 0.999f;
  snapshot.lanes[3].steps[2] = step;
  canvas.draw(*view);
  const Mark* callout = find_mark(*view, "callout", "L4 H1 t" + std::to_string(gone));
  ASSERT_NE(callout, nullptr);
  EXPECT_THAT(callout->value, HasSubstr("attention of this query, every token in place: >99.9 %"));
  EXPECT_GE(callout->min.x, 84);
  EXPECT_LE(callout->max.x, 828);
}

TEST_F(HeadStripTest, WhatWasNotCapturedIsSaid) {
  synthetic::Shape shape;
  shape.capture = false;
  const Snapshot bare = synthetic::make_snapshot(shape);
  canvas.frame.snapshot = &bare;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "attention"), 0);
  ASSERT_NE(find_mark(*view, "empty", "attention"), nullptr);
}

TEST_F(HeadStripTest, EmptySnapshotsAndLanesWithoutStepsShowASentence) {
  const Snapshot nothing;
  canvas.frame.snapshot = &nothing;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "empty"), 1);
  EXPECT_EQ(view->facts(canvas.frame), "");
  EXPECT_TRUE(view->table(canvas.frame).rows.empty());
  EXPECT_FALSE(view->key(canvas.frame, "Left", canvas.intents));
  Snapshot no_steps = snapshot;
  no_steps.lanes[3].steps.clear();
  canvas.frame.snapshot = &no_steps;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "empty"), 1);
  canvas.frame.snapshot = nullptr;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "empty"), 1);
}

TEST_F(HeadStripTest, TableHasOneRowPerTokenWithExactNumbers) {
  const Table table = view->table(canvas.frame);
  ASSERT_EQ(table.rows.size(), 169u);
  EXPECT_EQ(table.columns.size(), table.rows[0].size());
  const auto token = static_cast<std::size_t>(record().attended[10]);
  EXPECT_DOUBLE_EQ(std::stod(table.rows[token][4]), static_cast<double>(record().attention[10]));
}

TEST_F(HeadStripTest, KeysMoveTheTokenAndEnterOpensTheInspector) {
  canvas.frame.selection.tokens = TokenRange{10, 10};
  ASSERT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{11, 11}));
  canvas.apply();
  ASSERT_TRUE(view->key(canvas.frame, "Shift+Right", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{11, 12}));
  // It goes on from the end that was moved last, over the one that stays.
  for (const auto& [key, range] : {std::pair("Shift+Right", TokenRange{11, 13}),
                                   {"Shift+Left", {11, 12}},
                                   {"Shift+Left", {11, 11}},
                                   {"Shift+Left", {10, 11}},
                                   {"Shift+Left", {9, 11}},
                                   {"Shift+Right", {10, 11}},
                                   {"Shift+Home", {0, 11}}}) {
    canvas.apply();
    ASSERT_TRUE(view->key(canvas.frame, key, canvas.intents));
    EXPECT_EQ(canvas.last<Select>()->selection.tokens, range) << key;
  }
  ASSERT_TRUE(view->key(canvas.frame, "Enter", canvas.intents));
  EXPECT_NE(canvas.last<OpenInspector>(), nullptr);
  EXPECT_FALSE(view->key(canvas.frame, "Q", canvas.intents));
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr("token 10"));
}

TEST_F(HeadStripTest, WhereNothingIsSelectedTheCursorStandsOnTheLostToken) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[3].steps[2]);
  HeadRecord& head = step->heads[17];
  int lost = 20;
  while (std::ranges::find(head.attended, lost) != head.attended.end()) ++lost;
  head.reference_attention[static_cast<std::size_t>(lost)] = 0.5f;
  snapshot.lanes[3].steps[2] = step;
  canvas.draw(*view);
  ASSERT_NE(find_mark(*view, "callout", "L4 H1 t" + std::to_string(lost)), nullptr);
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr(fmt::format("token {} ", lost)));
  ASSERT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{lost + 1, lost + 1}));
}

TEST_F(HeadStripTest, ThirtyTwoThousandTokensStayWithinTheMarkLimit) {
  const Snapshot huge = synthetic::make_huge_snapshot(1, 2, 32768);
  canvas.frame.snapshot = &huge;
  canvas.frame.selection = head_of(1, 0, 1, 0);
  const ImDrawData* data = canvas.draw(*view);
  EXPECT_LE(view->marks().size(), 5000u);
  EXPECT_LE(data->TotalVtxCount, 40000);
}

}  // namespace
}  // namespace kvscope::viz
