// SPDX-License-Identifier: Apache-2.0
// Controls as Qt draws them under our style sheet.
#include <QAbstractItemView>
#include <QComboBox>
#include <QFileDialog>
#include <QToolButton>

#include "window/window_fixture.h"

namespace kvscope {
namespace {

TEST_F(WindowTest, TheButtonsOfAFileDialogHaveTheirPictures) {
  for (const char* mode : {"dark", "light"}) {
    window->setThemeMode(mode);
    QFileDialog dialog(window.get());
    dialog.setOption(QFileDialog::DontUseNativeDialog);
    dialog.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&dialog));
    int n = 0;
    for (QToolButton* button : dialog.findChildren<QToolButton*>()) {
      if (!button->isVisible() || button->icon().isNull()) continue;
      ++n;
      EXPECT_GE(button->width(), 26);
      const QImage shown = button->grab().toImage();
      const QColor ground = shown.pixelColor(4, 4);
      QRect drawn;
      for (int y = 4; y < shown.height() - 4; ++y)
        for (int x = 4; x < shown.width() - 4; ++x)
          if (shown.pixelColor(x, y) != ground) drawn |= QRect(x, y, 1, 1);
      EXPECT_GE(std::max(drawn.width(), drawn.height()), 9) << button->objectName().toStdString() << ", " << mode;
    }
    EXPECT_GE(n, 5);
  }
}

TEST_F(WindowTest, AListOfChoicesIsWideEnoughForTheLongest) {
  int n = 0;
  for (QComboBox* box : window->findChildren<QComboBox*>()) {
    if (!box->isVisible() || box->count() == 0) continue;
    box->showPopup();
    QTest::qWait(50);
    QAbstractItemView* list = box->view();
    ASSERT_TRUE(list->isVisible()) << box->accessibleName().toStdString();
    EXPECT_GE(list->viewport()->width(), list->sizeHintForColumn(0)) << box->accessibleName().toStdString();
    box->hidePopup();
    QTest::qWait(20);
    ++n;
  }
  EXPECT_GE(n, 4);
}

}  // namespace
}  // namespace kvscope
