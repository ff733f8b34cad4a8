// SPDX-License-Identifier: Apache-2.0
// Many runs, many heads, long texts; view modes, zoom and sorting.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snapshot/synthetic.h"
#include "viz/compare_fixture.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/views/compare/compare_metrics.h"
#include "viz/views/compare/compare_strips.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using synthetic::LaneKind;
using ::testing::HasSubstr;
using ::testing::Not;

/// The full cache and runs of two policies in turns, n in all.
Snapshot with_runs(int n) {
  synthetic::Shape shape;
  shape.lanes = {LaneKind::full};
  for (int i = 1; i < n; ++i) shape.lanes.push_back(i % 2 == 1 ? LaneKind::heavy : LaneKind::merging);
  return synthetic::make_snapshot(shape);
}

TEST_F(CompareTest, TwelveRunsAllFitWithNameAndNumbers) {
  const Snapshot many = with_runs(12);
  canvas.frame.snapshot = &many;
  for (const float height : {870.0f, 600.0f, 420.0f}) {
    canvas.frame.size = {1550, height};
    canvas.draw(*view);
    EXPECT_EQ(count_marks(*view, "lane"), 12) << height;
    EXPECT_EQ(count_marks(*view, "note"), 0) << height;
    EXPECT_LE(view->marks().size(), 5000u);
    float end = 0;
    for (const Mark& m : view->marks()) {
      if (m.kind != "lane") continue;
      EXPECT_GE(m.min.y, end - 0.5f);
      end = m.max.y;
    }
    EXPECT_LE(end, height - 29);
  }
}

TEST_F(CompareTest, LowRowsTellRunsOfOnePolicyApart) {
  Snapshot many = with_runs(29);
  for (std::size_t i = 1; i < many.lanes.size(); ++i) many.lanes[i].slots_asked = 10 + static_cast<int>(i);
  canvas.frame.snapshot = &many;
  canvas.frame.size = {1550, 600};
  canvas.draw(*view);
  EXPECT_EQ(mark("telling", "lane 5").value, "15 slots");
  EXPECT_EQ(mark("telling", "lane 7").value, "17 slots");
  EXPECT_LE(mark("telling", "lane 5").max.x, mark("strip", "lane 5").min.x);
}

TEST_F(CompareTest, ALongFormulaIsCutWhereItIsThatOfOtherRuns) {
  Snapshot many = with_runs(29);
  for (std::size_t i = 1; i < many.lanes.size(); ++i)
    many.lanes[i].params = {{"score", fmt::format("exp(ema)*vnorm*votes+log(1+age)+{}*mean*last+similarity+position", i)}};
  canvas.frame.snapshot = &many;
  canvas.frame.size = {1550, 600};
  canvas.draw(*view);
  for (const int lane : {15, 17}) {  // after "1" they differ, and from the first "1" other runs do
    const std::string value = mark("telling", fmt::format("lane {}", lane)).value;
    EXPECT_THAT(value, AllOf(HasSubstr(fmt::format("…{}", lane)), Not(HasSubstr("exp(ema)"))));
  }
}

TEST_F(CompareTest, PairwiseTheDifferenceIsThereHoweverManyRunsOrItIsSaid) {
  const Snapshot many = with_runs(29);
  canvas.frame.snapshot = &many;
  canvas.frame.selection.lane = 2;
  view->choose(0, 2);
  canvas.frame.size = {1550, 840};
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "lane"), 29);
  EXPECT_EQ(count_marks(*view, "difference"), 4);
  EXPECT_EQ(count_marks(*view, "difference hidden"), 0);
  float last = 0;  // answers of one run do not lie on those of the next
  for (int lane = 0; lane < 29; ++lane) {
    float top = 1e9f, bottom = 0;
    for (const Mark& m : view->marks()) {
      if (!m.kind.starts_with("answer") || !m.label.starts_with("lane " + std::to_string(lane) + " ")) continue;
      top = std::min(top, m.min.y);
      bottom = std::max(bottom, m.max.y);
    }
    EXPECT_GE(top, last) << lane;
    last = std::max(last, bottom);
  }
  EXPECT_GT(last, 0);
  view->choose(0, 0);
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "difference"), 0);
  EXPECT_EQ(mark("difference hidden", "no room for the difference: view pairwise").kind, "difference hidden") << "it does not go silently";
  for (const float width : {960.0f, 1280.0f}) {  // a header has no room for it there
    canvas.frame.size = {width, 440};
    canvas.draw(*view);
    EXPECT_EQ(count_marks(*view, "difference hidden"), 1) << width;
  }
  EXPECT_EQ(view->options()[0].current, 0);
  const Mark& offer = mark("difference hidden", "no room for the difference: view pairwise");
  canvas.click(*view, {(offer.min.x + offer.max.x) / 2, (offer.min.y + offer.max.y) / 2});
  EXPECT_EQ(view->options()[0].current, 2) << "the words are what they look like";
  canvas.frame.size = {1550, 420};
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "difference"), 0);
  EXPECT_EQ(count_marks(*view, "difference hidden"), 1);
}

