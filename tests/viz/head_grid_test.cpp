// SPDX-License-Identifier: Apache-2.0
#include "viz/views/head_grid/head_grid.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "snapshot/synthetic.h"
#include "viz/draw/format.h"
#include "viz/draw/scene.h"
#include "viz/headless.h"
#include "viz/reduce/disagreement.h"
#include "viz/synthetic.h"

namespace kvscope::viz {
namespace {

using namespace testing;

class HeadGridTest : public ::testing::Test {
 protected:
  HeadGridTest() {
    canvas.frame.selection.lane = 3;
    canvas.frame.selection.step = 2;
  }
  const StepRecord& record() const { return *snapshot.lanes[3].steps[2]; }
  /// Replaces the record shown by a copy that can be changed.
  StepRecord& edit() {
    auto copy = std::make_shared<StepRecord>(record());
    StepRecord& reference = *copy;
    snapshot.lanes[3].steps[2] = copy;
    return reference;
  }

  Snapshot snapshot = synthetic::make_snapshot();
  HeadGrid view;
  Headless canvas{snapshot, {346, 306}};
};

TEST(Disagreement, IsTheShareOfTheOtherHeadsWithoutTheSameTokens) {
  StepRecord record;
  record.position = 9;
  const auto add = [&](int layer, std::vector<int> pos) {
    HeadRecord head;
    head.layer = layer;
    head.pos = std::move(pos);
    record.heads.push_back(head);
  };
  add(0, {1, 2, 3, 4});
  add(0, {1, 2, 8, 9});
  add(0, {1, 7, 8, 9});
  add(1, {1, 2});
  add(1, {1, 2});
  add(2, {5});
  add(3, {});
  add(3, {5});
  const std::vector<double> d = disagreement(record);
  ASSERT_EQ(d.size(), 8u);
  EXPECT_DOUBLE_EQ(d[0], (0 + 1 + 2 + 2) / 8.0);
  EXPECT_DOUBLE_EQ(d[1], (0 + 1 + 1 + 1) / 8.0);
  EXPECT_DOUBLE_EQ(d[2], (0 + 2 + 1 + 1) / 8.0);
  EXPECT_DOUBLE_EQ(d[3], 0) << "the same tokens";
  EXPECT_TRUE(std::isnan(d[5])) << "alone in its layer";
  EXPECT_TRUE(std::isnan(d[6])) << "it holds nothing";
  EXPECT_DOUBLE_EQ(d[7], 1);
}

TEST(HeadMetrics, CountSlotsThatAreNotListed) {
  HeadRecord head;
  head.n_slots = 17;
  EXPECT_EQ(head_metric(head, HeadMetric::slots, 34), 17);
  EXPECT_EQ(head_metric(head, HeadMetric::retained, 34), 0.5);
}

TEST_F(HeadGridTest, CellsHaveTheMeasuresOfTheDesign) {
  canvas.draw(view);
  EXPECT_EQ(count_marks(view, "cell"), 24);
  const Mark *a = find_mark(view, "cell", "L0 H0"), *b = find_mark(view, "cell", "L1 H1");
  EXPECT_NEAR(a->max.x - a->min.x, 70, 2);
  EXPECT_NEAR(a->max.y - a->min.y, 36, 2);
  EXPECT_FLOAT_EQ(b->min.x - a->max.x, 3);
  EXPECT_FLOAT_EQ(b->min.y - a->max.y, 3);
}

TEST_F(HeadGridTest, EveryCellPrintsTheValueOfItsRecord) {
  canvas.draw(view);
  for (const HeadRecord& h : record().heads) {
    const Mark* cell = find_mark(view, "cell", fmt::format("L{} H{}", h.layer, h.kv_head));
    ASSERT_NE(cell, nullptr);
    EXPECT_EQ(cell->value, format_number(h.local_l1_wo));
  }
}

TEST_F(HeadGridTest, KeysOneToNineChooseTheMetric) {
  const char* const names[] = {
      "local error after Wₒ",      "local error",        "retained", "votes lost", "attention lost", "slots", "bound of the error after Wₒ",
      "disagreement in its layer", "KL saved, full head"};
  for (int m = 0; m < 9; ++m) {
    EXPECT_TRUE(view.key(canvas.frame, std::string(1, static_cast<char>('1' + m)), canvas.intents));
    EXPECT_EQ(view.facts(canvas.frame), names[m]);
    canvas.draw(view);
    const auto metric = static_cast<HeadMetric>(m);
    const double v = metric == HeadMetric::disagreement ? disagreement(record())[0] : head_metric(record().heads[0], metric, 169);
    EXPECT_EQ(find_mark(view, "cell", "L0 H0")->value, format_metric(static_cast<HeadMetric>(m), v));
  }
  view.choose(0, kRecordMetrics);
  EXPECT_EQ(view.facts(canvas.frame), "habit: first tokens");
  EXPECT_FALSE(view.key(canvas.frame, "0", canvas.intents));
  EXPECT_EQ(format_metric(HeadMetric::retained, 42.0 / 167), "25.1 %");
}

TEST_F(HeadGridTest, TheDotOfAPinIsInTheHeadsWhereThePinHolds) {
  StepRecord& step = edit();
  const int token = step.heads[0].pos[5];
  int holding = 0;
  for (HeadRecord& h : step.heads) {
    h.pinned = {token};
    if (&h == &step.heads[1]) std::erase(h.pos, token);
    holding += std::binary_search(h.pos.begin(), h.pos.end(), token);
  }
  canvas.draw(view);
  EXPECT_EQ(count_marks(view, "by hand"), holding);
  EXPECT_NE(find_mark(view, "by hand", "L0 H0"), nullptr);
  EXPECT_EQ(find_mark(view, "by hand", "L0 H1"), nullptr) << "the token had left before it was pinned";
  canvas.frame.selection.layer = 0;
  for (const int head : {0, 1}) {
    canvas.frame.selection.kv_head = head;
    EXPECT_EQ(view.cursor_text(canvas.frame).find("dot: its budget or tokens were changed by hand") != std::string::npos, head == 0);
  }
}

TEST_F(HeadGridTest, TheDotOfAnEditNeedsNoRunWithoutIt) {
  StepRecord& step = edit();
  step.heads[1].events.push_back({.kind = Event::Kind::evict, .pos = 4, .by_hand = true});
  LaneSnapshot& lane = snapshot.lanes[static_cast<std::size_t>(canvas.frame.selection.lane)];
  lane.spec += "@evict=4,step=0";
  lane.fork_of = -1;
  canvas.draw(view);
  EXPECT_EQ(count_marks(view, "by hand"), 1);
  EXPECT_NE(find_mark(view, "by hand", "L0 H1"), nullptr);
}

TEST_F(HeadGridTest, EveryMetricOfTheListHasItsOwnName) {
  const std::vector<Option> options = view.options();
  ASSERT_EQ(options.at(0).choices.size(), static_cast<std::size_t>(kHeadMetrics));
  EXPECT_EQ(std::set<std::string>(options[0].choices.begin(), options[0].choices.end()).size(), options[0].choices.size());
}

TEST_F(HeadGridTest, TheBoundIsAskedForOnlyWhileItIsShown) {
  canvas.draw(view);
  EXPECT_EQ(canvas.last<WantMeasure>(), nullptr);
  view.choose(0, static_cast<int>(HeadMetric::theta));
  canvas.draw(view);
  ASSERT_NE(canvas.last<WantMeasure>(), nullptr);
  EXPECT_TRUE(canvas.last<WantMeasure>()->on && canvas.last<WantMeasure>()->what == WantMeasure::What::theta);
  EXPECT_EQ(find_mark(view, "cell", "L0 H0")->value, kNotAvailableText) << "not measured yet";
  Snapshot measured = snapshot;
  measured.measures.theta = true;
  Headless later(measured, {346, 306});
  later.frame.selection = canvas.frame.selection;
  later.draw(view);
  EXPECT_EQ(later.last<WantMeasure>(), nullptr);
  view.choose(0, static_cast<int>(HeadMetric::slots));
  later.draw(view);
  ASSERT_NE(later.last<WantMeasure>(), nullptr);
  EXPECT_FALSE(later.last<WantMeasure>()->on);
}

TEST_F(HeadGridTest, WhatWasNotMeasuredIsNotAvailableAndNeverZero) {
  StepRecord& r = edit();
  r.heads[5].local_l1_wo = kNotAvailable;
  r.heads[6].local_l1_wo = 0;
  canvas.draw(view);
  EXPECT_EQ(find_mark(view, "cell", "L1 H1")->value, "n/a");
  EXPECT_EQ(find_mark(view, "cell", "L1 H2")->value, "0");
  for (HeadRecord& h : r.heads) h.local_l1_wo = kNotAvailable;  // no history: nothing at all
  canvas.draw(view);
  for (const Mark& m : view.marks()) {
    if (m.kind == "cell") {
      EXPECT_EQ(m.value, "n/a");
    }
  }
}

TEST_F(HeadGridTest, WhatNeedsTheHistoryOffersToCaptureIt) {
  for (HeadRecord& h : edit().heads) h.local_l1_wo = h.local_rel_l2 = h.attention_loss = kNotAvailable;
  snapshot.total_ms = 412;
  canvas.draw(view);
  EXPECT_EQ(find_mark(view, "capture", ""), nullptr) << "the history is kept";
  EXPECT_FALSE(view.key(canvas.frame, "M", canvas.intents));
  snapshot.history = false;
  canvas.draw(view);
  const Mark* offer = find_mark(view, "capture", "");
  ASSERT_NE(offer, nullptr);
  EXPECT_EQ(offer->value, "not captured – capture now (412 ms)");
  EXPECT_EQ(find_mark(view, "cell", "L0 H0")->value, "n/a");
  EXPECT_EQ(find_mark(view, "legend", ""), nullptr) << "no scale of nothing";
  canvas.click(view, centre(*offer));
  ASSERT_NE(canvas.last<WantMeasure>(), nullptr);
  EXPECT_TRUE(canvas.last<WantMeasure>()->on && canvas.last<WantMeasure>()->what == WantMeasure::What::history);
  canvas.intents.clear();
  EXPECT_TRUE(view.key(canvas.frame, "M", canvas.intents));
  ASSERT_NE(canvas.last<WantMeasure>(), nullptr);
  view.choose(0, static_cast<int>(HeadMetric::slots));
  canvas.draw(view);
  EXPECT_EQ(find_mark(view, "capture", ""), nullptr) << "slots are always known";
}

TEST_F(HeadGridTest, RangesOverTwoDecadesGetARootScaleThatIsNamed) {
  StepRecord& r = edit();
  for (HeadRecord& h : r.heads) h.local_l1_wo = 50;
  r.heads[0].local_l1_wo = 729;
  canvas.draw(view);
  const Mark* legend = find_mark(view, "legend", "");
  ASSERT_NE(legend, nullptr);
  EXPECT_EQ(legend->value, "0 to 729, sum of |x|, this step");
  r.heads[1].local_l1_wo = 0.00144;
  canvas.draw(view);
  EXPECT_EQ(find_mark(view, "legend", "")->value, "0 to 729, √ scale · sum of |x|, this step");
}

/// Whoever looks before all heads are measured must not take the best so far for the best: its colour is that of what can be saved.
TEST_F(HeadGridTest, WhileHeadsAreMeasuredColoursAreThoseOfTheEnd) {
  const auto n = record().heads.size();
  HeadCauses causes{.n_heads = static_cast<int>(n), .n_measured = 1, .running = true, .kl_without = 4.5, .kl = {}, .returns = {}};
  causes.kl.assign(n, kNotAvailable);
  causes.kl[0] = 4.23;  // it saves 0.27
  causes.returns.assign(n, 0);
  canvas.frame.causes = &causes;
  view.choose(0, static_cast<int>(HeadMetric::cause));
  RecordedScene recorded(canvas);
  canvas.draw(view);
  const auto words = [&] {
    std::string out;
    for (const Mark& mark : view.marks()) out += mark.kind + " " + mark.value + "\n";
    for (const SceneCommand& c : recorded.scene.commands)
      if (c.kind == SceneCommand::Kind::text) out += c.text + "\n";
    return out;
  };
  EXPECT_NE(words().find("cell 0.270"), std::string::npos) << words();
  EXPECT_NE(words().find("cell …"), std::string::npos) << "not measured yet is not n/a";
  causes.kl.assign(n, 4.5);
  causes.kl[0] = 4.23;
  causes.n_measured = static_cast<int>(n);
  causes.running = false;
  ++snapshot.sequence;
  recorded.scene.commands.clear();
  canvas.draw(view);
  EXPECT_NE(words().find("4.50"), std::string::npos) << "the scale ends at all that can be saved: " << words();
  EXPECT_EQ(words().find("framed"), std::string::npos) << "no head brings the answer back";
  causes.returns[0] = 1;
  causes.kl[1] = 4.5 + 1e-9;  // next to nothing, to the worse
  causes.kl[2] = 4.5 - 0.0001;
  ++snapshot.sequence;
  recorded.scene.commands.clear();
  canvas.draw(view);
  EXPECT_NE(words().find("framed: right answer"), std::string::npos) << words();
  const auto written = [&](std::string_view text) {
    return std::ranges::count_if(recorded.scene.commands, [&](const SceneCommand& c) { return c.text == text; });
  };
  EXPECT_EQ(written("≈0"), 2) << "a number that no reader needs is not cut to one of another size: " << words();
  // A head that makes it worse is not one that does nothing, however little room there is.
  causes.kl[3] = 4.5 + 0.0813;
  ++snapshot.sequence;
  int n_short = 0;
  for (const float width : {120.0f, 140.0f, 160.0f, 180.0f, 210.0f, 240.0f}) {
    Headless narrow{snapshot, {width, 306}};
    narrow.frame.selection = canvas.frame.selection;
    narrow.frame.causes = &causes;
    RecordedScene few(narrow);
    narrow.draw(view);
    int n_near = 0;
    for (const SceneCommand& c : few.scene.commands) {
      n_near += c.text == "≈0" ? 1 : 0;
      n_short += c.text == std::string(kMinus) + ".08" || c.text == "<0" ? 1 : 0;
    }
    EXPECT_LE(n_near, 2) << width;
  }
  EXPECT_GT(n_short, 0);
}

TEST_F(HeadGridTest, ANarrowCellHasAPowerOfTenRatherThanNothing) {
  StepRecord& step = edit();
  for (HeadRecord& head : step.heads) head.local_l1_wo = 0.00042;
  step.heads[0].local_l1_wo = 3e-7;
  step.heads[1].local_l1_wo = 0.0014;
  int n_powers = 0;
  for (const float width : {150.0f, 180.0f, 210.0f, 240.0f, 346.0f}) {
    Headless narrow{snapshot, {width, 306}};
    narrow.frame.selection = canvas.frame.selection;
    RecordedScene recorded(narrow);
    narrow.draw(view);
    for (const SceneCommand& c : recorded.scene.commands) {
      if (c.kind != SceneCommand::Kind::text) continue;
      EXPECT_NE(c.text, "≈0") << width << ": it is the largest";
      EXPECT_FALSE(c.text.starts_with(".00")) << width << ": zeros that nobody counts";
      n_powers += c.text == std::string("4e") + std::string(kMinus) + "4";
    }
  }
  EXPECT_GT(n_powers, 0);
}

TEST_F(HeadGridTest, WhatIsNoMoreThanRoundingHasNoColour) {
  view.choose(0, static_cast<int>(HeadMetric::local_l1_wo));
  StepRecord& r = edit();
  for (HeadRecord& h : r.heads) h.local_l1_wo = 0;
  r.heads[3].local_l1_wo = 1.2e-15;
  canvas.draw(view);
  const auto brightest = [&] {
    Scene scene;
    canvas.frame.scene = &scene;
    canvas.draw(view);
    canvas.frame.scene = nullptr;
    return std::ranges::any_of(scene.commands, [](const SceneCommand& c) {
      return c.kind == SceneCommand::Kind::rect && c.colour.value == dark_theme().damage.back().value;
    });
  };
  EXPECT_FALSE(brightest()) << "1e-15 is not the worst head of a picture in which nothing is wrong";
  const Mark* legend = find_mark(view, "legend", "");
  ASSERT_NE(legend, nullptr);
  const Mark* unit = find_mark(view, "legend", "unit");
  EXPECT_NE((legend->value + (unit ? unit->value : "")).find("no more than rounding"), std::string::npos) << legend->value;
  r.heads[3].local_l1_wo = 0.5;
  canvas.draw(view);
  EXPECT_TRUE(brightest());
}

TEST_F(HeadGridTest, AClickSelectsTheHeadAndKeepsTheRest) {
  canvas.frame.selection.tokens = TokenRange{3, 5};
  canvas.draw(view);
  canvas.click(view, centre(*find_mark(view, "cell", "L4 H1")));
  ASSERT_NE(canvas.last<Select>(), nullptr);
  EXPECT_EQ(canvas.last<Select>()->selection.layer, 4);
  EXPECT_EQ(canvas.last<Select>()->selection.kv_head, 1);
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{3, 5}));
  canvas.apply();
  canvas.draw(view);
  EXPECT_NE(find_mark(view, "selected head", "L4 H1"), nullptr);
}

