// SPDX-License-Identifier: Apache-2.0
// The atlas where a token has less than three pixels: bins, ticks, minimap, zooming in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "snapshot/synthetic.h"
#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;

class AtlasLodTest : public ::testing::Test {
 protected:
  AtlasLodTest() { canvas.frame.selection.lane = 3; }

  const LaneSnapshot& lane() const { return snapshot.lanes[3]; }

  Snapshot snapshot = synthetic::make_snapshot();
  std::shared_ptr<TokenWindow> window = std::make_shared<TokenWindow>();
  std::unique_ptr<View> view = make_atlas(window);
  Headless canvas{snapshot};
};

TEST_F(AtlasLodTest, APixelATokenShowsCategoriesAndLessShowsFractions) {
  canvas.frame.size.x = 84 + 12 + 179;
  canvas.draw(*view);
  EXPECT_EQ(view->marks().end(), std::find_if(view->marks().begin(), view->marks().end(),
                                              [](const Mark& m) { return m.kind == "row" && m.value != "category"; }));
  canvas.frame.size.x -= 1;
  canvas.draw(*view);
  const auto* image = canvas.textures.find("atlas.cells");
  EXPECT_EQ(find_mark(*view, "row", "L0 H0")->value, "represented");
  const std::set<std::uint32_t> mixed(image->rgba.begin(), image->rgba.end());
  for (Category c : {Category::sink, Category::merged, Category::recent, Category::kept}) {
    EXPECT_EQ(mixed.count(colour(cell_fill(dark_theme(), c))), 0u) << "a category colour among fractions";
  }
  EXPECT_EQ(find_mark(*view, "legend", "sink"), nullptr);
}

TEST_F(AtlasLodTest, FractionsEqualACountByHand) {
  canvas.frame.size.x = 84 + 12 + 150;  // 0.8 px a token: bins of four
  canvas.frame.selection.step = 2;
  canvas.draw(*view);
  const auto* image = canvas.textures.find("atlas.cells");
  ASSERT_EQ(image->width, 45);
  for (int h : {0, 7, 23}) {
    for (int b = 0; b < 42; ++b) {
      int n = 0;
      for (int t = 4 * b; t < 4 * b + 4; ++t) n += slot_of(*lane().fates, *lane().steps[2], h, t) >= 0;
      ASSERT_EQ(image->rgba[static_cast<std::size_t>(h * 45 + b)], colour(ramp(dark_theme().sequential, n / 4.0))) << h << " " << b;
    }
  }
}

TEST_F(AtlasLodTest, TheTooltipOfABinHoldsItsExactNumbers) {
  canvas.frame.size.x = 84 + 12 + 150;  // bins of four
  canvas.frame.selection.step = 2;
  canvas.draw(*view);
  const HeadRecord& head = lane().steps[2]->heads[9];  // L2 H1
  const Mark* row = find_mark(*view, "row", "L2 H1");
  ASSERT_NE(row, nullptr);
  for (int b = 10; b < 42; ++b) {
    int n = 0;
    double least = 1e9, most = -1e9, sum = 0;
    for (std::size_t i = 0; i < head.pos.size(); ++i) {
      if (head.pos[i] / 4 != b || std::isnan(head.score[i])) continue;
      least = std::min(least, head.score[i]);
      most = std::max(most, head.score[i]);
      sum += head.score[i];
      ++n;
    }
    if (n != 2) continue;
    canvas.move(*view, {84 + 150.0f / 179 * (4.0f * static_cast<float>(b) + 2), (row->min.y + row->max.y) / 2});
    ASSERT_NE(canvas.last<HoverAt>(), nullptr);
    const auto& lines = canvas.last<HoverAt>()->tooltip;
    EXPECT_LE(lines.size(), 12u);
    const std::string expected =
        "score of 2 ranked slots: min " + format_number(least) + " · mean " + format_number(sum / n) + " · max " + format_number(most);
    EXPECT_NE(std::find(lines.begin(), lines.end(), expected), lines.end()) << expected;
    return;
  }
  FAIL() << "the example has no bin with two ranked slots";
}

