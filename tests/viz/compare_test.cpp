// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "viz/compare_fixture.h"
#include "viz/draw/format.h"
#include "viz/plain_token_count.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/difference.h"
#include "viz/reduce/generated.h"
#include "viz/views/compare/compare_difference.h"
#include "viz/views/compare/compare_metrics.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST_F(CompareTest, EveryRunHasAStripWhoseTexelsAreItsCategories) {
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "lane"), 4);
  for (int lane = 1; lane < 4; ++lane) {
    const auto* image = canvas.textures.find("compare." + std::to_string(lane));
    ASSERT_NE(image, nullptr);
    ASSERT_EQ(image->width, 169);
    ASSERT_EQ(image->height, 24);
    for (int head = 0; head < 24; ++head) {
      const auto expected = categories_of(snapshot, snapshot.lanes[static_cast<std::size_t>(lane)], 2, head);
      for (int t = 0; t < 169; ++t) {
        ASSERT_EQ(image->rgba[static_cast<std::size_t>(head * 169 + t)],
                  colour(cell_fill(dark_theme(), expected[static_cast<std::size_t>(t)])))
            << "lane " << lane << " head " << head << " token " << t;
      }
    }
  }
  EXPECT_EQ(mark("strip", "lane 0").value, "169 of 169 tokens kept in all 24 heads");
}

/// Of a long text four tokens are three pixels: what a scene speaks of is found because all else steps back.
TEST_F(CompareTest, BesideWhatASceneIsAboutTheOtherCellsStepBack) {
  canvas.draw(*view);
  const std::vector<std::uint32_t> before = canvas.textures.find("compare.3")->rgba;
  canvas.frame.emphasis = Category::sink;
  canvas.draw(*view);
  const std::vector<std::uint32_t> now = canvas.textures.find("compare.3")->rgba;
  ASSERT_EQ(now.size(), before.size());
  int n_sinks = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool sink = before[i] == colour(cell_fill(dark_theme(), Category::sink));
    n_sinks += sink;
    ASSERT_EQ(now[i] == before[i], sink) << i;
  }
  EXPECT_GT(n_sinks, 0);
}

TEST_F(CompareTest, AShortBarHasShorterWordsRatherThanCutOnes) {
  synthetic::Shape shape;
  shape.n_prompt = 60;
  shape.prefill = false;
  snapshot = synthetic::make_snapshot(shape);
  std::string said;
  for (const int step : {2, 5, 10, 20, 60}) {
    canvas.frame.selection.step = step;
    RecordedScene recorded(canvas);
    canvas.draw(*view);
    const Mark& bar = mark("strip", "lane 0");
    for (const SceneCommand& c : recorded.scene.commands) {
      const bool inside = c.kind == SceneCommand::Kind::text && !c.points.empty() && c.points[0].y > bar.min.y &&
                          c.points[0].y < bar.max.y && c.points[0].x > bar.min.x && c.points[0].x < bar.max.x;
      if (!inside) continue;
      EXPECT_THAT(c.text, Not(HasSubstr("..."))) << step;
      said += c.text + "|";
    }
  }
  EXPECT_THAT(said, HasSubstr("11 of 11|21 of 21 tokens|"));
  EXPECT_THAT(said, HasSubstr("61 of 61 tokens kept in all 24 heads|"));
}

TEST_F(CompareTest, AllStripsShareOneAxis) {
  canvas.draw(*view);
  for (int lane = 1; lane < 4; ++lane) EXPECT_FLOAT_EQ(mark("strip", "lane " + std::to_string(lane)).min.x, mark("strip", "lane 0").min.x);
  EXPECT_FLOAT_EQ(mark("difference.strip", "C H2O | D KeepKV").min.x, mark("strip", "lane 1").min.x);
}