TEST_F(HeadGridTest, ArrowsWalkTheGridAndStopAtItsEdges) {
  const auto press = [&](const char* key) {
    EXPECT_TRUE(view.key(canvas.frame, key, canvas.intents));
    canvas.apply();
    return std::pair{canvas.frame.selection.layer, canvas.frame.selection.kv_head};
  };
  EXPECT_EQ(press("Right"), (std::pair{std::optional<int>(0), std::optional<int>(0)}));
  EXPECT_EQ(press("Right"), (std::pair{std::optional<int>(0), std::optional<int>(1)}));
  EXPECT_EQ(press("Down"), (std::pair{std::optional<int>(1), std::optional<int>(1)}));
  EXPECT_EQ(press("End"), (std::pair{std::optional<int>(5), std::optional<int>(3)}));
  EXPECT_EQ(press("Down"), (std::pair{std::optional<int>(5), std::optional<int>(3)}));
  EXPECT_TRUE(view.key(canvas.frame, "Enter", canvas.intents));
  EXPECT_NE(canvas.last<OpenInspector>(), nullptr);
}

TEST_F(HeadGridTest, TheTooltipRanksTheHead) {
  StepRecord& r = edit();
  for (HeadRecord& h : r.heads) h.local_l1_wo = 1;
  r.heads[9].local_l1_wo = 2;
  canvas.draw(view);
  canvas.move(view, centre(*find_mark(view, "cell", "L2 H1")));
  ASSERT_NE(canvas.last<HoverAt>(), nullptr);
  EXPECT_EQ(canvas.last<HoverAt>()->tooltip.at(0), "L2 · H1");
  EXPECT_EQ(canvas.last<HoverAt>()->tooltip.at(1), "local error after Wₒ 2.00 (sum of |x|, this step)");
  EXPECT_EQ(canvas.last<HoverAt>()->tooltip.at(2), "rank 1 of 24 heads, 1 = highest");
  canvas.intents.clear();
  canvas.draw(view);
  EXPECT_EQ(canvas.last<HoverAt>(), nullptr) << "nothing has changed";
  canvas.frame.selection.lane = 2;  // the mouse stays, the run does not
  canvas.draw(view);
  ASSERT_NE(canvas.last<HoverAt>(), nullptr);
  EXPECT_NE(canvas.last<HoverAt>()->tooltip.at(1), "local error after Wₒ 2.00 (sum of |x|, this step)");
}

