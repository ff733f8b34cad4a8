// SPDX-License-Identifier: Apache-2.0
#include "viz/views/timeline/timeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "snapshot/held_bytes.h"
#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/generated.h"
#include "viz/reduce/lecture.h"
#include "viz/reduce/text.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;

Snapshot streamed(int n_prompt = 167) {
  synthetic::Shape shape;
  shape.n_layers = 3;
  shape.n_prompt = n_prompt;
  shape.prefill = false;
  return synthetic::make_snapshot(shape);
}

Snapshot short_run(bool prefill) {
  synthetic::Shape shape;
  shape.n_layers = 2;
  shape.n_prompt = 90;
  shape.slots = 20;
  shape.prefill = prefill;
  return synthetic::make_snapshot(shape);
}

/// Runs of their own text; the second one goes on with another token than the full cache at this step, whose record is given.
StepRecord& parted(Snapshot& snapshot, std::size_t step) {
  snapshot.follow = "self";
  const auto other = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[step]);
  other->next_token = snapshot.lanes[0].steps[step]->next_token + 1;
  snapshot.lanes[1].steps[step] = other;
  return *other;
}

/// What is kept without a budget is kept for no rank: in every picture of such a run it has another word.
TEST(CategoryWords, OfARunWithoutABudgetNothingIsHeavy) {
  Snapshot s = short_run(true);
  ASSERT_GE(s.lanes[3].slots_asked, 0);
  EXPECT_STREQ(category_word(s.lanes[3], Category::kept), "heavy");
  EXPECT_STREQ(category_word(s.lanes[0], Category::kept), "kept");
  EXPECT_STREQ(category_word(s.lanes[0], Category::sink), "sink");
  std::vector<std::unique_ptr<View>> views;
  views.push_back(make_atlas(std::make_shared<TokenWindow>()));
  views.push_back(make_timeline());
  for (const std::unique_ptr<View>& view : views) {
    Headless canvas(s, {1400, 420});
    for (const int lane : {3, 0}) {
      canvas.frame.selection.lane = lane;
      canvas.frame.selection.layer = 0;
      canvas.frame.selection.kv_head = 0;
      canvas.draw(*view);
      EXPECT_EQ(find_mark(*view, "legend", "heavy") != nullptr, lane == 3) << view->id() << " " << lane;
      EXPECT_EQ(find_mark(*view, "legend", "kept") != nullptr, lane == 0) << view->id() << " " << lane;
    }
  }
}

TEST(StepSummaries, CountsEqualTheCategoriesOfEveryTokenAndHead) {
  for (const bool prefill : {true, false}) {
    const Snapshot snapshot = short_run(prefill);
    for (const LaneSnapshot& lane : snapshot.lanes) {
      const auto steps = summarise_steps(snapshot, lane);
      ASSERT_EQ(steps.size(), lane.steps.size());
      for (std::size_t s = 0; s < steps.size(); ++s) {
        std::array<double, kCategories> expected{};
        int evicted = 0, merged = 0;
        for (int h = 0; h < 8; ++h) {
          for (Category c : categories_of(snapshot, lane, static_cast<int>(s), h)) {
            if (c != Category::unseen) ++expected[static_cast<std::size_t>(c)];
          }
          for (const Event& e : lane.steps[s]->heads[static_cast<std::size_t>(h)].events)
            ++(e.kind == Event::Kind::evict ? evicted : merged);
        }
        ASSERT_EQ(steps[s].counts, expected) << lane.title << " step " << s;
        ASSERT_EQ(steps[s].evicted, evicted);
        ASSERT_EQ(steps[s].merged, merged);
        ASSERT_EQ(steps[s].tokens(), 8.0 * (lane.steps[s]->position + 1));
      }
    }
  }
}

TEST(StepSummaries, WhereOnlyFiguresAreKeptTheyAndTheFatesStayAsTheyWere) {
  for (const bool prefill : {true, false}) {
    const Snapshot whole = short_run(prefill);
    Snapshot figures = whole;
    for (LaneSnapshot& lane : figures.lanes)
      for (StepPtr& step : lane.steps) step = std::make_shared<const StepRecord>(figures_of(*step));
    for (std::size_t l = 0; l < whole.lanes.size(); ++l) {
      const auto expected = summarise_steps(whole, whole.lanes[l]), steps = summarise_steps(figures, figures.lanes[l]);
      for (std::size_t s = 0; s < expected.size(); ++s) {
        ASSERT_EQ(steps[s].counts, expected[s].counts) << whole.lanes[l].title << " step " << s;
        for (int h = 0; h < 8; ++h)
          ASSERT_EQ(categories_of(figures, figures.lanes[l], static_cast<int>(s), h),
                    categories_of(whole, whole.lanes[l], static_cast<int>(s), h))
              << whole.lanes[l].title << " step " << s << " head " << h;
      }
    }
  }
}