TEST_F(CompareTest, ManyHeadsBecomeRowsOfLayersWithTheKeptShare) {
  synthetic::Shape shape;
  shape.n_layers = shape.n_kv_heads = shape.n_heads = 32;
  shape.n_generated = 2;
  const Snapshot large = synthetic::make_snapshot(shape);
  canvas.frame.snapshot = &large;
  canvas.draw(*view);
  EXPECT_EQ(mark("strip", "lane 3").value, "kept fraction");
  const auto* image = canvas.textures.find("compare.3");
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(image->height, 32);
  EXPECT_EQ(image->rgba[0], colour(dark_theme().sequential.back()));  // a sink: kept in every head
  EXPECT_LE(view->marks().size(), 5000u);
}

TEST_F(CompareTest, HugeTextsStayWithinPixels) {
  const Snapshot huge = synthetic::make_huge_snapshot(4, 4, 32768);
  canvas.frame.snapshot = &huge;
  canvas.frame.selection = Selection{};
  canvas.frame.selection.lane = 1;
  canvas.draw(*view);
  const auto* image = canvas.textures.find("compare.1");
  ASSERT_NE(image, nullptr);
  EXPECT_LE(image->width, 1550);
  EXPECT_LE(canvas.textures.find("compare.difference")->width, 1550);
}

TEST_F(CompareTest, ZoomIsSharedByAllStripsAndTheDifference) {
  canvas.draw(*view);
  const Mark strip = mark("strip", "lane 2");
  const ImVec2 p{strip.min.x + 300, (strip.min.y + strip.max.y) / 2};
  const auto under = [&] {
    canvas.move(*view, {p.x + 1, p.y});
    canvas.move(*view, p);
    return *canvas.last<HoverAt>()->hover.token;
  };
  for (int i = 0; i < 2; ++i) canvas.wheel(*view, p, 1);  // while nearly all tokens show, the end of the text stays at the edge
  const int before = under();
  for (int i = 0; i < 4; ++i) canvas.wheel(*view, p, 1);
  canvas.draw(*view);
  EXPECT_NEAR(under(), before, 1);
  for (int lane = 1; lane < 4; ++lane) {
    const auto* image = canvas.textures.find("compare." + std::to_string(lane));
    EXPECT_LT(image->width, 100);
    EXPECT_EQ(image->width, canvas.textures.find("compare.1")->width);
  }
  EXPECT_EQ(canvas.textures.find("compare.difference")->width, canvas.textures.find("compare.1")->width);
  const auto* image = canvas.textures.find("compare.2");  // the texels are those of the tokens in the window
  EXPECT_TRUE(view->key(canvas.frame, "0", canvas.intents));
  canvas.draw(*view);
  EXPECT_EQ(image->width, 169);
}

TEST_F(CompareTest, TheHeaderSortsTheRuns) {
  const auto rows = [&] {
    canvas.draw(*view);
    std::vector<std::string> names;
    for (const Mark& m : view->marks()) {
      if (m.kind == "lane") names.push_back(m.value);
    }
    return names;
  };
  const auto as_added = rows();
  canvas.click(*view, centre(mark("column", "KL, nats")));
  auto expected = std::vector<int>{1, 2, 3};
  const auto kl = [&](int lane) { return snapshot.lanes[static_cast<std::size_t>(lane)].steps[2]->kl; };
  std::stable_sort(expected.begin(), expected.end(), [&](int a, int b) { return kl(a) < kl(b); });
  const auto sorted = rows();
  EXPECT_EQ(sorted[0], as_added[0]) << "the reference stays on top";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(sorted[i + 1], as_added[static_cast<std::size_t>(expected[i])]);
  EXPECT_EQ(view->table(canvas.frame).rows[1][0], sorted[1]) << "table and picture agree";
  canvas.click(*view, centre(mark("column", "KL, nats")));
  EXPECT_EQ(rows()[1], sorted[3]);
  canvas.click(*view, centre(mark("column", "KL, nats")));
  EXPECT_EQ(rows(), as_added);
  view->choose(1, 1);
  EXPECT_EQ(rows(), sorted);
  EXPECT_EQ(view->options()[1].current, 1);
}

