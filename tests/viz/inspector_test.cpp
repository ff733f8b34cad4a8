// SPDX-License-Identifier: Apache-2.0
// The inspector: its rows, bars and cards have the numbers of the record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "viz/draw/scene.h"
#include "viz/inspector_fixture.h"
#include "viz/reduce/text.h"
#include "viz/synthetic.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(InspectorTest, EveryRowPrintsTheNumbersOfTheRecord) {
  canvas.draw(*view);
  EXPECT_EQ(mark("score", "L0 H0 t4").value, "0.900");
  EXPECT_EQ(mark("score", "L0 H0 t5").value, "0.300");        // removed in this step: still filled
  EXPECT_EQ(mark("score.gone", "L0 H0 t0").value, "0.0500");  // removed earlier: outline
  EXPECT_EQ(mark("score", "L0 H0 t7").value, "–");            // protected, not ranked: never a zero
  EXPECT_EQ(mark("statistic", "L0 H0 t3").value, "0.0400");
  EXPECT_EQ(mark("attention", "L0 H0 t3").value, "20.0 %");
  EXPECT_EQ(mark("attention.reference", "L0 H0 t1").value, "12.5 %");
  EXPECT_EQ(mark("votes", "L0 H0 t3").value, "4");
  EXPECT_EQ(mark("fate", "L0 H0 t1").value, "merged");
  EXPECT_EQ(mark("fate", "L0 H0 t0").value, "evicted");
  EXPECT_EQ(mark("text", "L0 H0 t3").value, "t3");
  EXPECT_EQ(mark("cutoff", "L0 H0").value, "0.800");
}

TEST_F(InspectorTest, AgreementHasARowWhereItWasMeasured) {
  canvas.draw(*view);
  EXPECT_EQ(testing::count_marks(*view, "agreement"), 0);
  const Mark attention = mark("attention", "L0 H0 t3");
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[7]);
  step->heads[0].agreement = {0, 1, 2, 2, 1, 0, 2, 1};
  snapshot.lanes[1].steps[7] = step;
  ++snapshot.sequence;
  canvas.draw(*view);
  EXPECT_EQ(mark("agreement", "L0 H0 t3").value, "2.00");
  EXPECT_EQ(mark("agreement.reference", "L0 H0 t1").value, "1.00") << "of a token without a slot: hatched";
  EXPECT_EQ(testing::find_mark(*view, "agreement", "L0 H0 t5"), nullptr);
  EXPECT_LT(mark("attention", "L0 H0 t3").max.y, mark("agreement", "L0 H0 t3").min.y);
  EXPECT_EQ(row("agreement"), "2 of 2 query heads");
  const HeadPick pick = pick_head(snapshot, canvas.frame.selection);
  EXPECT_THAT(token_lines(snapshot, pick, head_columns(snapshot, pick), 4),
              ::testing::Contains("inside the budget for 1 of 2 query heads"));
  const Table table = head_table(snapshot, pick);
  const auto column = static_cast<std::size_t>(std::ranges::find(table.columns, "agreement") - table.columns.begin());
  ASSERT_LT(column, table.columns.size());
  EXPECT_EQ(table.rows[6][column], "2");
}

TEST_F(InspectorTest, HeadsAreCountedInWholeNumbers) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[7]);
  step->heads[0].agreement = {0, 1, 2, 2, 1, 0, 2, 1};
  snapshot.lanes[1].steps[7] = step;
  ++snapshot.sequence;
  for (float height = 640; height <= 1400; height += 40) {
    canvas.frame.size.y = height;
    RecordedScene recorded(canvas);
    canvas.draw(*view);
    if (testing::find_mark(*view, "agreement", "L0 H0 t3") == nullptr) continue;
    const Mark bar = mark("agreement", "L0 H0 t3");
    for (const SceneCommand& c : recorded.scene.commands) {
      const bool beside =
          c.kind == SceneCommand::Kind::text && c.points[0].x < 132 && c.points[0].y > bar.min.y - 8 && c.points[0].y < bar.max.y + 8;
      if (beside) {
        EXPECT_EQ(c.text.find('.'), std::string::npos) << height << ": " << c.text;
      }
    }
  }
}