TEST(StepSummaries, NothingIsComparedOnceARunReadsAnotherText) {
  Snapshot snapshot = short_run(true);
  parted(snapshot, 2);
  const LaneSnapshot& lane = snapshot.lanes[1];
  ASSERT_GT(lane.steps.size(), 4u);
  const auto steps = summarise_steps(snapshot, lane);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(std::isnan(steps[i].kl), i > 2) << i;
    EXPECT_TRUE(i < 3 || !steps[i].changed) << i;
    EXPECT_EQ(finding_of(snapshot, lane, static_cast<int>(i)).step >= 0, i < 3 && steps[i].changed) << i;
    EXPECT_TRUE(i < 3 || agreement_at(snapshot, lane, static_cast<int>(i)).same.empty()) << i;
  }
  EXPECT_LT(next_changed_step(snapshot, lane, 2), 0);
  for (const GeneratedToken& token : generated_tokens(snapshot, lane)) EXPECT_TRUE(token.step <= 2 || std::isnan(token.p)) << token.step;
  for (const int step : {2, 3}) {
    double before = 1;
    for (const TopToken& token : candidates(snapshot, lane, step)) {
      EXPECT_EQ(std::isnan(token.p_reference), step > 2);
      EXPECT_EQ(token.rank_reference == 0, step > 2);
      EXPECT_TRUE(step == 2 || token.p <= before);
      before = token.p;
    }
    for (const PairRow& row : next_token_pairs(snapshot, lane, step, 5)) {
      EXPECT_EQ(std::isnan(row.reference), step > 2) << row.label;
      EXPECT_FALSE(step > 2 && row.reference_first) << row.label;
    }
    EXPECT_EQ(lecture_facts(snapshot, {.lane = 1, .step = step}).at("parted").number, step > 2 ? 3 : 0);
  }
  EXPECT_TRUE(std::isnan(lane_metrics(snapshot, lane, 4, 0).kl));
  EXPECT_EQ(other_text_words(snapshot, lane), "It reads another text than the full cache since step 3: nothing is compared.");
  EXPECT_EQ(other_text_words(snapshot, snapshot.lanes[0]), "");
}

TEST(StepSummaries, WhatWasDrawnIsNotWhatARunWouldSay) {
  Snapshot snapshot = short_run(true);
  StepRecord& drawn = parted(snapshot, 1);
  const LaneSnapshot& lane = snapshot.lanes[1];
  drawn.top1 = drawn.top1_reference = snapshot.lanes[0].steps[1]->next_token;
  drawn.top1_same = true;
  const std::vector<GeneratedToken> told = generated_tokens(snapshot, lane);
  const auto cell = std::ranges::find(told, 1, &GeneratedToken::step);
  ASSERT_NE(cell, told.end());
  EXPECT_FALSE(cell->same);
  EXPECT_EQ(cell->says, text_of_id(snapshot, drawn.next_token));
  EXPECT_NE(agreement_at(snapshot, lane, 1).same.find(" would most likely say "), std::string::npos)
      << agreement_at(snapshot, lane, 1).same;
  snapshot.follow = "reference";
  EXPECT_NE(agreement_at(snapshot, lane, 1).same.find(" says "), std::string::npos);
}

TEST(StepSummaries, WhatAFirstStepRemovedCountsEvenIfItIsNotListed) {
  const Snapshot s = synthetic::make_huge_snapshot(2, 3, 3000, 4);
  const LaneSnapshot& lane = s.lanes[1];
  const auto steps = summarise_steps(s, lane);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    double evicted = 0, slots = 0;
    for (const HeadRecord& h : lane.steps[i]->heads) evicted += h.evicted_votes, slots += static_cast<double>(h.pos.size());
    EXPECT_EQ(steps[i].tokens(), 6.0 * (lane.steps[i]->position + 1)) << i;
    EXPECT_EQ(steps[i].slots(), slots) << i;
    EXPECT_EQ(steps[i].counts[static_cast<std::size_t>(Category::evicted)], evicted) << i;
  }
  EXPECT_GT(steps[0].merged, 0);
  EXPECT_EQ(steps[0].evicted + steps[0].merged, 6 * 3000 - static_cast<int>(steps[0].slots()));
  EXPECT_EQ(summarise_steps(s, s.lanes[0])[2].slots(), 6.0 * (s.lanes[0].steps[2]->position + 1)) << "the full cache keeps all";
}

