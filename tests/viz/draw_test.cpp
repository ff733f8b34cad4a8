// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "viz/draw/format.h"
#include "viz/headless.h"

namespace kvscope::viz {
namespace {

using namespace testing;

/// A view that runs one piece of drawing code.
class Scratch : public View {
 public:
  explicit Scratch(std::function<void(Painter&)> body) : body_(std::move(body)) {}
  const char* id() const override { return "scratch"; }
  const char* title() const override { return "Scratch"; }
  std::string facts(const Frame&) const override { return {}; }
  void draw(const Frame& frame, std::vector<Intent>&) override {
    Painter p(frame, marks_);
    body_(p);
    p.finish();
  }
  bool key(const Frame&, std::string_view, std::vector<Intent>&) override { return false; }
  std::string cursor_text(const Frame&) const override { return {}; }
  Table table(const Frame&) const override { return {}; }
  const std::vector<Mark>& marks() const override { return marks_; }

 private:
  std::function<void(Painter&)> body_;
  std::vector<Mark> marks_;
};

const ImDrawData* run(Headless& canvas, std::function<void(Painter&)> body) {
  Scratch view(std::move(body));
  return canvas.draw(view);
}

TEST(Rect, CutsLeaveTheRest) {
  Rect r{0, 0, 100, 50};
  EXPECT_FLOAT_EQ(r.cut_top(10).height(), 10);
  EXPECT_FLOAT_EQ(r.cut_right(30).x0, 70);
  EXPECT_FLOAT_EQ(r.width(), 70);
  EXPECT_FLOAT_EQ(r.height(), 40);
  EXPECT_FLOAT_EQ(r.cut_bottom(999).height(), 40);  // never more than there is
  EXPECT_FLOAT_EQ(r.height(), 0);
}

TEST(Painter, ElidesInTheMiddleAndNeverBeyondTheWidth) {
  const Snapshot snapshot;
  Headless canvas(snapshot);
  run(canvas, [](Painter& p) {
    const std::string text = "a rather long label that does not fit";
    EXPECT_EQ(p.elide(text, Face::body, 1000), text);
    const std::string cut = p.elide(text, Face::body, 90);
    EXPECT_LE(p.width_of(Face::body, cut), 90);
    EXPECT_GT(p.width_of(Face::body, cut), 70);
    EXPECT_EQ(cut.front(), 'a');
    EXPECT_EQ(cut.back(), 't');
    EXPECT_NE(cut.find("…"), std::string::npos);
    EXPECT_EQ(p.elide(text, Face::body, 1), "");
  });
}

TEST(Painter, DigitsHaveTheSameWidthInEverySizeOfRaster) {
  const Snapshot snapshot;
  Headless normal(snapshot), lecture(snapshot, {828, 406}, true, 1.6f);
  float one = 0, big = 0;
  run(normal, [&](Painter& p) { one = p.width_of(Face::mono, "0000000000"); });
  run(lecture, [&](Painter& p) { big = p.width_of(Face::mono, "0000000000"); });
  EXPECT_NEAR(one, 72, 4);  // ten digits of 0.6 em, 12 px
  EXPECT_NEAR(big, 1.6f * 72, 6);
}

TEST(Painter, ThinSpacesTakeAFifthOfAnEm) {
  const Snapshot snapshot;
  Headless canvas(snapshot);
  run(canvas, [](Painter& p) { EXPECT_NEAR(p.width_of(Face::caption, "4\u2009056") - p.width_of(Face::caption, "4056"), 0.2 * 11, 0.01); });
}

/// Records what was asked for.
class SpyText : public TextPainter {
 public:
  explicit SpyText(ImTextureID texture) : texture_(texture) {}
  Sprite sprite(std::string_view utf8, float px, bool, bool vertical) override {
    asked.emplace_back(utf8);
    return {texture_, vertical ? ImVec2(px, 30) : ImVec2(30, px), {0, 0}, {1, 1}};
  }
  std::vector<std::string> asked;