TEST_F(CompareTest, AgainstTheReferenceEveryStripShowsFourStates) {
  view->choose(0, 1);
  canvas.draw(*view);
  EXPECT_EQ(mark("strip", "lane 3").value, "difference");
  for (const char* state : {"only in A, the reference", "only in this run", "in both", "in neither"}) mark("legend", state);
  const auto* image = canvas.textures.find("compare.vs.3");
  ASSERT_NE(image, nullptr);
  ASSERT_EQ(image->width, 169);
  for (int h : {0, 11, 23}) {
    for (int t = 0; t < 169; ++t) {
      const bool own = slot_of(*snapshot.lanes[3].fates, *snapshot.lanes[3].steps[2], h, t) >= 0;
      ASSERT_EQ(image->rgba[static_cast<std::size_t>(h * 169 + t)],
                colour(difference_fill(dark_theme(), own ? Difference::both : Difference::only_a)));
    }
  }
}

TEST_F(CompareTest, PairwiseGivesTheRoomToTwoRunsOfOnesChoice) {
  canvas.draw(*view);
  const Mark before = mark("difference.strip", "C H2O | D KeepKV");
  view->choose(0, 2);
  canvas.draw(*view);
  const Mark large = mark("difference.strip", "C H2O | D KeepKV");
  EXPECT_GT(large.max.y - large.min.y, 1.3f * (before.max.y - before.min.y));
  EXPECT_EQ(count_marks(*view, "lane"), 4);
  // A click on a name lists the runs, and what is chosen there is the run: one click, however far it is.
  const auto choose = [&](const char* button, std::string_view run) {
    canvas.click(*view, centre(mark("button", button)));
    const auto* list = canvas.last<OfferList>();
    ASSERT_NE(list, nullptr);
    ASSERT_EQ(list->choices.size(), 4u);
    const auto choice = std::ranges::find(list->choices, run, &OfferList::Choice::words);
    ASSERT_NE(choice, list->choices.end());
    EXPECT_TRUE(view->key(canvas.frame, std::string(choice->key), canvas.intents));
    canvas.draw(*view);
  };
  choose("first run", "A Full cache");
  EXPECT_NE(find_mark(*view, "difference.strip", "A Full cache | D KeepKV"), nullptr);
  choose("second run", "B Streaming");
  ASSERT_NE(canvas.last<Select>(), nullptr);
  canvas.apply();
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "difference.strip", "A Full cache | B Streaming"), nullptr);
  choose("first run", "B Streaming");  // which is the other one
  EXPECT_NE(find_mark(*view, "difference.strip", "B Streaming | A Full cache"), nullptr);
}

TEST_F(CompareTest, BinsOfAHugeTextAreCountedExactly) {
  const Snapshot huge = synthetic::make_huge_snapshot(4, 4, 20000, 3);
  canvas.frame.snapshot = &huge;
  canvas.frame.selection = Selection{};
  canvas.frame.selection.lane = 1;
  canvas.draw(*view);
  const Mark strip = mark("strip", "lane 1");
  canvas.move(*view, {strip.min.x + 200, strip.min.y + 1});
  const auto& lines = canvas.last<HoverAt>()->tooltip;
  ASSERT_GE(lines.size(), 2u);
  const auto* image = canvas.textures.find("compare.1");
  const int bin = 64;  // about 0.04 px a token
  int n = 0;
  const int token = *canvas.last<HoverAt>()->hover.token, from = token / bin * bin;
  for (int h = 0; h < 4; ++h) {
    for (int t = from; t < from + bin; ++t) n += slot_of(*huge.lanes[1].fates, *huge.lanes[1].steps[3], h, t) >= 0;
  }
  EXPECT_THAT(lines[1], HasSubstr(format_count(n) + " of " + format_count(4 * bin))) << "token " << token;
  EXPECT_EQ(image->rgba[static_cast<std::size_t>(token / bin)],
            colour(ramp(dark_theme().sequential, static_cast<double>(static_cast<float>(n) / (4 * bin)))));
}

}  // namespace
}  // namespace kvscope::viz
