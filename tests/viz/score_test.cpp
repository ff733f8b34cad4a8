// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "viz/headless.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;

StepRecord two_heads() {
  StepRecord step;
  step.position = 9;
  step.heads.resize(2);
  step.heads[0].pos = {0, 1, 2, 5, 9};
  step.heads[0].score = {kNotAvailable, 1, 3, 7, kNotAvailable};
  step.heads[1].pos = {0, 3};
  step.heads[1].score = {5, 0.5};
  return step;
}

TEST(BinScores, AreOverTheRankedSlotsOfTheBinAndNothingElse) {
  const StepRecord step = two_heads();
  std::vector<float> out(5);
  bin_scores(step, 0, 0, 2, 0, ScoreOf::mean, out);
  EXPECT_FLOAT_EQ(out[0], 1) << "token 0 is protected";
  EXPECT_FLOAT_EQ(out[1], 3);
  EXPECT_FLOAT_EQ(out[2], 7);
  EXPECT_TRUE(std::isnan(out[3])) << "no slot";
  EXPECT_TRUE(std::isnan(out[4])) << "a slot without a score";
  bin_scores(step, 0, 1, 4, 0, ScoreOf::mean, {out.data(), 2});
  EXPECT_FLOAT_EQ(out[0], (1 + 3 + 5 + 0.5f) / 4);
  bin_scores(step, 0, 1, 4, 0, ScoreOf::max, {out.data(), 2});
  EXPECT_FLOAT_EQ(out[0], 5);
  bin_scores(step, 0, 1, 4, 0, ScoreOf::min, {out.data(), 2});
  EXPECT_FLOAT_EQ(out[0], 0.5f);
  bin_scores(step, 0, 0, 2, 2, ScoreOf::min, {out.data(), 1});
  EXPECT_FLOAT_EQ(out[0], 7) << "from the third bin on";
  StepRecord collecting = step;
  collecting.heads[0].residual = {1};
  bin_scores(collecting, 0, 0, 2, 0, ScoreOf::mean, out);
  EXPECT_TRUE(std::isnan(out[0])) << "what collects is not ranked";
}

TEST(ScoreRange, GoesFromTheLowestToTheHighestAndSaysItsScale) {
  StepRecord step = two_heads();
  ScoreRange range = score_range(step);
  EXPECT_EQ(range.n, 5);
  EXPECT_EQ(range.low, 0.5);
  EXPECT_EQ(range.high, 7);
  EXPECT_FALSE(range.square_root);
  EXPECT_EQ(range.place(7), 1);
  step.heads[1].score[1] = 0.001;
  range = score_range(step);
  EXPECT_TRUE(range.square_root);
  EXPECT_NEAR(range.place(1.751), 0.5, 1e-3) << "a quarter of the way";
  step.heads[1].residual = {3};
  EXPECT_EQ(score_range(step).low, 1) << "what collects is not ranked";
  EXPECT_TRUE(std::isnan(score_range(StepRecord{}).low)) << "nothing was ranked: no range, not zero";
}

class ScoredAtlas : public ::testing::Test {
 protected:
  ScoredAtlas() { canvas.frame.selection.lane = 3; }
  Snapshot snapshot = synthetic::make_snapshot();
  std::unique_ptr<View> view = make_atlas(std::make_shared<TokenWindow>());
  Headless canvas{snapshot};
};

TEST_F(ScoredAtlas, ColoursEverySlotByItsScoreAndNothingElse) {
  ASSERT_EQ(view->options().at(0).choices.size(), 4u);
  view->choose(0, 1);
  canvas.draw(*view);
  const auto* image = canvas.textures.find("atlas.cells");
  ASSERT_EQ(image->width, 179);
  const StepRecord& step = *snapshot.lanes[3].steps.back();
  const ScoreRange range = score_range(step);
  ASSERT_GT(range.n, 0);
  int coloured = 0;
  for (std::size_t h = 0; h < 24; ++h) {
    std::vector<std::uint32_t> expected(179, 0);
    for (std::size_t i = 0; i < step.heads[h].pos.size(); ++i) {
      if (i >= step.heads[h].score.size() || std::isnan(step.heads[h].score[i])) continue;
      const double score = static_cast<double>(static_cast<float>(step.heads[h].score[i]));
      expected[static_cast<std::size_t>(step.heads[h].pos[i])] = colour(ramp(dark_theme().sequential, range.place(score)));
      ++coloured;
    }
    for (std::size_t t = 0; t < 179; ++t) ASSERT_EQ(image->rgba[h * 179 + t], expected[t]) << "head " << h << " token " << t;
  }
  EXPECT_EQ(coloured, range.n);
  view->choose(0, 0);
  canvas.draw(*view);
  EXPECT_EQ(find_mark(*view, "row", "L0 H0")->value, "category") << "and back";
}

TEST_F(ScoredAtlas, OutlinesPinsWhereCellsAreLargeAndTicksThemWhereTheyAreNot) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[3].steps.back());
  const auto pin = [&](std::size_t head, std::vector<int> tokens) {
    step->heads[head].pinned = tokens;
    std::vector<int>& pos = step->heads[head].pos;
    pos.insert(pos.end(), tokens.begin(), tokens.end());
    std::sort(pos.begin(), pos.end());
    pos.erase(std::unique(pos.begin(), pos.end()), pos.end());
  };
  pin(5, {20, 21});
  pin(7, {20});
  std::erase(step->heads[9].pos, 20);
  step->heads[9].pinned = {20};  // it had left before: nothing was kept
  snapshot.lanes[3].steps.back() = step;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "pin"), 2) << "one around neighbours, none where the pin has no effect";
  const Mark* both = find_mark(*view, "pin", "L1 H1 t20–21");
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->value, "pinned by hand, 1 px") << "a token has four pixels here";
  const Mark* one = find_mark(*view, "pin", "L1 H3 t20");
  ASSERT_NE(one, nullptr);
  EXPECT_GT(both->max.x - both->min.x, 1.5f * (one->max.x - one->min.x));
  EXPECT_EQ(count_marks(*view, "pins"), 0);
  Headless wide(snapshot, {1600, 406});
  wide.frame.selection.lane = 3;
  wide.draw(*view);
  ASSERT_NE(find_mark(*view, "pin", "L1 H3 t20"), nullptr);
  EXPECT_EQ(find_mark(*view, "pin", "L1 H3 t20")->value, "pinned by hand, 2 px");
  Headless narrow(snapshot, {400, 406});  // less than three pixels a token
  narrow.frame.selection.lane = 3;
  narrow.draw(*view);
  EXPECT_EQ(count_marks(*view, "pin"), 0);
  int heads = 0;
  for (const Mark& m : view->marks()) heads += m.kind == "pins" ? std::stoi(m.value) : 0;
  EXPECT_EQ(heads, 3) << "none vanishes in a bin";
}

}  // namespace
}  // namespace kvscope::viz
