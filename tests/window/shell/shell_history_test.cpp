// SPDX-License-Identifier: Apache-2.0
// The history of what was looked at.
#include <QWheelEvent>

#include "app/window/rows/rows.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

TEST_F(WindowTest, TheHistoryGoesBackThroughPagesAndSelections) {
  viz::Selection selection = window->workspace().selection();
  selection.layer = 2;
  selection.kv_head = 1;
  window->workspace().setSelection(selection);
  press(Qt::Key_3, Qt::AltModifier);
  selection.tokens = viz::TokenRange{4, 9};
  window->workspace().setSelection(selection);
  press(Qt::Key_Left, Qt::AltModifier);
  EXPECT_FALSE(window->workspace().selection().tokens);
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  press(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(window->page(), MainWindow::Page::inspect);
  EXPECT_EQ(window->workspace().selection().layer, 2);
  press(Qt::Key_Right, Qt::AltModifier);
  press(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  EXPECT_EQ(window->workspace().selection().tokens, (viz::TokenRange{4, 9}));
}

TEST_F(WindowTest, TheHistoryBeginsWithWhatIsShownFirst) {
  const auto* crumbs = window->findChild<CrumbRow*>();
  ASSERT_NE(crumbs, nullptr);
  EXPECT_FALSE(crumbs->canGoBack()) << "nobody has seen the window without a run";
  press(Qt::Key_3, Qt::AltModifier);
  EXPECT_TRUE(crumbs->canGoBack());
}

TEST_F(WindowTest, AScrubIsOneStepOfTheHistory) {
  viz::Selection selection = window->workspace().selection();
  selection.layer = 2;
  selection.kv_head = 1;
  selection.step.reset();  // not where the run differs first
  window->workspace().setSelection(selection);
  for (const int step : {3, 2, 1, 0}) window->model().playback.goTo(step);
  press(Qt::Key_Left, Qt::AltModifier);
  EXPECT_TRUE(window->workspace().atLatestStep()) << "one way back, not four";
  EXPECT_EQ(window->workspace().selection().layer, 2);
  press(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(window->workspace().step(), 0);
}

TEST_F(WindowTest, AZoomIsAPlaceOfTheHistory) {
  CanvasWidget* atlas = window->canvas("atlas");
  const QString all = atlas->facts();
  const QPointF at(atlas->width() / 2.0, atlas->height() / 3.0);
  for (int notch = 0; notch < 5; ++notch) {
    QWheelEvent wheel(at, atlas->mapToGlobal(at), {}, QPoint(0, 120), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(atlas, &wheel);
    ASSERT_TRUE(settle());
  }
  const QString zoomed = atlas->facts();
  ASSERT_NE(zoomed, all);
  press(Qt::Key_Left, Qt::AltModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(atlas->facts(), all) << "five notches are one way";
  press(Qt::Key_Right, Qt::AltModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(atlas->facts(), zoomed);
}

}  // namespace
}  // namespace kvscope
