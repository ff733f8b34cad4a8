// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <gtest/gtest.h>
#include <QApplication>
#include <QComboBox>
#include <QListView>
#include <QMenu>
#include <QMenuBar>
#include <QTest>
#include <QTimer>
#include "window/support/patience.h"

namespace kvscope {

/// Goes by mouse from menu to menu to an entry; `open` clicks on what opens the first one. What the entry opens (a dialog has a loop of its
/// own) has been answered when this returns.
inline void chooseByMouse(const QStringList& path, const std::function<void()>& open) {
  qsizetype chosen = 0;
  QTimer hand;
  QObject::connect(&hand, &QTimer::timeout, [&] {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    if (!menu || chosen >= path.size()) return;
    for (QAction* a : menu->actions()) {
      if (!a->isEnabled() || !a->text().remove('&').startsWith(path[chosen])) continue;
      const QPoint place = menu->actionGeometry(a).center();
      ++chosen;
      QTest::mouseMove(menu, place);
      return QTest::mouseClick(menu, Qt::LeftButton, {}, place);
    }
  });
  hand.start(60);
  open();
  EXPECT_TRUE(waitFor([&] { return chosen == path.size() && !QApplication::activePopupWidget(); }, 5000)) << path.join(" / ").toStdString();
}

/// The same from the menu bar: its first entry, then on.
inline void chooseInMenus(QMenuBar& bar, const QStringList& path) {
  for (QAction* a : bar.actions())
    if (a->text().remove('&') == path.front())
      return chooseByMouse(path.mid(1), [&] { QTest::mouseClick(&bar, Qt::LeftButton, {}, bar.actionGeometry(a).center()); });
  ADD_FAILURE() << "there is no menu " << path.front().toStdString();
}

/// Opens a list and clicks on one of its lines.
inline void chooseInBox(QComboBox& box, int index) {
  QTest::mouseClick(&box, Qt::LeftButton, {}, box.rect().center());
  ASSERT_TRUE(waitFor([&] { return box.view()->isVisible(); }, 3000));
  QWidget* lines = box.view()->viewport();
  const QRect line = box.view()->visualRect(box.model()->index(index, box.modelColumn()));
  // A list takes no release within the interval of a double click after it was shown, unless the mouse has moved, and a busy display tells
  // of the move after the click. Its clock starts when it is on screen, a few milliseconds after it is visible: twice the interval is past
  // that.
  QTest::qWait(2 * QApplication::doubleClickInterval());
  QTest::mouseMove(lines, line.center() - QPoint(5, 0));
  QTest::mouseMove(lines, line.center() + QPoint(line.width() / 4, 0));
  QTest::mouseClick(lines, Qt::LeftButton, {}, line.center());
  EXPECT_TRUE(waitFor([&] { return !box.view()->isVisible(); }, 10000));
  EXPECT_EQ(box.currentIndex(), index);
}

}  // namespace kvscope
