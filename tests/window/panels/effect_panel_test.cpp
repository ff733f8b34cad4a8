// SPDX-License-Identifier: Apache-2.0
#include "window/panels/panel_fixture.h"

#include <gmock/gmock.h>
#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QLabel>

#include "app/window/panels/effect/effect_panel.h"
#include "app/window/panels/effect/effect_panel_model.h"
#include "app/window/panels/effect/effect_panel_parts.h"
#include "app/window/panels/effect/generated_strip.h"
#include "app/window/shell/panel_paint.h"
#include "viz/reduce/generated.h"

namespace kvscope {
namespace {

class EffectPanelTest : public PanelTest {
 protected:
  EffectPanelTest() { show(panel, 348, 450); }
  QString cell(int row, int column) { return panel.model().index(row, column).data().toString(); }
  /// Step 2 of the last lane with these candidates.
  void publishTop(std::vector<TopToken> top) {
    Snapshot s = synthetic::make_snapshot();
    auto vocabulary = std::make_shared<std::vector<TokenInfo>>(20);
    for (int i = 0; i < 20; ++i) (*vocabulary)[static_cast<std::size_t>(i)] = {.id = i, .bytes = std::to_string(i)};
    s.vocabulary = vocabulary;
    for (TokenInfo& token : s.tokens) token.id += 1000;  // out of the way of the vocabulary
    auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[2]);
    step->top_tokens = std::move(top);
    s.lanes[3].steps[2] = step;
    publish(std::move(s));
    selectStep(2);
  }

