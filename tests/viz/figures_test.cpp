// SPDX-License-Identifier: Apache-2.0
// Figures of papers: numbers of runs written out by hand, and what stands there where the runs for one are not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "viz/headless.h"
#include "viz/reduce/papers/paper_figure.h"
#include "viz/synthetic.h"
#include "viz/the_mark.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum Which {
  kSparse,
  kHighestFifth,
  kHighestTenth,
  kSlow,
  kComesBack,
  kHitRate,
  kPerturbation,
  kPrediction,
  kAlike,
  kKeys,
  kSlots,
  kSinks
};

HeadRecord head(int kv_head, std::vector<float> attention, std::vector<int> kept = {}) {
  HeadRecord h;
  h.kv_head = kv_head;
  for (int i = 0; i < static_cast<int>(attention.size()); ++i) h.attended.push_back(i);
  h.attention = std::move(attention);
  h.pos = std::move(kept);
  h.n_slots = static_cast<int>(h.pos.size());
  return h;
}

StepPtr step(int number, int position, std::vector<HeadRecord> heads) {
  auto record = std::make_shared<StepRecord>();
  record->step = number;
  record->position = position;
  record->heads = std::move(heads);
  return record;
}

/// A prompt of five tokens and two steps in two heads: the full cache, and two runs that kept two tokens of each head.
class FiguresTest : public ::testing::Test {
 protected:
  FiguresTest() {
    s.model.n_layers = 1;
    s.model.n_kv_heads = 2;
    s.n_prompt = 5;
    s.sequence = 1;
    s.tokens.resize(7);
    s.lanes.resize(3);
    s.lanes[0].title = "Full cache";
    s.lanes[0].steps = {step(0, 4, {head(0, {.2f, .2f, .2f, .2f, .2f}), head(1, {.2f, .2f, .2f, .2f, .2f})}),
                        step(1, 5, {head(0, {.5f, .3f, .001f, .099f, .1f, 0}), head(1, {.1f, .1f, .1f, .1f, .1f, .5f})}),
                        step(2, 6, {head(0, {.1f, .2f, .6f, .05f, .05f, 0, 0}), head(1, {.7f, .1f, .1f, .1f, 0, 0, 0})})};
    for (int lane = 1; lane < 3; ++lane) {
      s.lanes[lane].title = lane == 1 ? "One" : "Two";
      HeadRecord a = head(0, {}, {0, 1}), b = head(1, {}, {0, 4});
      for (const int pos : {2, 3, 4}) a.events.push_back({.pos = pos});
      for (const int pos : {1, 2, 3}) b.events.push_back({.pos = pos});
      s.lanes[lane].steps = {step(0, 4, {a, b})};
      for (int i = 1; i < 3; ++i) {
        HeadRecord x = head(0, {}), y = head(1, {});
        x.local_l1_wo = lane == 1 ? 2 : 1;
        y.local_l1_wo = lane == 1 ? 1 : 4;
        s.lanes[lane].steps.push_back(step(i, 4 + i, {x, y}));
      }
    }
    selection.lane = 1;
  }
  std::vector<double> values(int which) const {
    std::vector<double> found;
    for (const PaperFigure::Bar& bar : paper_figure(s, selection, which).bars) found.push_back(bar.value);
    return found;
  }

  Snapshot s;
  Selection selection;
};

TEST_F(FiguresTest, TheAttentionOfTheFullCacheIsCountedByItsRows) {
  // head 0: below 0.005 of 0.5: 2 of 6; below 0.006 of 0.6: 2 of 7. head 1: none; 3 of 7. Their mean is the layer's.
  EXPECT_THAT(values(kSparse), ElementsAre(DoubleNear((2 / 6.0 + 2 / 7.0 + 0 + 3 / 7.0) / 4, 1e-6)));
  // the highest 20 % of six tokens, and of seven, are one
  EXPECT_THAT(values(kHighestFifth), ElementsAre(DoubleNear((.5 + .6) / 2, 1e-6), DoubleNear((.5 + .7) / 2, 1e-6)));
  EXPECT_EQ(paper_figure(s, selection, kHighestFifth).n_steps, 2) << "the prompt's own step does not count";
  selection.steps = StepRange{2, 2};
  EXPECT_THAT(values(kHighestTenth), ElementsAre(DoubleNear(.6, 1e-6), DoubleNear(.7, 1e-6)));
}

TEST_F(FiguresTest, SlowAttentionVariesLessWithinAWindow) {
  // a token that drifts, and one that goes to and fro
  std::vector<std::vector<float>> steps;
  for (int i = 0; i < 8; ++i) steps.push_back({static_cast<float>(i), i % 2 == 0 ? 0.0f : 1.0f});
  EXPECT_EQ(share_of_slow(steps, 4), 0.5);
  EXPECT_TRUE(std::isnan(share_of_slow(std::span(steps).first(4), 4)));
  EXPECT_THAT(paper_figure(s, selection, kSlow).missing, HasSubstr("generate"));
}

TEST_F(FiguresTest, WhatAPromptLostIsLookedUpInTheFullCache) {
  // head 0 lost 2, 3, 4: token 2 is the highest in step 2. head 1 lost 1, 2, 3: none ever is.
  EXPECT_THAT(values(kComesBack), ElementsAre(DoubleNear(1 / 3.0, 1e-9), DoubleEq(0)));
  // of the two most attended: head 0 {0, 1} and {2, 1}, kept 0 and 1; head 1 {0, 1} both times, kept 0 and 4
  EXPECT_THAT(values(kHitRate), ElementsAre(DoubleEq(.75), DoubleEq(.5)));
  EXPECT_DOUBLE_EQ(paper_figure(s, selection, kHitRate).line, 0.4);
  selection.lane = 0;
  EXPECT_THAT(paper_figure(s, selection, kHitRate).missing, HasSubstr("add one"));
}