TEST_F(HeadGridTest, TheTableHasARowPerHeadAndAllMetrics) {
  const Table table = view.table(canvas.frame);
  ASSERT_EQ(table.rows.size(), 24u);
  ASSERT_EQ(table.columns.size(), 19u);
  EXPECT_EQ(table.columns[9], "disagreement");
  EXPECT_EQ(table.columns[10], "kl_saved");
  EXPECT_EQ(table.rows[17][10], "n/a") << "nobody asked";
  EXPECT_EQ(table.rows[17][9], format_number(disagreement(record())[17], 6));
  EXPECT_EQ(table.note, "habits not measured: kvscope-cli heads --out-characters");
  EXPECT_EQ(table.rows[17][0], "4");
  EXPECT_EQ(table.rows[17][1], "1");
  EXPECT_EQ(table.rows[17][7], "42.0000");
}

TEST_F(HeadGridTest, SortedTheLargestValueStandsFirstUnderItsOwnNames) {
  StepRecord& r = edit();
  for (HeadRecord& h : r.heads) h.local_l1_wo = 10 + h.layer + 0.1 * h.kv_head;
  r.heads[2 * 4 + 3].local_l1_wo = 729;                                                          // L2 H3: the largest
  r.heads[4 * 4 + 1].local_l1_wo = 300;                                                          // L4 H1: the next
  for (int h = 0; h < 4; ++h) r.heads[static_cast<std::size_t>(h)].local_l1_wo = kNotAvailable;  // L0: nothing is known
  EXPECT_TRUE(view.key(canvas.frame, "S", canvas.intents));
  EXPECT_EQ(view.facts(canvas.frame), "local error after Wₒ · sorted");
  canvas.draw(view);
  const auto place = [&](const char* name) { return find_mark(view, "cell", name)->min; };
  // layers 2, 4, then 5, 3, 1 by their own largest, 0 last; heads 3, 1, then 2, 0
  for (const char* other : {"L4 H1", "L5 H0", "L0 H0", "L1 H2"}) {
    EXPECT_LT(place("L2 H3").y, place(other).y) << other;
    EXPECT_LT(place("L2 H3").x, place(other).x) << other;
  }
  const char* const rows[] = {"L2 H0", "L4 H0", "L5 H0", "L3 H0", "L1 H0", "L0 H0"};
  for (int i = 1; i < 6; ++i) EXPECT_LT(place(rows[i - 1]).y, place(rows[i]).y) << rows[i];
  const char* const columns[] = {"L5 H3", "L5 H1", "L5 H2", "L5 H0"};
  for (int i = 1; i < 4; ++i) EXPECT_LT(place(columns[i - 1]).x, place(columns[i]).x) << columns[i];
  EXPECT_EQ(find_mark(view, "cell", "L2 H3")->value, "729");
  EXPECT_EQ(find_mark(view, "cell", "L0 H2")->value, "n/a");
  // the table has the same order and the same numbers
  const Table table = view.table(canvas.frame);
  ASSERT_EQ(table.rows.size(), 24u);
  EXPECT_EQ(table.rows[0][0] + "," + table.rows[0][1] + "," + table.rows[0][2], "2,3,729.000");
  EXPECT_EQ(table.rows[1][1], "1");
  EXPECT_EQ(table.rows[4][0] + "," + table.rows[5][1], "4,1");
  EXPECT_EQ(table.rows[23][0] + "," + table.rows[23][1], "0,0");
}