TEST_F(CompareTest, PrintsTheMetricsOfTheRecords) {
  canvas.draw(*view);
  for (int lane = 0; lane < 4; ++lane) {
    const LaneMetrics m = lane_metrics(snapshot, snapshot.lanes[static_cast<std::size_t>(lane)], 2, 3);
    const std::string name = "lane " + std::to_string(lane) + " ";
    EXPECT_EQ(mark("metric", name + "KL, nats").value, metric_text(snapshot, m, MetricColumn::Kind::kl));
    EXPECT_EQ(mark("metric", name + "mean KL").value, metric_text(snapshot, m, MetricColumn::Kind::mean_kl));
    EXPECT_EQ(mark("metric", name + "top-1 same").value, std::to_string(m.means.top1_same));
    EXPECT_EQ(mark("metric", name + "attention lost").value, format_percent(m.attention_loss));
    EXPECT_EQ(mark("metric", name + "KV bytes").value, format_bytes(m.bytes));
    EXPECT_GT(m.bytes, 0);
  }
  EXPECT_EQ(mark("metric", "lane 1 slots").value, "42");
  EXPECT_EQ(mark("column", "mean KL").value, "steps 1–12");
}

TEST_F(CompareTest, AnAnswerThatDiffersIsMarked) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[0]);
  step->top1 = step->top1_reference + 1;
  step->top1_same = false;
  snapshot.lanes[1].steps[0] = step;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "answer.changed", "lane 1 step 0"), nullptr);
  EXPECT_EQ(find_mark(*view, "answer", "lane 1 step 0"), nullptr);
  EXPECT_NE(find_mark(*view, "answer", "lane 0 step 0"), nullptr);
}

TEST_F(CompareTest, OfLongWordsTheFirstThatDiffersIsShown) {
  auto words = std::make_shared<std::vector<TokenInfo>>(951);
  for (const int id : {900, 901, 902, 903, 904, 905, 950})
    (*words)[static_cast<std::size_t>(id)] = {.id = id, .bytes = " Diazepam" + std::to_string(id)};
  snapshot.vocabulary = words;
  for (LaneSnapshot& lane : snapshot.lanes)
    for (int s = 0; s < 6; ++s) {
      auto step = std::make_shared<StepRecord>(*lane.steps[static_cast<std::size_t>(s)]);
      const bool other = &lane == &snapshot.lanes[1] && s == 4;
      step->top1_reference = 900 + s;
      step->top1 = other ? 950 : 900 + s;
      step->top1_same = !other;
      lane.steps[static_cast<std::size_t>(s)] = step;
    }
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "answer", "lane 1 step 0"), nullptr) << "all of them have no room, or this shows nothing";
  EXPECT_NE(find_mark(*view, "answer.changed", "lane 1 step 4"), nullptr);
}

TEST_F(CompareTest, ClickingAStripSelectsLaneHeadAndToken) {
  canvas.draw(*view);
  const Mark strip = mark("strip", "lane 2");
  const float px = (mark("strip", "lane 0").max.x - strip.min.x) / 169;
  ASSERT_FLOAT_EQ(strip.max.y - strip.min.y, 140);                            // 24 rows of 5 px, 4 px between 6 layers
  canvas.click(*view, {strip.min.x + 87.5f * px, strip.min.y + 2 * 24 + 1});  // first row of layer 2
  const Select* select = canvas.last<Select>();
  ASSERT_NE(select, nullptr);
  EXPECT_EQ(select->selection.lane, 2);
  EXPECT_EQ(select->selection.layer, 2);
  EXPECT_EQ(select->selection.kv_head, 0);
  EXPECT_EQ(select->selection.tokens, (TokenRange{87, 87}));
  const HoverAt* hover = canvas.last<HoverAt>();
  ASSERT_NE(hover, nullptr);
  const TokenCount count = token_count(snapshot.lanes[2], 2, 87);
  EXPECT_THAT(hover->tooltip[1], HasSubstr("kept in " + std::to_string(count.kept) + " of 24 heads, merged in 0"));
  EXPECT_THAT(hover->tooltip[2], HasSubstr("L2 · H0: "));
}