TEST(StepBins, AChangedTopChoiceIsNeverLost) {
  std::vector<StepSummary> steps(10'000);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].step = static_cast<int>(i);
    steps[i].kl = 0.01;
  }
  steps[7123].changed = true;
  steps[7123].kl = 5;
  steps[44].evicted = 9;
  const auto bins = bin_steps(steps, 700);
  ASSERT_LE(bins.size(), 700u);
  EXPECT_EQ(bins.front().first, 0);
  EXPECT_EQ(bins.back().last, 9999);
  int changed = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (i > 0) {
      EXPECT_EQ(bins[i].first, bins[i - 1].last + 1);
    }
    if (!bins[i].changed) continue;
    ++changed;
    EXPECT_LE(bins[i].first, 7123);
    EXPECT_GE(bins[i].last, 7123);
    EXPECT_EQ(bins[i].kl_max, 5);
    EXPECT_EQ(bins[i].kl_min, 0.01);
  }
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(bins[2].evicted_max, 9);
  EXPECT_TRUE(bin_steps({}, 100).empty());
}

TEST(StackPixels, EdgesAreRoundedAndNothingRareIsLost) {
  const auto pixels = [](std::vector<double> parts, double whole, int height, int least) {
    return stack_pixels(parts, whole, height, least);
  };
  EXPECT_EQ(pixels({10, 20, 0, 30}, 100, 50, 2), (std::vector<int>{5, 10, 0, 15}));
  EXPECT_EQ(pixels({30, 0.1}, 100, 50, 2), (std::vector<int>{15, 2})) << "less than a pixel is drawn as two";
  EXPECT_EQ(pixels({0.1, 99.8, 0.1}, 100, 50, 2), (std::vector<int>{2, 46, 2})) << "and takes them from its neighbour, not from the frame";
  EXPECT_EQ(pixels({1, 1, 1}, 3, 4, 2), (std::vector<int>{1, 2, 1})) << "a low bar has a pixel for each";
  EXPECT_EQ(pixels({1, 1, 1}, 3, 2, 2), (std::vector<int>{0, 0, 0})) << "or no room at all";
  EXPECT_EQ(pixels({0, 0}, 0, 50, 2), (std::vector<int>{0, 0}));
}

TEST(StepBins, AStepWithoutKlStaysNotAvailable) {
  std::vector<StepSummary> steps(3);
  EXPECT_TRUE(std::isnan(bin_steps(steps, 1).at(0).kl_max));
  steps[1].kl = 2;
  EXPECT_EQ(bin_steps(steps, 1).at(0).kl_max, 2);
}

class TimelineTest : public ::testing::Test {
 protected:
  TimelineTest() { canvas.frame.selection.lane = 3; }
  Snapshot snapshot = synthetic::make_snapshot();
  Timeline view;
  Headless canvas{snapshot, {828, 174}};
};

/// "evicted at step 0" is said elsewhere: its column has that name, too.
TEST_F(TimelineTest, TheStepOfThePromptHasItsNumberLikeTheOthers) {
  canvas.draw(view);
  EXPECT_EQ(find_mark(view, "step name", "step 0")->value, "0 (prefill)");
  EXPECT_EQ(find_mark(view, "step name", "step 1")->value, "1");
  canvas.frame.size = {640, 174};
  canvas.draw(view);
  EXPECT_EQ(find_mark(view, "step name", "step 0")->value, "0") << "where there is little room";
}

TEST_F(TimelineTest, NumbersOfTheTableAreDigitsAlone) {
  snapshot = synthetic::make_snapshot({.n_prompt = 600, .slots = 300});
  const std::string csv = to_csv(view.table(canvas.frame));
  EXPECT_EQ(csv.find("\u2009"), std::string::npos) << "no thin spaces in numbers:\n" << csv;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  int digits = 0, most = 0;
  for (const char c : csv) most = std::max(most, digits = is_digit(c) ? digits + 1 : 0);
  EXPECT_GE(most, 4) << "a number that people read in groups";
}