TEST_F(HeadGridTest, SortedAPointAndAKeyMeanWhatStandsThere) {
  StepRecord& r = edit();
  for (HeadRecord& h : r.heads) h.local_l1_wo = 10 + h.layer + 0.1 * h.kv_head;
  r.heads[2 * 4 + 3].local_l1_wo = 729;
  canvas.draw(view);
  canvas.click(view, centre(*find_mark(view, "sort", "order of the model")));
  EXPECT_TRUE(view.sorted());
  canvas.draw(view);
  ASSERT_NE(find_mark(view, "sort", "largest first"), nullptr);
  canvas.move(view, centre(*find_mark(view, "cell", "L2 H3")));
  ASSERT_NE(canvas.last<HoverAt>(), nullptr);
  EXPECT_EQ(canvas.last<HoverAt>()->hover.layer, 2);
  EXPECT_EQ(canvas.last<HoverAt>()->hover.kv_head, 3);
  EXPECT_EQ(canvas.last<HoverAt>()->tooltip.at(0), "L2 · H3");
  EXPECT_EQ(canvas.last<HoverAt>()->tooltip.at(2), "rank 1 of 24 heads, 1 = highest");
  canvas.click(view, centre(*find_mark(view, "cell", "L2 H3")));
  EXPECT_EQ(canvas.last<Select>()->selection.layer, 2);
  EXPECT_EQ(canvas.last<Select>()->selection.kv_head, 3);
  const auto press = [&](const char* key) {
    EXPECT_TRUE(view.key(canvas.frame, key, canvas.intents));
    canvas.apply();
    return std::pair{canvas.frame.selection.layer.value(), canvas.frame.selection.kv_head.value()};
  };
  canvas.apply();
  EXPECT_EQ(press("Left"), (std::pair{2, 3})) << "it stands at the edge";
  EXPECT_EQ(press("Down"), (std::pair{5, 3}));
  EXPECT_EQ(press("Right"), (std::pair{5, 2}));
  EXPECT_EQ(press("End"), (std::pair{0, 0}));
  EXPECT_EQ(press("Home"), (std::pair{2, 3}));
  canvas.draw(view);
  const Mark *selected = find_mark(view, "selected head", "L2 H3"), *cell = find_mark(view, "cell", "L2 H3");
  ASSERT_NE(selected, nullptr);
  EXPECT_NEAR(selected->min.x, cell->min.x, 3);
  EXPECT_NEAR(selected->min.y, cell->min.y, 3);
  canvas.click(view, centre(*find_mark(view, "sort", "largest first")));
  EXPECT_FALSE(view.sorted());
  EXPECT_EQ(press("Home"), (std::pair{0, 0}));
}

