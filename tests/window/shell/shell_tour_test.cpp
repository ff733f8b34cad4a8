// SPDX-License-Identifier: Apache-2.0
// The tour by keys alone.
#include <QDockWidget>

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

TEST_F(TourTest, ThePanelsThatWereInFrontAreThereAgain) {
  window->resize(960, 600);
  ASSERT_TRUE(settle());
  QTest::qWait(100);
  const auto in_front = [this] {
    QStringList out;
    for (const QDockWidget* dock : window->findChildren<QDockWidget*>())
      if (!dock->widget()->visibleRegion().isEmpty()) out << dock->objectName();
    out.sort();
    return out;
  };
  window->findChild<QDockWidget*>("dock_prompt")->raise();
  QTest::qWait(100);
  const QStringList before = in_front();
  ASSERT_TRUE(before.contains("dock_prompt"));
  window->firstSteps().startTour();
  for (int stop = 0; stop < 12 && window->firstSteps().touring(); ++stop) {
    QTest::qWait(30);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  }
  ASSERT_FALSE(window->firstSteps().touring());
  QTest::qWait(100);
  EXPECT_EQ(in_front(), before) << in_front().join(", ").toStdString();
}

}  // namespace
}  // namespace kvscope
