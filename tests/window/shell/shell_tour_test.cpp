// SPDX-License-Identifier: Apache-2.0
// The tour by keys alone.
#include "app/window/canvas/canvas_widget.h"
#include "app/window/help/tour.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

using TourTest = WindowTest;

TEST_F(TourTest, GoesOnByEnterAndEndsByEscape) {
  window->firstSteps().startTour();
  ASSERT_TRUE(settle());
  const QString first = window->firstSteps().tour()->text();
  ASSERT_NE(QApplication::focusWidget(), nullptr);
  ASSERT_TRUE(window->firstSteps().tour()->isAncestorOf(QApplication::focusWidget()));
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_NE(window->firstSteps().tour()->text(), first);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
  EXPECT_FALSE(window->firstSteps().tour()->isVisible());
  EXPECT_TRUE(window->canvas("atlas")->hasFocus()) << "not the first button of the toolbar, which Space would press";
}

}  // namespace
}  // namespace kvscope