TEST_F(CompareTest, ClickingBesideTheStripSelectsTheLaneOnly) {
  canvas.frame.selection.tokens = TokenRange{5, 9};
  canvas.draw(*view);
  const Mark lane = mark("lane", "lane 1");
  canvas.click(*view, {lane.min.x + 40, (lane.min.y + lane.max.y) / 2});
  EXPECT_EQ(canvas.last<Select>()->selection.lane, 1);
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{5, 9}));
}

TEST_F(CompareTest, TheCrossRemovesARunButNeverTheReference) {
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "button", "remove lane 0"), nullptr);
  canvas.click(*view, centre(mark("button", "remove lane 2")));
  const RemoveLane* remove = canvas.last<RemoveLane>();
  ASSERT_NE(remove, nullptr);
  EXPECT_EQ(remove->lane, 2);
  EXPECT_EQ(canvas.last<Select>(), nullptr);
  canvas.intents.clear();
  canvas.frame.selection.lane = 0;
  EXPECT_FALSE(view->key(canvas.frame, "Delete", canvas.intents));
  EXPECT_EQ(canvas.last<RemoveLane>(), nullptr);
}

TEST_F(CompareTest, DifferencePrintsTheFourCounts) {
  canvas.frame.selection.tokens = TokenRange{87, 87};
  canvas.draw(*view);
  Represented x, y;
  x.show(snapshot.lanes[2], 2);
  y.show(snapshot.lanes[3], 2);
  const auto counts = DifferenceCounts().of(LaneDifference(x, y));
  EXPECT_EQ(mark("difference", "only in C H2O").value, format_count(counts[1]));
  EXPECT_EQ(mark("difference", "only in D KeepKV").value, format_count(counts[2]));
  EXPECT_EQ(mark("difference", "in both").value, format_count(counts[3]));
  EXPECT_EQ(mark("difference", "in neither").value, format_count(counts[0]));
  const TokenCount count = token_count(snapshot.lanes[3], 2, 87);
  EXPECT_EQ(mark("token.count", "lane 3").value,
            count.merged > 0 ? std::to_string(count.kept) + " + " + std::to_string(count.merged) : std::to_string(count.kept));
  EXPECT_EQ(mark("token.count", "lane 0").value, "24");
}

TEST_F(CompareTest, SwapAndShiftClickChooseWhatIsCompared) {
  canvas.draw(*view);
  canvas.click(*view, centre(mark("button", "swap")));
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "D KeepKV | C H2O"), nullptr);
  for (const char* strip : {"C H2O | D KeepKV", "D KeepKV | C H2O"}) {
    ASSERT_TRUE(view->key(canvas.frame, "X", canvas.intents));
    canvas.draw(*view);
    EXPECT_NE(find_mark(*view, "difference.strip", strip), nullptr) << "by key too";
  }
  const Mark lane = mark("lane", "lane 1");
  canvas.hold(/*shift=*/true);
  canvas.click(*view, {lane.min.x + 40, (lane.min.y + lane.max.y) / 2});
  canvas.hold(/*shift=*/false);
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "D KeepKV | B Streaming"), nullptr);
  EXPECT_EQ(canvas.last<Select>(), nullptr);
}

TEST_F(CompareTest, ComparesWithTheRunThatWasLookedAtBefore) {
  canvas.draw(*view);  // lane 3
  canvas.frame.selection.lane = 1;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "D KeepKV | B Streaming"), nullptr);
  canvas.frame.selection.lane = 2;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "B Streaming | C H2O"), nullptr);
  snapshot.lanes.erase(snapshot.lanes.begin() + 1);  // it is gone: back to the neighbour
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "B H2O | C KeepKV"), nullptr);
}

TEST_F(CompareTest, ThePairFollowsItsRunsWhenAnotherIsRemoved) {
  for (int twin = 0; twin < 2; ++twin) snapshot.lanes.push_back(snapshot.lanes[3]);
  snapshot.lanes[5].title = "KeepKV again";
  const Snapshot all = snapshot;
  const auto looks_at = [&](int lane) {
    canvas.frame.selection.lane = lane;
    canvas.draw(*view);
  };
  for (const bool pinned : {false, true}) {
    looks_at(2);
    if (pinned) view->key(canvas.frame, "R", canvas.intents);
    looks_at(5);
    EXPECT_EQ(strips(), "C H2O | F KeepKV again");
    snapshot.lanes.erase(snapshot.lanes.begin() + 1);
    looks_at(4);
    EXPECT_EQ(strips(), "B H2O | E KeepKV again");
    snapshot = all;
    looks_at(5);
    EXPECT_EQ(strips(), "C H2O | F KeepKV again") << "and when it comes back";
  }
}