/// "8" on its side is another sign.
TEST_F(InspectorTest, WhatFitsUprightIsNotTurned) {
  snapshot.tokens[3].bytes = "word";
  snapshot.tokens[4].bytes = "8";
  snapshot.tokens[6].bytes = " 8";
  ++snapshot.sequence;
  RecordedScene recorded(canvas);
  canvas.draw(*view);
  int n = 0;
  for (const auto& [text, label] : {std::pair("8", "L0 H0 t4"), {"·8", "L0 H0 t6"}, {"word", "L0 H0 t3"}}) {
    const Mark at = mark("text", label);
    const float middle = (at.min.x + at.max.x) / 2;
    for (const SceneCommand& c : recorded.scene.commands) {
      if (c.kind != SceneCommand::Kind::text || c.text != text || c.points[0].y < at.min.y || c.points[0].y > at.max.y) continue;
      ++n;
      EXPECT_EQ(std::abs(c.points[0].x + c.width / 2 - middle) < 1.5f, text != std::string("word")) << text << ": centred, or turned there";
    }
  }
  EXPECT_EQ(n, 3);
}

/// The line's label does not hide what the line is to be held against.
TEST_F(InspectorTest, TheLabelOfTheCutoffCoversNoScore) {
  Snapshot many = synthetic::make_snapshot();
  testing::Headless other(many, {1260, 612});
  other.frame.selection.lane = 3;
  int n = 0;
  for (const float height : {574.0f, 612.0f, 866.0f})
    for (int step = 0; step < static_cast<int>(many.lanes[3].steps.size()); step += 3)
      for (int head = 0; head < 24; head += 5) {
        other.frame.size.y = height;
        other.frame.selection.step = step;
        other.frame.selection.layer = head / many.model.n_kv_heads;
        other.frame.selection.kv_head = head % many.model.n_kv_heads;
        other.draw(*view);
        const Mark* tag = nullptr;
        for (const Mark& m : view->marks())
          if (m.kind == "cutoff.tag") tag = &m;
        if (tag == nullptr) continue;
        ++n;
        for (const Mark& m : view->marks()) {
          if (!m.kind.starts_with("score")) continue;
          EXPECT_FALSE(m.min.x < tag->max.x && m.max.x > tag->min.x && m.min.y < tag->max.y && m.max.y > tag->min.y)
              << height << " step " << step << " head " << head << ": " << m.label;
        }
      }
  EXPECT_GT(n, 10);
}

TEST_F(InspectorTest, TheLegendNamesWhatIsKeptAndNotReadWherePagesAreChosen) {
  canvas.draw(*view);
  EXPECT_EQ(testing::find_mark(*view, "legend", "kept, not read"), nullptr);
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps.back());
  step->heads[0].page = 4;
  snapshot.lanes[1].steps.back() = step;
  ++snapshot.sequence;
  canvas.draw(*view);
  EXPECT_NE(testing::find_mark(*view, "legend", "kept, not read"), nullptr);
}

/// All runs compress anew for what a look at one head needs besides: where that takes minutes, it is asked for by a click.
TEST_F(InspectorTest, WhatTakesLongIsMeasuredByAClickOnly) {
  snapshot.lanes[1].prompt_compress_ms = 40;
  canvas.draw(*view);
  ASSERT_NE(canvas.last<WantMeasure>(), nullptr) << "a short text: at once";
  EXPECT_EQ(canvas.last<WantMeasure>()->what, WantMeasure::What::of_one_head);
  EXPECT_EQ(testing::count_marks(*view, "measure"), 0);

  snapshot.lanes[1].prompt_compress_ms = 76'000;
  ++snapshot.sequence;
  canvas.intents.clear();
  canvas.draw(*view);
  EXPECT_EQ(canvas.last<WantMeasure>(), nullptr);
  const Mark offer = mark("measure", "agreement of query heads, next merge targets");
  EXPECT_THAT(offer.value, HasSubstr("not measured – measure now (76.0 s or more)"));
  canvas.click(*view, testing::centre(offer));
  ASSERT_NE(canvas.last<WantMeasure>(), nullptr);
  EXPECT_TRUE(canvas.last<WantMeasure>()->on && canvas.last<WantMeasure>()->what == WantMeasure::What::of_one_head);

  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[7]);
  step->heads[0].agreement = {0, 1, 2, 2, 1, 0, 2, 1};
  snapshot.lanes[1].steps[7] = step;
  ++snapshot.sequence;
  canvas.draw(*view);
  EXPECT_EQ(testing::count_marks(*view, "measure"), 0) << "it is there";
}

