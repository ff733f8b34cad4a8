// SPDX-License-Identifier: Apache-2.0
// Controls as Qt draws them under our style sheet.
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

}  // namespace
}  // namespace kvscope