TEST_F(CompareTest, TexturesAreMadeAgainOnlyWhenTheRunOrStepChanged) {
  for (int i = 0; i < 5; ++i) canvas.draw(*view);
  EXPECT_EQ(canvas.textures.find("compare.3")->uploads, 1);
  canvas.frame.selection.step = 3;
  canvas.draw(*view);
  canvas.draw(*view);
  EXPECT_EQ(canvas.textures.find("compare.3")->uploads, 2);
  EXPECT_EQ(canvas.textures.find("compare.3")->width, 170);
}

TEST_F(CompareTest, LanesWithoutStepsSaySo) {
  snapshot.lanes[2].steps.clear();
  snapshot.lanes[2].fates = nullptr;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "empty", "lane 2"), nullptr);
  EXPECT_EQ(mark("metric", "lane 2 KL, nats").value, "–");
  canvas.frame.selection.lane = 2;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "empty", "difference"), nullptr);
}

TEST_F(CompareTest, MeasuresThatAreMissingAreNotZero) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[2]);
  step->nll = step->kl = kNotAvailable;
  for (HeadRecord& head : step->heads) head.attention_loss = kNotAvailable;
  snapshot.lanes[1].steps[2] = step;
  canvas.draw(*view);
  EXPECT_EQ(mark("metric", "lane 1 KL, nats").value, "n/a");
  EXPECT_EQ(mark("metric", "lane 1 −ln p").value, "n/a");
  EXPECT_EQ(mark("metric", "lane 1 attention lost").value, "n/a");
}

TEST_F(CompareTest, EmptySnapshotsShowASentence) {
  const Snapshot nothing;
  canvas.frame.snapshot = &nothing;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "empty"), 1);
  EXPECT_EQ(view->facts(canvas.frame), "");
  EXPECT_EQ(view->preferred_height(canvas.frame), 0);
  EXPECT_FALSE(view->key(canvas.frame, "Down", canvas.intents));
  canvas.frame.snapshot = nullptr;
  canvas.draw(*view);
  EXPECT_TRUE(view->table(canvas.frame).rows.empty());
}

TEST_F(CompareTest, OneRunAloneHasNothingToCompareWith) {
  snapshot.lanes.resize(1);
  canvas.frame.selection.lane = 0;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "lane"), 1);
  EXPECT_EQ(count_marks(*view, "difference.strip"), 0);
}

TEST_F(CompareTest, ADifferenceNamesItsRunsByLetterWhereTheirNamesHaveNoRoom) {
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.name", "only in D KeepKV"), nullptr);
  snapshot.lanes[3].title = "a policy whose name is long enough for two lines";
  ++snapshot.sequence;
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.name", "only in D"), nullptr);
  EXPECT_NE(find_mark(*view, "difference.name", "in neither"), nullptr);
}

TEST_F(CompareTest, WhenATokenWasEvictedIsSaidInWholeWords) {
  canvas.frame.selection.step = 12;
  int said = 0;
  for (int token = 20; token < 160; token += 7) {
    canvas.frame.selection.tokens = TokenRange{token, token};
    canvas.draw(*view);
    for (const Mark& m : view->marks()) {
      if (m.kind != "token.steps") continue;
      ++said;
      EXPECT_EQ(m.value.find("…"), std::string::npos) << m.value;
    }
  }
  EXPECT_GT(said, 10);
}