TEST_F(FiguresTest, OutputsOfOneRunStandBesideThoseOfAnother) {
  EXPECT_THAT(values(kPerturbation), ElementsAre(DoubleEq(1), DoubleEq(-.75)));
  EXPECT_EQ(paper_figure(s, selection, kPerturbation).of_runs, "One beside Two");
  s.lanes.pop_back();
  EXPECT_THAT(paper_figure(s, selection, kPerturbation).missing, HasSubstr("add another"));
}

TEST_F(FiguresTest, ARunsOwnRecordsAreCounted) {
  EXPECT_THAT(paper_figure(s, selection, kAlike).missing, HasSubstr("not captured"));
  EXPECT_THAT(paper_figure(s, selection, kKeys).missing, HasSubstr("nearest key"));
  const auto change = [&](int number, auto what) {
    auto changed = std::make_shared<StepRecord>(*s.lanes[1].steps[static_cast<std::size_t>(number)]);
    what(changed->heads[0]);
    s.lanes[1].steps[static_cast<std::size_t>(number)] = changed;
  };
  change(1, [](HeadRecord& h) { h.attended = {0, 1}, h.attention = {.8f, .6f}; });
  change(2, [](HeadRecord& h) { h.attended = {2}, h.attention = {1}, h.n_slots = 3; });
  change(0, [](HeadRecord& h) { h.events[0].cos = .5, h.events[1].cos = 1; });
  const double one = (.5 * .8 + .3 * .6) / std::sqrt(.25 + .09 + 1e-6 + .099 * .099 + .01), two = .6 / std::sqrt(.01 + .04 + .36 + .005);
  EXPECT_THAT(values(kAlike), ElementsAre(DoubleNear((one + two) / 2, 1e-6), ::testing::IsNan()));
  EXPECT_THAT(values(kKeys), ElementsAre(DoubleEq(.75), ::testing::IsNan()));
  EXPECT_THAT(values(kSlots), ElementsAre(DoubleEq((3 / 7.0 + 0) / 2))) << "by layer, after the last step";
  EXPECT_THAT(paper_figure(s, {.lane = 0}, kSlots).missing, HasSubstr("add one"));
}

TEST_F(FiguresTest, WhatTheRunsCannotShowSaysSo) {
  EXPECT_THAT(paper_figure(s, selection, kPrediction).missing, HasSubstr("not measured"));
  s.measures.prediction = true;
  EXPECT_THAT(paper_figure(s, selection, kPrediction).missing, HasSubstr("a run that predicts scores"));
  EXPECT_THAT(paper_figure(s, selection, kSinks).missing, HasSubstr("kvscope-cli ppl"));
  for (int i = 0; i < 3; ++i) {
    auto without = std::make_shared<StepRecord>(*s.lanes[0].steps[static_cast<std::size_t>(i)]);
    for (HeadRecord& h : without->heads) h.attention.clear();
    s.lanes[0].steps[static_cast<std::size_t>(i)] = without;
  }
  EXPECT_THAT(paper_figure(s, selection, kSparse).missing, HasSubstr("not captured"));
}

TEST_F(FiguresTest, TheViewDrawsEveryFigureOrSaysWhatIsMissing) {
  auto view = make_figures();
  Headless canvas{s, {828, 230}};
  canvas.frame.selection = selection;
  const int n = static_cast<int>(paper_figure_infos().size());
  ASSERT_EQ(static_cast<int>(view->options().front().choices.size()), n);
  for (int which = 0; which < n; ++which) {
    view->choose(0, which);
    canvas.draw(*view);
    const PaperFigure figure = paper_figure(s, selection, which);
    EXPECT_EQ(count_marks(*view, "bar"), static_cast<int>(figure.bars.size())) << which;
    EXPECT_EQ(view->cursor_text(canvas.frame).empty(), false) << which;
    EXPECT_EQ(view->table(canvas.frame).rows.size(), figure.bars.size());
  }
  view->choose(0, kPrediction);
  canvas.draw(*view);
  ASSERT_NE(canvas.last<WantMeasure>(), nullptr) << "it asks for what it shows";
  EXPECT_EQ(canvas.last<WantMeasure>()->what, WantMeasure::What::prediction);
  view->choose(0, kHitRate);
  canvas.draw(*view);
  EXPECT_EQ(the_mark(*view, "bar", "L0 H0").value, "75.0 %");
  EXPECT_EQ(the_mark(*view, "line", "as many at random").value, "40.0 %");
  ASSERT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  ASSERT_TRUE(view->key(canvas.frame, "Enter", canvas.intents));
  ASSERT_NE(canvas.last<Select>(), nullptr);
  EXPECT_EQ(canvas.last<Select>()->selection.kv_head, 1);
}

TEST(Figures, OfALargeCacheHaveAColumnAHead) {
  Snapshot s = synthetic::make_snapshot({.n_layers = 32, .n_kv_heads = 32});
  auto view = make_figures();
  Headless canvas{s, {828, 230}};
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "bar"), 32) << "sparse attention is a number a layer";
  view->choose(0, kHighestFifth);
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "bar"), 1024);
}

}  // namespace
}  // namespace kvscope::viz