TEST_F(AtlasLodTest, WhatIsRareIsDrawnThreePixelsWideAndCounted) {
  canvas.frame.size.x = 84 + 12 + 150;
  std::multiset<int> left;
  for (const HeadRecord& h : lane().steps.back()->heads) {
    for (const Event& e : h.events) left.insert(e.pos);
  }
  LaneSnapshot& changed = snapshot.lanes[static_cast<std::size_t>(canvas.frame.selection.lane)];
  auto step = std::make_shared<StepRecord>(*changed.steps.back());
  step->heads[0].events.push_back({.kind = Event::Kind::restore, .pos = 50, .by_hand = true});  // it came back: it did not leave
  changed.steps.back() = step;
  canvas.draw(*view);
  ASSERT_FALSE(left.empty());
  int counted = 0;
  for (const Mark& m : view->marks()) {
    if (m.kind != "removed" && m.kind != "sink" && m.kind != "new") continue;
    EXPECT_FLOAT_EQ(m.max.x - m.min.x, 3);
    if (m.kind == "removed") counted += std::stoi(m.value);
  }
  EXPECT_EQ(counted, static_cast<int>(left.size())) << "an event vanished in a bin";
  EXPECT_GE(count_marks(*view, "sink"), 1);
  EXPECT_EQ(count_marks(*view, "new"), 1);
  canvas.frame.selection.tokens = TokenRange{41, 41};
  canvas.draw(*view);
  const Mark* selected = find_mark(*view, "selected tokens", "tokens 41 to 41");
  ASSERT_NE(selected, nullptr);
  EXPECT_GE(selected->max.x - selected->min.x, 2);
}

TEST_F(AtlasLodTest, EnterZoomsToTheBinThenOpensTheInspector) {
  canvas.frame.size.x = 84 + 12 + 150;  // bins of four
  canvas.draw(*view);
  const Mark* row = find_mark(*view, "row", "L3 H2");
  canvas.move(*view, {84 + 150 * 0.6f, (row->min.y + row->max.y) / 2});
  const int under = *canvas.last<HoverAt>()->hover.token;
  EXPECT_TRUE(view->key(canvas.frame, "Enter", canvas.intents));
  EXPECT_EQ(canvas.last<OpenInspector>(), nullptr);
  canvas.draw(*view);
  EXPECT_LE(window->first, under);
  EXPECT_GT(window->first + window->count, under);
  EXPECT_EQ(find_mark(*view, "row", "L3 H2")->value, "category");
  EXPECT_TRUE(view->key(canvas.frame, "Enter", canvas.intents));
  EXPECT_NE(canvas.last<OpenInspector>(), nullptr);
}

TEST_F(AtlasLodTest, TheMinimapShowsAllTokensAndItsWindowCanBeDragged) {
  canvas.draw(*view);
  const Mark whole = *find_mark(*view, "minimap", "heads");
  EXPECT_NEAR(whole.max.y - whole.min.y, 22, 0.01) << "24 px with its outline";
  const float y = (whole.min.y + whole.max.y) / 2;
  canvas.drag(*view, {84 + 4 * 100, y}, {84 + 4 * 140, y});  // all tokens show: frames a window
  canvas.draw(*view);
  EXPECT_NEAR(window->first, 100, 1);
  EXPECT_NEAR(window->count, 40, 1);
  const Mark* shown = find_mark(*view, "window", "tokens shown");
  const float from = shown->min.x + 20;
  canvas.drag(*view, {from, y}, {from - 200, y});  // taken by any of its points, it does not jump
  canvas.draw(*view);
  EXPECT_NEAR(window->first, 50, 1.5);
  EXPECT_NEAR(window->count, 40, 1);
  EXPECT_FLOAT_EQ(find_mark(*view, "minimap", "heads")->max.x, whole.max.x) << "the minimap never zooms";
}

TEST(AtlasAtScale, ThirtyTwoByThirtyTwoHeadsOfThirtyTwoThousandTokensStayWithinTheBudget) {
  const Snapshot snapshot = synthetic::make_huge_snapshot(32, 32, 32768);
  Headless canvas(snapshot);
  canvas.frame.selection.lane = 1;
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  const auto viewport = static_cast<std::size_t>(828 * 406);
  const auto check = [&](const ImDrawData* data) {
    EXPECT_LE(view->marks().size(), 5000u);
    EXPECT_LE(data->TotalVtxCount, 4 * 5000);
    const auto* cells = canvas.textures.find("atlas.cells");
    EXPECT_LE(cells->rgba.size() + canvas.textures.find("atlas.heads")->rgba.size(), viewport);
  };
  check(canvas.draw(*view));
  EXPECT_EQ(count_marks(*view, "layer"), 32);
  const int frames = 20;
  for (int i = 0; i < frames; ++i) {
    canvas.wheel(*view, {400, 150}, 1);
    check(canvas.draw(*view));
  }
  for (int i = 0; i < frames; ++i) {
    canvas.hold(/*shift=*/true);
    canvas.wheel(*view, {400, 150}, 1);
    check(canvas.draw(*view));
  }
}

}  // namespace
}  // namespace kvscope::viz