TEST_F(InspectorTest, AProbesAttentionHasARowOfItsOwnAboveTheMeasuredOne) {
  canvas.draw(*view);
  EXPECT_EQ(testing::count_marks(*view, "probed"), 0);
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[0]);
  step->probed = {{0.5f, 0.25f, 0.125f, 1.0f, std::nanf("")}};  // of the prompt, which is all that it saw
  snapshot.lanes[1].steps[0] = step;
  ++snapshot.sequence;
  canvas.draw(*view);
  EXPECT_EQ(mark("probed", "L0 H0 t3").value, "100 %");
  EXPECT_EQ(mark("probed.reference", "L0 H0 t1").value, "25.0 %") << "of a token without a slot, too: hatched";
  EXPECT_EQ(testing::find_mark(*view, "probed", "L0 H0 t4"), nullptr) << "not looked at";
  EXPECT_EQ(testing::find_mark(*view, "probed", "L0 H0 t6"), nullptr) << "came later";
  EXPECT_LT(mark("probed", "L0 H0 t3").max.y, mark("attention", "L0 H0 t3").min.y);
  const HeadPick pick = pick_head(snapshot, canvas.frame.selection);
  EXPECT_THAT(token_lines(snapshot, pick, head_columns(snapshot, pick), 1), ::testing::Contains("probe's attention 25.0 %"));
  const Table table = head_table(snapshot, pick);
  const auto column = static_cast<std::size_t>(std::ranges::find(table.columns, "probe's attention") - table.columns.begin());
  ASSERT_LT(column, table.columns.size());
  EXPECT_EQ(table.rows[3][column], "1");
}

TEST_F(InspectorTest, CtrlDragSelectsTheTokensUnderIt) {
  canvas.draw(*view);
  const auto middle = [&](const char* label) {
    const Mark& m = mark("fate", label);
    return ImVec2{(m.min.x + m.max.x) / 2, (m.min.y + m.max.y) / 2};
  };
  const ImVec2 from = middle("L0 H0 t5"), to = middle("L0 H0 t2"), more = middle("L0 H0 t7");
  canvas.drag(*view, from, to);
  EXPECT_EQ(canvas.last<Select>(), nullptr) << "a drag alone moves the view";
  canvas.hold(/*shift=*/false, /*ctrl=*/true);
  canvas.drag(*view, from, to);
  ASSERT_NE(canvas.last<Select>(), nullptr);
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{2, 5}));
  EXPECT_EQ(canvas.last<Select>()->selection.slot, 3) << "the slot looked at stays";
  canvas.frame.selection = canvas.last<Select>()->selection;
  canvas.hold(/*shift=*/true, /*ctrl=*/true);
  canvas.drag(*view, more, ImVec2{more.x + 6, more.y});
  EXPECT_EQ(canvas.last<Select>()->selection.more_tokens, (std::vector<TokenRange>{{2, 5}}));
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{7, 7}));
}

TEST_F(InspectorTest, ShiftAndArrowsMoveTheOtherEndOfTheTokens) {
  canvas.draw(*view);
  const auto press = [&](const char* key) {
    EXPECT_TRUE(view->key(canvas.frame, key, canvas.intents));
    canvas.frame.selection = canvas.last<Select>()->selection;
    return *canvas.frame.selection.tokens;
  };
  EXPECT_EQ(press("Shift+Right"), (TokenRange{3, 4}));
  EXPECT_EQ(press("Shift+Right"), (TokenRange{3, 5}));
  EXPECT_EQ(canvas.frame.selection.slot, 3);
  for (const TokenRange& range : {TokenRange{3, 4}, {3, 3}, {2, 3}, {1, 3}, {0, 3}, {0, 3}}) EXPECT_EQ(press("Shift+Left"), range);
  EXPECT_EQ(press("Right"), (TokenRange{4, 4})) << "without Shift: one slot";
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
  EXPECT_EQ(row("rank"), "3 of 4 ranked");
  EXPECT_EQ(row("share"), "0.0400");
  EXPECT_EQ(row("attention now"), "20.0 %");
  EXPECT_EQ(row("logit bias b"), "+1.2500");
  EXPECT_EQ(row("born · last merge"), "step 3 · step 7");
  EXPECT_EQ(count_marks(*view, "member"), 4);
  EXPECT_EQ(count_marks(*view, "merge"), 3);
  EXPECT_EQ(mark("merge", "t5 into t3").value, "step 7, w 0.300, cos 0.950");
  EXPECT_EQ(mark("slot", "slot 3").value, "4 votes");
  EXPECT_EQ(mark("why", "5").value, "Nearest key: slot 3 «t3», cosine 0.950 ≥ 0.80, so it merges");
  EXPECT_EQ(mark("threshold", "cosine").value, "0.8");
  canvas.frame.selection.slot = 5;  // what slot 3 took over
  canvas.draw(*view);
  EXPECT_EQ(mark("head.row", "query head 1").value, "1 4.500 4.600 −0.100 −0.097");
  EXPECT_EQ(mark("cost", "compress_rel_l2").value,
            "output error at step 7 by its only removal: 1.2 %; the local error, 113.5 %, is from before it");
}