TEST_F(CompareTest, PointingAtATokenListsItsFateInEveryRunHoweverManyThereAre) {
  for (const std::size_t n : {std::size_t{4}, std::size_t{8}, std::size_t{13}, std::size_t{40}}) {
    while (snapshot.lanes.size() < n) snapshot.lanes.push_back(snapshot.lanes[1 + snapshot.lanes.size() % 3]);
    ++snapshot.sequence;
    canvas.draw(*view);
    const Mark& strip = mark("strip", "lane 3");
    canvas.move(*view, {strip.min.x + 0.3f * (strip.max.x - strip.min.x), (strip.min.y + strip.max.y) / 2});
    const HoverAt* hover = canvas.last<HoverAt>();
    ASSERT_NE(hover, nullptr);
    EXPECT_LE(hover->tooltip.size(), 12u);
    const int token = *hover->hover.token;
    std::string all;
    for (const std::string& line : hover->tooltip) all += line + "\n";
    EXPECT_NE(all.find("every run, kept + merged of 24 heads:"), std::string::npos) << all;
    const bool cut = all.find(" more") != std::string::npos;
    EXPECT_EQ(cut, n == 40) << all;
    for (std::size_t lane = 0; lane < n && !cut; ++lane) {
      const TokenCount count = token_count(snapshot.lanes[lane], step_of(snapshot.lanes[lane], canvas.frame.selection), token);
      std::string expected = lane_name(snapshot, static_cast<int>(lane)) + ": " + std::to_string(count.kept);
      if (count.merged > 0) expected += " + " + std::to_string(count.merged);
      EXPECT_NE(all.find(expected), std::string::npos) << expected << " in\n" << all;
    }
  }
}

TEST_F(CompareTest, AListOfRunsThatIsCutSaysHowManyAreLeftOut) {
  constexpr int kRuns = 8;
  while (std::ssize(snapshot.lanes) < kRuns) snapshot.lanes.push_back(snapshot.lanes[1 + snapshot.lanes.size() % 3]);
  canvas.frame.selection.tokens = TokenRange{40, 40};
  canvas.frame.selection.lane = kRuns - 1;
  canvas.frame.size.x = 1000;  // one column
  int cut = 0;
  for (float height = 600; height < 1100; height += 10) {
    canvas.frame.size.y = height;
    canvas.draw(*view);
    if (find_mark(*view, "difference.strip", "D KeepKV | C H2O") == nullptr && count_marks(*view, "token.count") == 0) continue;
    const int listed = count_marks(*view, "token.count");
    const Mark* more = find_mark(*view, "token.more", "runs");
    EXPECT_EQ(more != nullptr, listed < kRuns) << height;
    if (more == nullptr) continue;
    ++cut;
    EXPECT_EQ(find_mark(*view, "token.count", fmt::format("lane {}", kRuns - 1)) != nullptr, listed > 0)
        << "one of the two that are compared";
    EXPECT_EQ(more->value, fmt::format("+ {} more: point at a run", kRuns - listed));
    EXPECT_LE(more->max.y, height);
  }
  EXPECT_GT(cut, 0) << "else the test has not seen the case";
}

TEST_F(CompareTest, AListOfRunsTakesAColumnMoreBeforeItIsCut) {
  while (snapshot.lanes.size() < 8) snapshot.lanes.push_back(snapshot.lanes[1 + snapshot.lanes.size() % 3]);
  canvas.frame.selection.tokens = TokenRange{40, 40};
  int n_beside = 0;
  for (float height = 700; height < 1100; height += 10) {
    canvas.frame.size = {1600, height};
    canvas.draw(*view);
    if (count_marks(*view, "token.count") == 0) continue;
    EXPECT_EQ(count_marks(*view, "token.count"), 8) << height;
    EXPECT_EQ(count_marks(*view, "token.more"), 0) << height;
    std::vector<const Mark*> all;
    for (const Mark& m : view->marks())
      if (m.kind == "token.count") all.push_back(&m);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_LE(all[i]->max.y, height);
      EXPECT_LE(all[i]->max.x, 1600);
      for (std::size_t k = 0; k < i; ++k)
        EXPECT_TRUE(all[k]->max.y <= all[i]->min.y + 0.5f || all[k]->max.x <= all[i]->min.x) << height << ": " << all[i]->label;
    }
    n_beside += all.back()->min.x > all.front()->min.x;
  }
  EXPECT_GT(n_beside, 0) << "else the test has not seen the case";
}

