// SPDX-License-Identifier: Apache-2.0
// The history of what was looked at.
#include "window/window_fixture.h"

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

TEST_F(WindowTest, AScrubIsOneStepOfTheHistory) {
  viz::Selection selection = window->workspace().selection();
  selection.layer = 2;
  selection.kv_head = 1;
  window->workspace().setSelection(selection);
  for (const int step : {3, 2, 1, 0}) window->playback().goTo(step);
  press(Qt::Key_Left, Qt::AltModifier);
  EXPECT_TRUE(window->workspace().atLatestStep()) << "one way back, not four";
  EXPECT_EQ(window->workspace().selection().layer, 2);
  press(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(window->workspace().step(), 0);
}

}  // namespace
}  // namespace kvscope