/// The cost was measured for what went in one step, and is not passed off as that of the token.
TEST_F(InspectorTest, TheCostOfAStepIsSaidToBeThatOfAllItsRemovals) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[6]);
  step->heads[0].events.push_back(testing::evict_event(4, 0.07));
  std::erase(step->heads[0].pos, 4);
  snapshot.lanes[1].steps[6] = step;
  canvas.frame.selection.select({0, 0});
  canvas.frame.selection.slot = 0;
  canvas.draw(*view);
  const Mark cost = mark("cost", "compress_rel_l2");
  EXPECT_EQ(cost.value, "output error at step 6 by all 2 removals together: 1.2 %; local error now (step 7): 113.5 %");
  canvas.move(*view, {(cost.min.x + cost.max.x) / 2, (cost.min.y + cost.max.y) / 2});
  ASSERT_NE(canvas.last<HoverAt>(), nullptr);
  EXPECT_THAT(canvas.last<HoverAt>()->tooltip,
              ElementsAre("Cost to this head: output error at step 6 by all 2 removals together: 1.2 %",
                          "local error now (step 7): 113.5 %", "measured for all of them at once: what each costs alone is not known"));
  const Table table = view->table(canvas.frame);
  const auto of = [&](const char* name, std::size_t token) {
    return table.rows.at(token).at(static_cast<std::size_t>(std::ranges::find(table.columns, name) - table.columns.begin()));
  };
  EXPECT_EQ(of("removals of the step at which it left", 0), "2");
  EXPECT_EQ(of("removals of the step at which it left", 5), "1");
  EXPECT_EQ(of("removals of the step at which it left", 7), "n/a");
  EXPECT_EQ(of("output changed by all of them together", 0), "0.0125");
  // Its own part of what is lost: an eighth of the attention, of a fifth that is lost.
  EXPECT_EQ(row("of the attention lost"), "62.5 %");
  EXPECT_EQ(of("share of the attention lost", 0), "0.625");
  EXPECT_EQ(of("share of the attention lost", 1), "n/a") << "a slot stands for it";
}

/// However many they are: that there is more to read stands beside it in a window of 1280 by 800.
TEST_F(InspectorTest, TheCostLeavesRoomForMore) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[7]);
  for (int i = 0; i < 98; ++i) step->heads[0].events.insert(step->heads[0].events.begin(), testing::evict_event(0, 0.01));
  step->heads[0].compress_rel_l2 = 0.351;
  snapshot.lanes[1].steps[7] = step;
  canvas.frame.size = {1260, 574};
  canvas.frame.selection.select({5, 5});
  canvas.frame.selection.slot = 5;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "why.scroll"), 1);
  EXPECT_EQ(count_marks(*view, "why.hidden"), 1);
}

TEST_F(InspectorTest, TheCardsAreOfTheSelectedTokenWhateverBecameOfIt) {
  for (int t = 0; t < 8; ++t) {
    canvas.frame.selection.select({t, t});
    for (const int slot : {t, 3}) {  // one that does not stand for it, as sessions may have stored it
      canvas.frame.selection.slot = slot;
      canvas.draw(*view);
      EXPECT_TRUE(mark("card", "Why").value.starts_with(fmt::format("slot {} «t{}»", t, t))) << t << ": " << mark("card", "Why").value;
    }
  }
}

TEST_F(InspectorTest, ASlotThatTookAnotherOneStaysForItsOwnReasons) {
  canvas.draw(*view);
  EXPECT_EQ(mark("card", "Why").value, "slot 3 «t3» stays");
  EXPECT_EQ(mark("why", "2").value, "It stays: rank 3 of 4 for 3 places, cut-off 0.800");
  EXPECT_EQ(mark("why", "3").value, "What it took over last: slot 5 «t5» (1 vote) merged into slot 3 at step 7");
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
  EXPECT_EQ(
      view->facts(canvas.frame),
      "L0 · H0 · slots 4 of 8 tokens (50.0 %) · merged away 3 · evicted 1 · votes 7 + 1 lost = 8 · attention lost to eviction 20.0 %, stood in by merges 25.0 % · local "
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

}  // namespace
}  // namespace kvscope::viz