TEST_F(CompareTest, APictureOffersNoRunToBeRemoved) {
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "button", "remove lane 1"), nullptr);
  canvas.frame.alone = true;
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "button", "remove lane 1"), nullptr);
}

TEST_F(CompareTest, TableHasOneRowPerRun) {
  const Table table = view->table(canvas.frame);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.columns.size(), table.rows[0].size());
  EXPECT_EQ(table.rows[3][0], "D KeepKV");
  EXPECT_EQ(table.rows[3][1], "keepkv:slots=42");
  const auto mean = std::ranges::find_if(table.columns, [](const std::string& c) { return c.starts_with("mean KL, nats"); });
  ASSERT_NE(mean, table.columns.end());
  const Snapshot& s = *canvas.frame.snapshot;
  EXPECT_EQ(std::stod(table.rows[3][static_cast<std::size_t>(mean - table.columns.begin())]), run_figures(s, s.lanes[3]).kl.mean())
      << "all its digits";
}

TEST_F(CompareTest, ABudgetThatWasRaisedIsToldAsItWasAsked) {
  Snapshot s = *canvas.frame.snapshot;
  const MetricColumn slots{MetricColumn::Kind::slots, "slots", "", 62};
  const auto lines = [&] { return metric_lines(s, 1, lane_metrics(s, s.lanes[1], 2, 3), slots); };
  EXPECT_THAT(lines(), ::testing::Contains("asked for: 42"));
  s.lanes[1].warnings = {{.kind = LaneWarning::Kind::budget_raised, .asked = 3, .got = 42}};
  EXPECT_THAT(lines(), ::testing::Contains("budget raised from 3 to 42 slots, to hold what is protected and what needs room beside it"));
}

TEST_F(CompareTest, WhatReadsAllSaysSoInTheTable) {
  const Snapshot& s = *canvas.frame.snapshot;
  LaneMetrics m = lane_metrics(s, s.lanes[1], 2, 3);
  m.read = kNotAvailable;
  EXPECT_EQ(metric_plain(s, m, MetricColumn::Kind::read), "all");
  m.read = 2048;
  EXPECT_EQ(metric_plain(s, m, MetricColumn::Kind::read), "2048");
}

TEST_F(CompareTest, KeysMoveThroughRunsAndTokens) {
  ASSERT_TRUE(view->key(canvas.frame, "Up", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.lane, 2);
  canvas.frame.selection.tokens = TokenRange{10, 12};
  ASSERT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{11, 11}));
  ASSERT_TRUE(view->key(canvas.frame, "Delete", canvas.intents));
  EXPECT_EQ(canvas.last<RemoveLane>()->lane, 3);
  const std::string said = view->cursor_text(canvas.frame);
  EXPECT_THAT(said, HasSubstr("run D KeepKV, KL "));
  const Snapshot& s = *canvas.frame.snapshot;
  const std::string answers = answers_text(s, s.lanes[3]);
  EXPECT_THAT(answers, HasSubstr("; this run: "));
  EXPECT_THAT(said, HasSubstr(answers));
  EXPECT_THAT(answers_text(s, s.lanes[0]), Not(HasSubstr("this run")));
}

TEST_F(CompareTest, ArrowsStayAmongTheTokensOfTheStep) {
  canvas.frame.selection.tokens.reset();
  canvas.frame.selection.step = 0;
  const int last = snapshot.lanes[3].steps[0]->position;
  ASSERT_LT(last + 1, static_cast<int>(snapshot.tokens.size()));
  ASSERT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{last, last}));
}

TEST_F(CompareTest, PreferredHeightHoldsEveryRunAndTheDifference) {
  canvas.frame.size = {1550, view->preferred_height(canvas.frame)};
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "lane"), 4);
  EXPECT_EQ(count_marks(*view, "difference.strip"), 1);
}

}  // namespace
}  // namespace kvscope::viz
