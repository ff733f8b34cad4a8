// SPDX-License-Identifier: Apache-2.0
// The range of steps that statistics count, through the whole window.
#include <QLabel>
#include <QPushButton>

#include "viz/draw/format.h"
#include "viz/reduce/range.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

QString badgeOf(MainWindow& window, const char* panel) {
  for (QPushButton* button : window.panel(panel)->header()->findChildren<QPushButton*>())
    if (button->objectName() == "chipActive" && button->isVisible() && button->accessibleName().contains("1–3"))
      return button->accessibleName();
  return {};
}

TEST_F(WindowTest, KeysLimitTheStepsAndEscapeCountsAllAgain) {
  window->setFocus();
  press(Qt::Key_Home);
  press(Qt::Key_Right);
  press(Qt::Key_BracketLeft, Qt::ControlModifier);
  EXPECT_EQ(window->workspace().selection().steps, (viz::StepRange{1, 4}));
  press(Qt::Key_Right, Qt::ShiftModifier);
  press(Qt::Key_Left);
  press(Qt::Key_BracketRight, Qt::ControlModifier);
  EXPECT_EQ(window->workspace().selection().steps, (viz::StepRange{1, 3}));
  EXPECT_EQ(window->workspace().step(), 3);
  press(Qt::Key_Escape);
  EXPECT_FALSE(window->workspace().selection().steps);
  EXPECT_EQ(window->workspace().step(), 3) << "the shown step stays";
}

TEST_F(WindowTest, ABadgeShowsTheRangeWhereItLimitsAndItsCrossTakesItAway) {
  EXPECT_EQ(badgeOf(*window, "head_grid"), "");
  limitSteps(window->workspace(), viz::StepRange{1, 3});
  QApplication::processEvents();
  for (const char* panel : {"head_grid", "timeline", "effect"}) EXPECT_TRUE(badgeOf(*window, panel).contains("1–3")) << panel;
  QPushButton* badge = nullptr;
  for (QPushButton* button : window->panel("head_grid")->header()->findChildren<QPushButton*>())
    if (button->isVisible() && button->accessibleName().contains("1–3")) badge = button;
  ASSERT_NE(badge, nullptr);
  QTest::mouseClick(badge, Qt::LeftButton);
  EXPECT_FALSE(window->workspace().selection().steps);
}

TEST_F(WindowTest, PictureTableAndEffectCountTheSameSteps) {
  limitSteps(window->workspace(), viz::StepRange{1, 3});
  QApplication::processEvents();
  const RunFigures want = run_figures(window->workspace().snapshot(), *window->workspace().lane(), 1, 3);
  const QString mean = QString::fromStdString(viz::format_number(want.kl.mean()));
  EXPECT_TRUE(window->canvas("timeline")->facts().contains("mean KL " + mean)) << window->canvas("timeline")->facts().toStdString();
  EXPECT_EQ(window->canvas("timeline")->table().rows.size(), 3u);
  QString effect;
  for (QLabel* label : window->panel("effect")->body()->findChildren<QLabel*>())
    if (label->isVisible() && label->text().startsWith("steps 1–3")) effect = label->text();
  EXPECT_TRUE(effect.contains("mean KL " + mean + ",")) << effect.toStdString();
  EXPECT_TRUE(effect.contains(QString("same in %1 of 3").arg(want.top1_same))) << effect.toStdString();
}

TEST_F(WindowTest, ADragAlongTheStepNumbersIsARange) {
  CanvasWidget* timeline = window->canvas("timeline");
  const auto below = [&](const char* step) {
    for (const viz::Mark& mark : timeline->view().marks())
      if (mark.kind == "column" && mark.label == step)
        return QPoint(static_cast<int>((mark.min.x + mark.max.x) / 2), timeline->height() - 31);
    return QPoint();
  };
  QTest::mousePress(timeline, Qt::LeftButton, {}, below("step 1"));
  QTest::qWait(60);
  for (const char* step : {"step 2", "step 3"}) {
    QTest::mouseMove(timeline, below(step));
    QTest::qWait(60);
  }
  QTest::mouseRelease(timeline, Qt::LeftButton, {}, below("step 3"));
  QTest::qWait(100);
  EXPECT_EQ(window->workspace().selection().steps, (viz::StepRange{1, 3}));
}

}  // namespace
}  // namespace kvscope