TEST_F(TimelineTest, FewStepsAreOneColumnEachWithItsNumbers) {
  canvas.frame.selection.step = 2;
  canvas.draw(view);
  EXPECT_EQ(count_marks(view, "column"), 13);
  const auto steps = summarise_steps(snapshot, snapshot.lanes[3]);
  for (int s : {0, 2, 12}) {
    const auto i = static_cast<std::size_t>(s);
    const std::string name = "step " + std::to_string(s);
    EXPECT_EQ(find_mark(view, "column", name)->value,
              std::to_string(steps[i].evicted) + " evicted, " + std::to_string(steps[i].merged) + " merged");
    EXPECT_EQ(find_mark(view, "kl", name)->value, format_number(steps[i].kl));
  }
  EXPECT_NE(find_mark(view, "current step", "step 2"), nullptr);
  EXPECT_NE(find_mark(view, "legend", "top choice differs from the reference"), nullptr);
}

TEST_F(TimelineTest, TheHeightOfTheKlBarIsProportional) {
  auto low = std::make_shared<StepRecord>(*snapshot.lanes[3].steps[4]), high = std::make_shared<StepRecord>(*snapshot.lanes[3].steps[5]);
  low->kl = 10;
  high->kl = 20;
  snapshot.lanes[3].steps[4] = low;
  snapshot.lanes[3].steps[5] = high;
  canvas.draw(view);
  const Mark *a = find_mark(view, "kl", "step 4"), *b = find_mark(view, "kl", "step 5");
  EXPECT_NEAR((b->max.y - b->min.y) / (a->max.y - a->min.y), 2, 0.1);
}

TEST_F(TimelineTest, EveryStepHasItsNumbersInItsColumn) {
  for (std::size_t i = 0; i < snapshot.lanes[3].steps.size(); ++i) {
    auto step = std::make_shared<StepRecord>(*snapshot.lanes[3].steps[i]);
    const double kl[] = {0, 0.0602, 0.00799, 0.000662, 3.72, 2.3e-7};
    step->kl = kl[i % std::size(kl)];
    snapshot.lanes[3].steps[i] = step;
  }
  for (const float width : {630.0f, 700.0f, 828.0f, 1400.0f}) {
    canvas.frame.size.x = width;
    canvas.draw(view);
    ASSERT_EQ(count_marks(view, "kl number"), 13) << width;
    for (const Mark& number : view.marks()) {
      if (number.kind != "kl number") continue;
      const Mark* column = find_mark(view, "column", number.label);
      EXPECT_GE(number.min.x, column->min.x) << width << ' ' << number.label << ' ' << number.value;
      EXPECT_LE(number.max.x, column->max.x) << width << ' ' << number.label << ' ' << number.value;
      EXPECT_GE(number.min.y, column->min.y);
    }
    EXPECT_EQ(find_mark(view, "kl number", "step 0")->value, "0");
    EXPECT_NE(find_mark(view, "kl number", "step 3")->value, "0") << "less than can be written is not nothing";
  }
  EXPECT_EQ(find_mark(view, "kl number", "step 1")->value, "0.0602");
  canvas.frame.size.x = 640;
  canvas.draw(view);
  EXPECT_EQ(find_mark(view, "kl number", "step 3")->value, "<.001");
  EXPECT_EQ(find_mark(view, "kl number", "step 1")->value, ".0602") << "all in one form";
}

TEST_F(TimelineTest, TheNewTokenIsSeenInEveryStepAfterThePrompt) {
  for (const ImVec2 size : {ImVec2(828, 174), ImVec2(640, 120)}) {
    canvas.frame.size = size;
    const ImDrawData* data = canvas.draw(view);
    const Rgb white = canvas.frame.theme->category[static_cast<std::size_t>(Category::fresh)];
    const ImU32 wanted = IM_COL32(white.value >> 16, (white.value >> 8) & 0xFF, white.value & 0xFF, 255);
    for (int s = 1; s < 13; ++s) {
      const Mark* column = find_mark(view, "column", "step " + std::to_string(s));
      float top = 1e9f, bottom = -1e9f;
      for (int list = 0; list < data->CmdListsCount; ++list)
        for (const ImDrawVert& v : data->CmdLists[list]->VtxBuffer) {
          if (v.col != wanted || v.pos.x < column->min.x || v.pos.x > column->max.x ||
              v.pos.y > find_mark(view, "kl number", column->label)->min.y - 25)
            continue;
          top = std::min(top, v.pos.y), bottom = std::max(bottom, v.pos.y);
        }
      EXPECT_GE(bottom - top, 2) << "step " << s << " at " << size.y;
    }
  }
}