  EffectPanel panel{workspace, controller};
};

TEST_F(EffectPanelTest, OrdersByWhatEitherCacheBelieves) {
  publishTop({{.id = 8, .p = 0.034, .p_reference = 0.9996, .rank = 5, .rank_reference = 1},
              {.id = 6, .p = 0.089, .p_reference = 0.0001, .rank = 2, .rank_reference = 4},
              {.id = 4, .p = 0.622, .p_reference = 0.0002, .rank = 1, .rank_reference = 3}});
  EXPECT_EQ(cell(0, EffectModel::kToken), "8");
  EXPECT_EQ(cell(1, EffectModel::kToken), "4");
  EXPECT_EQ(cell(2, EffectModel::kToken), "6");
  EXPECT_TRUE(panel.model().isChoice(0));
  EXPECT_TRUE(panel.model().isChoice(1));
  EXPECT_FALSE(panel.model().isChoice(2));
}

TEST_F(EffectPanelTest, SaysThatLikelyTokensWereNotRecorded) {
  const auto said = [this] {
    for (const QLabel* label : panel.findChildren<QLabel*>())
      if (label->isVisible() && label->text().startsWith("Which tokens were likely is not recorded")) return true;
    return false;
  };
  publishTop({{.id = 8, .p = 0.034, .p_reference = 0.9996, .rank = 5, .rank_reference = 1}});
  EXPECT_FALSE(said());
  publishTop({});
  EXPECT_TRUE(said());
}

TEST_F(EffectPanelTest, PrintsProbabilitiesRanksAndDifferencesAsTheGuideSays) {
  publishTop({{.id = 8, .p = 0.034, .p_reference = 0.9996, .rank = 5, .rank_reference = 1},
              {.id = 0, .p = 0.030, .p_reference = 0.00001, .rank = 6, .rank_reference = 6}});
  EXPECT_EQ(cell(0, EffectModel::kRank), "1 → 5");
  EXPECT_EQ(cell(0, EffectModel::kReference), ">.999");
  EXPECT_EQ(cell(0, EffectModel::kLane), "0.034");
  EXPECT_EQ(cell(0, EffectModel::kDelta), "−0.966") << "a true minus";
  EXPECT_EQ(cell(1, EffectModel::kRank), "6") << "one number where both agree";
  EXPECT_EQ(cell(1, EffectModel::kReference), "<.001");
  EXPECT_EQ(cell(1, EffectModel::kDelta), "+0.030");
}

TEST_F(EffectPanelTest, ShowsNoHalfRows) {
  publish(synthetic::make_snapshot());
  selectStep(2);
  auto* table = panel.findChild<EffectTable*>();
  for (int height = 380; height < 420; height += 9) {
    panel.resize(348, height);
    QApplication::processEvents();
    const QImage picture = table->viewport()->grab().toImage();
    const int first_cut = table->viewport()->height() / table->rowHeight(0);
    ASSERT_LT(first_cut, panel.model().rowCount()) << "there are more";
    for (int y = table->rowViewportPosition(first_cut) + 1; y < picture.height(); ++y)
      for (int x = 0; x < picture.width(); x += 3)
        ASSERT_EQ(picture.pixelColor(x, y).name(), toColor(workspace.theme().panel).name()) << height << ": " << x << ", " << y;
  }
}

TEST_F(EffectPanelTest, NumbersOfANarrowPanelKeepAGap) {
  publishTop({{.id = 8, .p = 0.034, .p_reference = 0.9996, .rank = 5, .rank_reference = 1}});
  const auto* const table = panel.findChild<EffectTable*>();
  for (const int width : {262, 300, 348, 480}) {
    show(panel, width, 450);
    const QFontMetrics digits(typeFont(*table, Type::control, false, TypeFace::tabular));
    int sum = 0;
    for (int c = 0; c < EffectModel::kBaseline; ++c) sum += table->columnWidth(c);
    EXPECT_LE(sum, table->viewport()->width()) << width;
    EXPECT_GE(table->columnWidth(EffectModel::kToken), 40) << width;
    for (const int c : {EffectModel::kReference, EffectModel::kLane, EffectModel::kDelta})
      EXPECT_GE(table->columnWidth(c), digits.horizontalAdvance(cell(0, c)) + 6) << width << " px, column " << c;
  }
}

TEST_F(EffectPanelTest, AForkHasItsBaselineBesideIt) {
  publishTop({{.id = 8, .p = 0.034, .p_reference = 0.9996, .rank = 5, .rank_reference = 1}});
  EXPECT_EQ(panel.model().columnCount(), 5) << "no fork, no baseline";
  Snapshot s = workspace.snapshot();
  s.lanes.push_back(s.lanes[3]);
  s.lanes[4].fork_of = 3;
  s.lanes[4].spec += "@evict=5,step=1";
  auto step = std::make_shared<StepRecord>(*s.lanes[4].steps[2]);
  step->top_tokens = {{.id = 8, .p = 0.5, .p_reference = 0.9996}, {.id = 9, .p = 0.25, .p_reference = 0.0001}};
  s.lanes[4].steps[2] = step;
  publish(std::move(s));
  selectStep(2);
  ASSERT_EQ(panel.model().columnCount(), 6);
  EXPECT_EQ(panel.model().headerData(EffectModel::kBaseline, Qt::Horizontal, Qt::DisplayRole).toString(), "run D");
  EXPECT_EQ(cell(0, EffectModel::kLane), "0.500");
  EXPECT_EQ(cell(0, EffectModel::kBaseline), "0.034");
  EXPECT_EQ(cell(1, EffectModel::kBaseline), "n/a") << "not among the candidates there: not zero";
}

TEST_F(EffectPanelTest, WithoutResultsNothingIsSaidOfThoseBefore) {
  publish(synthetic::make_snapshot());
  const auto* headline = panel.findChild<EffectHeadline*>();
  ASSERT_NE(headline, nullptr);
  EXPECT_THAT(headline->accessibleDescription().toStdString(), ::testing::StartsWith("KL "));
  Snapshot reading = synthetic::make_snapshot();
  reading.lanes.clear();  // of a model that was opened
  reading.phase = RunPhase::computing;
  workspace.setSnapshot(std::make_shared<const Snapshot>(std::move(reading)));
  EXPECT_THAT(headline->accessibleDescription().toStdString(), ::testing::StartsWith("The text is being read."));
}

/// What is drawn from the probabilities need not be the most likely token: what a run of its own text is fed is what it says.
TEST_F(EffectPanelTest, ATokenThatWasDrawnIsNotCalledTheTopChoice) {
  Snapshot s = synthetic::make_snapshot();
  auto vocabulary = std::make_shared<std::vector<TokenInfo>>(10);
  for (int i = 0; i < 10; ++i) (*vocabulary)[static_cast<std::size_t>(i)] = {.id = i, .bytes = std::to_string(i)};
  s.vocabulary = vocabulary;
  const auto next = static_cast<std::size_t>(s.lanes[3].steps[2]->position + 1);
  s.tokens[next].id = 5;
  s.tokens[next].bytes = "5";
  auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[2]);
  step->top1 = 3;
  step->top1_reference = 4;
  step->next_token = 5;
  s.lanes[3].steps[2] = step;
  s.follow = "reference";
  GeneratedStrip strip(workspace);
  const auto cell = [&strip] { return *std::ranges::find(strip.cells(), 2, &GeneratedCell::step); };
  const auto help = [&] { return strip.helpOf(cell()).toStdString(); };
  publish(Snapshot(s));
  EXPECT_THAT(help(), ::testing::HasSubstr("fed «5»\nreference says «4»\n"));
  EXPECT_THAT(help(), ::testing::HasSubstr("says «3»\np of the fed token"));
  auto own = std::make_shared<StepRecord>(*step);
  own->next_token = 6;
  s.lanes[3].steps[2] = own;
  s.follow = "self";
  publish(Snapshot(s));
  EXPECT_EQ(cell().says, "6") << "it is fed this one";
  EXPECT_THAT(help(), ::testing::HasSubstr("step 2\nreference says «5»\n"));
  const Snapshot& shown = workspace.snapshot();
  EXPECT_THAT(viz::answers_text(shown, shown.lanes[3]), ::testing::ContainsRegex("this run: .*6"));
}

