// SPDX-License-Identifier: Apache-2.0
// The strip of generated tokens, one cell a step.
#include "window/panels/panel_fixture.h"

#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "app/window/panels/effect/generated_strip.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "viz/draw/format.h"

namespace kvscope {
namespace {

class PromptGeneratedTest : public PanelTest {
 protected:
  PromptGeneratedTest() { show(panel, 392, 480); }
  /// A run whose top choice is another one at these steps, and at no others.
  void publishDiffering(const std::set<int>& steps) {
    Snapshot s = synthetic::make_snapshot();
    for (int i = 0; i < static_cast<int>(s.lanes[3].steps.size()); ++i) {
      auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[static_cast<std::size_t>(i)]);
      step->top1_same = !steps.contains(i);
      s.lanes[3].steps[static_cast<std::size_t>(i)] = step;
    }
    publish(std::move(s));
  }
  PromptPanel panel{workspace, controller};
};

TEST_F(PromptGeneratedTest, ShowsOneCellPerStepAfterThePrompt) {
  publish(synthetic::make_snapshot());
  const auto& cells = panel.strip().cells();
  ASSERT_EQ(cells.size(), 13u) << "the prompt's own step and twelve more";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const StepRecord& step = *workspace.lane()->steps[i];
    EXPECT_EQ(cells[i].step, static_cast<int>(i));
    EXPECT_EQ(cells[i].same, step.top1_same);
  }
  EXPECT_THAT(panel.strip().heading().toStdString(), ::testing::StartsWith("12 tokens"));
}

/// What is said of the tokens is of the tokens: the choice after the last of them is none yet.
TEST_F(PromptGeneratedTest, CountsWhatDiffersAmongTheTokensAndSaysTheNextApart) {
  const auto heading = [this](const std::set<int>& differing) {
    publishDiffering(differing);
    return panel.strip().heading().toStdString();
  };
  EXPECT_THAT(heading({}), ::testing::HasSubstr(" · same top choices · "));
  EXPECT_THAT(heading({3}), ::testing::HasSubstr(" · 1 top choice differs · "));
  EXPECT_THAT(heading({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), ::testing::HasSubstr(" · 11 top choices differ, so does the next · "))
      << "of twelve the first is the same";
  EXPECT_THAT(heading({12}), ::testing::HasSubstr(" · only the next top choice differs · "));
}

/// How many differ is what one looks for: where there is little room the other words go.
TEST_F(PromptGeneratedTest, HowManyDifferIsSaidInLittleRoomToo) {
  for (const std::set<int>& differing : {std::set<int>{3}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6, 7, 12}}) {
    publishDiffering(differing);
    const QFontMetrics metrics = panel.strip().fontMetrics();
    for (int room = 320; room >= 110; room -= 10) {
      const QString said = panel.strip().headingWithin(metrics, room);
      EXPECT_LE(metrics.horizontalAdvance(said), room) << said.toStdString();
      EXPECT_THAT(said.toStdString(), ::testing::HasSubstr("differ")) << room;
    }
  }
}

TEST_F(PromptGeneratedTest, SaysWhichOfTheTokensAreShownAndNoMoreThanThereAre) {
  publish(synthetic::make_snapshot());
  const int n = static_cast<int>(panel.strip().cells().size()) - 1;
  selectStep(0);
  EXPECT_THAT(panel.strip().heading().toStdString(), ::testing::ContainsRegex("12 tokens, first [0-9]+ shown"));
  selectStep(n);
  EXPECT_THAT(panel.strip().heading().toStdString(), ::testing::ContainsRegex("12 tokens, [0-9]+–12 and the next shown"));
}