TEST_F(TimelineTest, ALowPanelGivesUpRowsBeforeTheyStandOnEachOther) {
  for (const float height : {60.0f, 84.0f, 110.0f, 150.0f, 220.0f}) {
    canvas.frame.size.y = height;
    canvas.draw(view);
    const Mark* column = find_mark(view, "column", "step 1");
    const Mark* kl = find_mark(view, "kl", "step 1");
    ASSERT_NE(column, nullptr) << height;
    ASSERT_NE(kl, nullptr) << height;
    EXPECT_GE(kl->max.y, kl->min.y) << height;
    EXPECT_LE(column->max.y, height) << height;
    EXPECT_FALSE(column->value.empty()) << "the numbers are still said where one points";
    if (height < 100) {
      EXPECT_EQ(find_mark(view, "legend", "top choice differs from the reference"), nullptr) << height;
    }
  }
}

TEST_F(TimelineTest, ALowPanelHasItsLegendOrSaysWhereTheColoursAreExplained) {
  for (const float height : {100.0f, 118.0f, 174.0f}) {
    canvas.frame.size.y = height;
    canvas.draw(view);
    const Mark* legend = find_mark(view, "legend", "evicted");
    EXPECT_EQ(legend != nullptr, height > 110) << height;
    EXPECT_EQ(view.facts(canvas.frame).find("colours as in the atlas") == std::string::npos, legend != nullptr) << height;
    if (legend == nullptr) continue;
    EXPECT_LE(legend->max.y, height);
    EXPECT_GE(legend->min.y, find_mark(view, "column", "step 1")->max.y - 3) << height;
  }
}

TEST_F(TimelineTest, ClickingAColumnSetsTheStepAndTheLatestFollows) {
  canvas.draw(view);
  canvas.click(view, centre(*find_mark(view, "column", "step 7")));
  ASSERT_NE(canvas.last<SetStep>(), nullptr);
  EXPECT_EQ(canvas.last<SetStep>()->step, 7);
  canvas.click(view, centre(*find_mark(view, "column", "step 12")));
  EXPECT_FALSE(canvas.last<SetStep>()->step.has_value());
}

TEST_F(TimelineTest, DraggingScrubs) {
  canvas.draw(view);
  canvas.drag(view, centre(*find_mark(view, "column", "step 2")), centre(*find_mark(view, "column", "step 9")));
  int n = 0;
  for (const Intent& i : canvas.intents) n += std::holds_alternative<SetStep>(i);
  EXPECT_GE(n, 4);
  EXPECT_EQ(canvas.last<SetStep>()->step, 9);
}

TEST_F(TimelineTest, KeysStepByOneAndTen) {
  canvas.frame.selection.step = 5;
  const auto press = [&](const char* key) {
    EXPECT_TRUE(view.key(canvas.frame, key, canvas.intents));
    canvas.apply();
    return canvas.frame.selection.step;
  };
  EXPECT_EQ(press("Left"), 4);
  EXPECT_EQ(press("Right"), 5);
  EXPECT_EQ(press("Shift+Left"), 0);
  EXPECT_EQ(press("Shift+Right"), 10);
  EXPECT_EQ(press("Home"), 0);
  EXPECT_EQ(press("End"), std::nullopt);
  EXPECT_EQ(press("Left"), 11);
  EXPECT_FALSE(view.key(canvas.frame, "Up", canvas.intents));
}

TEST_F(TimelineTest, TheTooltipHasKlTopChoiceAndWhatWasRemoved) {
  canvas.draw(view);
  canvas.move(view, centre(*find_mark(view, "column", "step 3")));
  const HoverAt* hover = canvas.last<HoverAt>();
  ASSERT_NE(hover, nullptr);
  EXPECT_EQ(hover->hover.step, 3);
  EXPECT_EQ(hover->tooltip.at(0).rfind("step 3 · reads token 169", 0), 0u);
  EXPECT_EQ(hover->tooltip.at(1), "KL(full ‖ this run) " + format_number(snapshot.lanes[3].steps[3]->kl) + " nats");
  EXPECT_EQ(hover->tooltip.at(4), "slots 42 of 42 asked, mean of heads");
  canvas.intents.clear();
  canvas.draw(view);
  EXPECT_EQ(canvas.last<HoverAt>(), nullptr) << "nothing has changed";
  canvas.frame.selection.lane = 2;  // the mouse stays, the run does not
  canvas.draw(view);
  hover = canvas.last<HoverAt>();
  ASSERT_NE(hover, nullptr);
  EXPECT_EQ(hover->tooltip.at(1), "KL(full ‖ this run) " + format_number(snapshot.lanes[2].steps[3]->kl) + " nats");
}