TEST_F(EffectPanelTest, NothingStandsBesideTheNumbersOfAnotherText) {
  publishTop({{.id = 8, .p = 0.034, .p_reference = 0.9996, .rank = 5, .rank_reference = 1},
              {.id = 4, .p = 0.622, .p_reference = 0.0002, .rank = 1, .rank_reference = 415}});
  Snapshot s = workspace.snapshot();
  s.follow = "self";
  auto other = std::make_shared<StepRecord>(*s.lanes[3].steps[1]);
  ++other->next_token;
  s.lanes[3].steps[1] = other;
  publish(std::move(s));
  selectStep(2);
  EXPECT_EQ(cell(0, EffectModel::kToken), "4") << "by its own probability";
  EXPECT_EQ(cell(0, EffectModel::kRank), "1");
  EXPECT_EQ(cell(0, EffectModel::kReference), "n/a");
  EXPECT_EQ(cell(0, EffectModel::kLane), "0.622");
  EXPECT_EQ(cell(0, EffectModel::kDelta), "n/a");
  EXPECT_FALSE(panel.model().isChoice(1)) << "of the other text";
  EXPECT_THAT(panel.model().index(1, 0).data(Qt::ToolTipRole).toString().toStdString(),
              ::testing::HasSubstr("reference: n/a, another text\nKeepKV: p 0.034, rank 5"));
}

TEST_F(EffectPanelTest, CopiesTheTableInItsOrderWithNumbersForPrograms) {
  publishTop({{.id = 8, .p = 0.034, .p_reference = 0.9996, .rank = 5, .rank_reference = 1},
              {.id = 4, .p = 0.622, .p_reference = 0.0002, .rank = 1, .rank_reference = 3}});
  const QString expected = "token\trank\treference\tKeepKV\tΔp\n8\t1 → 5\t>.999\t0.034\t-0.966\n4\t3 → 1\t<.001\t0.622\t+0.622\n";
  EXPECT_EQ(panel.tsv(), expected);
  auto* table = panel.findChild<EffectTable*>();
  ASSERT_NE(table, nullptr);
  QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text(), expected);
  table->selectRow(1);
  QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text(), "token\trank\treference\tKeepKV\tΔp\n4\t3 → 1\t<.001\t0.622\t+0.622\n");
}

TEST_F(EffectPanelTest, FollowsTheStepThatIsLookedAt) {
  publish(synthetic::make_snapshot());
  selectStep(2);
  EXPECT_EQ(panel.facts(), "after step 2");
  selectStep(0);
  EXPECT_EQ(panel.facts(), "after step 0");
  EXPECT_EQ(panel.model().rowCount(), 10);
}

TEST_F(EffectPanelTest, MovesThroughTheRowsByKey) {
  publish(synthetic::make_snapshot());
  auto* table = panel.findChild<EffectTable*>();
  table->setCurrentIndex(panel.model().index(0, 0));
  QTest::keyClick(table, Qt::Key_Down);
  EXPECT_EQ(table->currentIndex().row(), 1);
}

TEST_F(EffectPanelTest, KeepsThePromisesOfAModelWhileRunsComeAndGo) {
  QAbstractItemModelTester tester(&panel.model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
  publish(synthetic::make_snapshot());
  for (int s = 0; s < 13; ++s) selectStep(s);
  workspace.setSnapshot(std::make_shared<const Snapshot>());
  EXPECT_EQ(panel.model().rowCount(), 0);
  EXPECT_EQ(panel.facts(), "");
  panel.grab();
}

TEST_F(EffectPanelTest, NamesEverythingThatTakesTheFocus) { EXPECT_THAT(unnamed(panel), ::testing::IsEmpty()); }

}  // namespace
}  // namespace kvscope