TEST(HeadOrder, WithoutValuesItIsTheOrderOfTheModel) {
  for (const bool sorted : {false, true}) {
    const HeadOrder order = head_order({}, 3, 2, sorted);
    EXPECT_EQ(order.layers, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(order.column_of, (std::vector<int>{0, 1}));
  }
  const HeadOrder order = head_order({1, 1, 5, 0, 1, 5}, 3, 2, true);  // equals in the order of the model
  EXPECT_EQ(order.layers, (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(order.heads, (std::vector<int>{0, 1}));
  EXPECT_EQ(order.row_of, (std::vector<int>{2, 0, 1}));
}

TEST(HeadGridSizes, AThousandHeadsFitTheSamePanel) {
  const Snapshot snapshot = synthetic::make_huge_snapshot(32, 32, 64);
  Headless canvas(snapshot, {346, 306});
  HeadGrid view;
  const ImDrawData* data = canvas.draw(view);
  EXPECT_EQ(count_marks(view, "cell"), 1024);
  EXPECT_LE(data->TotalVtxCount, 20000);
  for (const Mark& m : view.marks()) {
    EXPECT_GE(m.min.x, 0);
    EXPECT_LE(m.max.x, 346);
    EXPECT_LE(m.max.y, 306);
  }
}

TEST(HeadGridSizes, EmptyAndTinyPanelsAreHarmless) {
  Snapshot snapshot;
  Headless canvas(snapshot, {346, 306});
  HeadGrid view;
  canvas.draw(view);
  EXPECT_EQ(count_marks(view, "empty"), 1);
  EXPECT_FALSE(view.key(canvas.frame, "Left", canvas.intents));
  snapshot = synthetic::make_snapshot();
  for (ImVec2 size : {ImVec2(1, 1), ImVec2(50, 40), ImVec2(80, 70)}) {
    canvas.frame.size = size;
    canvas.draw(view);
    canvas.click(view, {size.x / 2, size.y / 2});
  }
}

}  // namespace
}  // namespace kvscope::viz