 private:
  ImTextureID texture_;
};

TEST(Painter, OnlyCharactersTheFontLacksGoToTheTextPainter) {
  const Snapshot snapshot;
  Headless canvas(snapshot);
  SpyText text(canvas.textures.texture("white", 1, 1, 1, std::vector<std::uint32_t>{0xFFFFFFFFu}));
  canvas.frame.text = &text;
  run(canvas, [](Painter& p) {
    p.text({10, 10}, "plain ASCII 123", Face::body, p.theme().text);
    p.text({10, 30}, "a日本🙂b", Face::body, p.theme().text);
  });
  ASSERT_FALSE(text.asked.empty());
  for (const std::string& s : text.asked) EXPECT_EQ(s, "日本🙂");
}

TEST(Painter, TokenTextAlwaysGoesToTheTextPainter) {
  const Snapshot snapshot;
  Headless canvas(snapshot);
  SpyText text(canvas.textures.texture("white", 1, 1, 1, std::vector<std::uint32_t>{0xFFFFFFFFu}));
  canvas.frame.text = &text;
  run(canvas, [](Painter& p) {
    EXPECT_FLOAT_EQ(p.token({10, 10}, "·be", 12, p.theme().text).x, 30);
    EXPECT_FLOAT_EQ(p.token({10, 10}, "·be", 12, p.theme().text, false, true).y, 30);
  });
  EXPECT_EQ(text.asked, (std::vector<std::string>{"·be", "·be"}));
}

TEST(Painter, AnOutdatedPictureIsDimmed) {
  const Snapshot snapshot;
  Headless canvas(snapshot);
  const int plain = run(canvas, [](Painter&) {})->TotalVtxCount;
  canvas.frame.dim = 0.2;
  EXPECT_EQ(run(canvas, [](Painter&) {})->TotalVtxCount, plain + 4);
}

TEST(Painter, InkContrastsWithEveryFill) {
  for (const Theme* t : {&dark_theme(), &light_theme()}) {
    EXPECT_EQ(ink_on({0xFFFFFF}, *t).value, t->dark ? t->window.value : t->text.value);
    EXPECT_EQ(ink_on({0x000000}, *t).value, t->dark ? t->text.value : t->window.value);
  }
}

TEST(TokenAxis, UsesWholePixelsWhileThreeFit) {
  const Snapshot snapshot;
  Headless canvas(snapshot);
  run(canvas, [](Painter& p) {
    EXPECT_FLOAT_EQ(make_token_axis(p, {}, 179).px, 4);  // 732 px / 179 = 4.09
    EXPECT_FLOAT_EQ(make_token_axis(p, {}, 10).px, 14);  // a short text does not become poster cells
    EXPECT_NEAR(make_token_axis(p, {}, 1000).px, 0.732, 1e-4);
    const TokenAxis zoomed = make_token_axis(p, {50, 20}, 179);
    EXPECT_FLOAT_EQ(zoomed.px, 36);
    EXPECT_EQ(zoomed.first_visible(), 50);
    EXPECT_EQ(zoomed.index_at(zoomed.x_of(57) + 1), 57);
    EXPECT_EQ(zoomed.index_at(zoomed.x0 - 1), -1);
  });
}

TEST(TokenAxis, TicksLieApartOnRoundTokens) {
  TokenAxis axis{84, 816, 4, 0, 179};
  EXPECT_EQ(token_ticks(axis), (std::vector<int>{0, 25, 50, 75, 100, 125, 150, 175}));
  axis.px = 732.0f / 32768;
  axis.n_tokens = 32768;
  EXPECT_EQ(token_ticks(axis), (std::vector<int>{0, 5000, 10000, 15000, 20000, 25000, 30000}));
  EXPECT_TRUE(token_ticks(TokenAxis{84, 816, 4, 0, 0}).empty());
}

TEST(Ticks, AreRoundAndCoverTheRange) {
  EXPECT_EQ(nice_ticks(0, 10, 6), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  const auto ticks = nice_ticks(-0.03, 0.1, 5);
  ASSERT_EQ(ticks.size(), 3u);  // step 0.05
  EXPECT_NEAR(ticks[0], 0, 1e-12);
  EXPECT_NEAR(ticks[2], 0.1, 1e-12);
  EXPECT_TRUE(nice_ticks(1, 1, 5).empty());
  EXPECT_TRUE(nice_ticks(0, std::nan(""), 5).empty());
}

TEST(Scale, TwoDecadesAskForARoot) {
  EXPECT_TRUE(spans_two_decades(0.00144, 729));
  EXPECT_FALSE(spans_two_decades(8, 729));
  EXPECT_FALSE(spans_two_decades(0, 729));
}

TEST(RunDash, SixRunsHaveSixPatterns) {
  EXPECT_TRUE(run_dash(0).empty());
  for (int i = 1; i < 6; ++i) {
    for (int k = 1; k < i; ++k) EXPECT_NE(run_dash(i).data(), run_dash(k).data());
  }
  EXPECT_EQ(run_dash(7).data(), run_dash(1).data());
}

}  // namespace
}  // namespace kvscope::viz