TEST_F(TimelineTest, AKlThatWasNotMeasuredIsNotAvailable) {
  auto copy = std::make_shared<StepRecord>(*snapshot.lanes[3].steps[4]);
  copy->kl = kNotAvailable;
  snapshot.lanes[3].steps[4] = copy;
  canvas.draw(view);
  EXPECT_EQ(find_mark(view, "kl", "step 4")->value, "n/a");
}

TEST(TimelineBands, ManyStepsShareTheTokenAxisOfTheAtlas) {
  const Snapshot snapshot = streamed();
  Headless canvas(snapshot, {828, 174});
  canvas.frame.selection.lane = 3;
  canvas.frame.selection.step = 168;
  Timeline view;
  canvas.draw(view);
  EXPECT_EQ(count_marks(view, "column"), 0);
  EXPECT_EQ(count_marks(view, "slots"), 179);
  const Mark* m = find_mark(view, "slots", "step 25");
  EXPECT_FLOAT_EQ(m->min.x, 84 + 4 * 25);
  EXPECT_EQ(m->value, "26.0000");  // all kept so far
  EXPECT_EQ(find_mark(view, "slots", "step 100")->value, "42.0000");
  EXPECT_NE(find_mark(view, "budget", "budget 42"), nullptr);
  for (const float height : {110.0f, 400.0f}) {
    canvas.frame.size.y = height;
    canvas.draw(view);
    EXPECT_NE(find_mark(view, "budget", "budget 42"), nullptr);
    EXPECT_EQ(count_marks(view, "budget plate"), height > 200 ? 1 : 0) << "in a low area it would cover the slots";
  }
  canvas.frame.size.y = 174;
  canvas.draw(view);
  EXPECT_NEAR(find_mark(view, "current step", "step 168")->min.x, 84 + 4 * 168 + 2, 1);
  int changed = 0;
  for (const auto& s : snapshot.lanes[3].steps) changed += !s->top1_same;
  EXPECT_EQ(count_marks(view, "changed"), changed);
  canvas.click(view, {84 + 4 * 77 + 2, 40});
  EXPECT_EQ(canvas.last<SetStep>()->step, 77);
}

TEST(TimelineBands, MoreStepsThanPixelsKeepEveryChangedColumn) {
  Snapshot snapshot = streamed(1200);
  int changed = 0;
  for (auto& s : snapshot.lanes[3].steps) {
    auto copy = std::make_shared<StepRecord>(*s);
    copy->top1_same = copy->step % 100 != 50;
    changed += !copy->top1_same;
    s = copy;
  }
  Headless canvas(snapshot, {500, 174});
  canvas.frame.selection.lane = 3;
  Timeline view;
  const ImDrawData* data = canvas.draw(view);
  EXPECT_EQ(count_marks(view, "changed"), changed);
  EXPECT_LE(view.marks().size(), 5000u);
  EXPECT_LE(data->TotalVtxCount, 4 * 5000);
}

TEST(TimelineEmpty, NoStepsAndTinyPanelsAreHarmless) {
  Snapshot snapshot;
  Headless canvas(snapshot, {828, 174});
  Timeline view;
  canvas.draw(view);
  EXPECT_NE(find_mark(view, "empty", "No steps yet"), nullptr);
  EXPECT_FALSE(view.key(canvas.frame, "Left", canvas.intents));
  EXPECT_EQ(view.cursor_text(canvas.frame), "no steps");
  snapshot = synthetic::make_snapshot();
  ++snapshot.sequence;
  for (ImVec2 size : {ImVec2(1, 1), ImVec2(90, 30), ImVec2(300, 60), ImVec2(2500, 900)}) {
    canvas.frame.size = size;
    canvas.draw(view);
    canvas.click(view, {size.x - 20, size.y / 3});
  }
}

}  // namespace
}  // namespace kvscope::viz