/// After a wrong token whoever reads on must know whose token the run was fed.
TEST_F(PromptGeneratedTest, SaysWhichTokenTheRunsGoOnFrom) {
  const std::pair<const char*, const char*> ways[] = {{"reference", "every run goes on from the reference's token"},
                                                      {"self", "each run goes on from its own token"},
                                                      {"file", "every run goes on from the given text"}};
  for (const auto& [follow, words] : ways) {
    Snapshot s = synthetic::make_snapshot();
    s.follow = follow;
    publish(std::move(s));
    EXPECT_TRUE(panel.strip().heading().endsWith(words)) << panel.strip().heading().toStdString();
    EXPECT_TRUE(panel.strip().helpOf(panel.strip().cells()[2]).endsWith(words));
    // The names of the rows say it, too: what stands there place by place is a text that the run wrote only where it goes on from its own.
    selectStep(0);
    const QRect cell = panel.strip().rectOf(0);
    const auto row = [&](double down) { return panel.strip().helpOfRow(QPoint(2, cell.top() + static_cast<int>(down * cell.height()))); };
    EXPECT_TRUE(row(0.1).contains("text")) << row(0.1).toStdString();
    EXPECT_EQ(row(0.35).contains("no text that it wrote"), std::string(follow) != "self") << row(0.35).toStdString();
    EXPECT_TRUE(row(0.8).contains("probability")) << row(0.8).toStdString();
    EXPECT_EQ(panel.strip().helpOfRow({2, 2}), panel.strip().heading());
    EXPECT_TRUE(panel.strip().helpOfRow(cell.center()).isEmpty()) << "a cell has its own";
  }
}

TEST_F(PromptGeneratedTest, OfAGivenTextItSaysWhatWasFedAndWhatTheReferenceSays) {
  Snapshot s = synthetic::make_snapshot();
  s.follow = "file";
  auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[2]);
  step->top1_reference = s.tokens[3].id;
  s.lanes[3].steps[2] = step;
  const std::string fed = viz::token_text(s.tokens, 169), choice = viz::token_text(s.tokens, 3);
  ASSERT_NE(fed, choice);
  publish(std::move(s));
  const std::string help = panel.strip().helpOf(panel.strip().cells()[2]).toStdString();
  EXPECT_THAT(help, ::testing::HasSubstr("fed " + viz::quoted(fed) + "\nreference says " + viz::quoted(choice)));
}

TEST_F(PromptGeneratedTest, SkipsTheStepsOfAStreamedPrompt) {
  synthetic::Shape shape;
  shape.prefill = false;
  publish(synthetic::make_snapshot(shape));
  ASSERT_EQ(panel.strip().cells().size(), 13u);
  EXPECT_EQ(panel.strip().cells().front().step, 166);
}

TEST_F(PromptGeneratedTest, TakesTheProbabilityOfTheReferencesTokenFromItsSurprise) {
  Snapshot s = synthetic::make_snapshot();
  auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[2]);
  step->next_token = s.tokens[169].id;  // step 2 is the query at position 168
  step->nll = 3.372;
  s.lanes[3].steps[2] = step;
  publish(std::move(s));
  EXPECT_NEAR(panel.strip().cells()[2].p, std::exp(-3.372), 1e-12);
}

TEST_F(PromptGeneratedTest, GoesToTheStepOfAClickedCellAndFollowsTheLatestAtTheLastOne) {
  publish(synthetic::make_snapshot());
  selectStep(6);
  QTest::mouseClick(&panel.strip(), Qt::LeftButton, {}, panel.strip().rectOf(5).center());
  EXPECT_EQ(workspace.selection().step, 5);
  panel.strip().setFocus();
  QTest::keyClick(&panel.strip(), Qt::Key_Left);
  EXPECT_EQ(workspace.selection().step, 4);
  QTest::keyClick(&panel.strip(), Qt::Key_Home);
  EXPECT_EQ(workspace.selection().step, 0);
  EXPECT_FALSE(panel.strip().rectOf(0).isEmpty()) << "the current cell is in sight";
  QTest::keyClick(&panel.strip(), Qt::Key_End);
  EXPECT_FALSE(workspace.selection().step.has_value()) << "the last step stays the latest when more come";
}

TEST_F(PromptGeneratedTest, ShowsTheFirstCellsWhenTheStepIsAmongThem) {
  publish(synthetic::make_snapshot());  // the latest step is the last cell
  const int last = static_cast<int>(panel.strip().cells().size()) - 1;
  EXPECT_TRUE(panel.strip().rectOf(0).isEmpty());
  EXPECT_FALSE(panel.strip().rectOf(last).isEmpty());
  selectStep(2);
  EXPECT_FALSE(panel.strip().rectOf(0).isEmpty());
  EXPECT_FALSE(panel.strip().rectOf(2).isEmpty());
}

TEST_F(PromptGeneratedTest, HasNoCellsWithoutARun) {
  panel.editor().clearFocus();
  EXPECT_TRUE(panel.strip().cells().empty());
  EXPECT_EQ(panel.facts(), "0 + 0 tokens");
  panel.grab();
}

}  // namespace
}  // namespace kvscope
