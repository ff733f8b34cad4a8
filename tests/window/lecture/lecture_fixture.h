// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <QLabel>
#include <QTemporaryDir>

#include "app/window/lecture/lecture_guide.h"
#include "app/window/lecture/lecture_page.h"
#include "app/window/lecture/lecture_row.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {

/// The window in the layout Lecture, with the sample lecture.
class LectureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options.picture = "unused.png";  // no settings are read or written
    options.view = "welcome";
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    window->activateWindow();
    ASSERT_TRUE(settle());
  }
  void openSample() {
    window->document().openSampleLecture();
    ASSERT_TRUE(settle());
    ASSERT_TRUE(waitFor([this] { return snapshot().lanes.size() == 4 && snapshot().phase == RunPhase::idle; }, 30000));
    ASSERT_TRUE(settle());
  }
  const Snapshot& snapshot() const { return window->workspace().snapshot(); }
  const viz::Selection& selection() const { return window->workspace().selection(); }
  bool settle() { return waitUntilSettled(*window, 60000); }
  /// Where the row above says what the budget is.
  const QLabel& slotLabel() const {
    const auto labels = window->lectureMode().row().findChildren<QLabel*>();
    return **std::ranges::find_if(labels, [](const QLabel* label) { return label->text().contains(" slots"); });
  }
  QString slotWords() const { return slotLabel().text(); }
  /// To whatever has the focus, as a key on a keyboard.
  void press(int key, Qt::KeyboardModifiers modifiers = {}) {
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus ? focus : window.get(), Qt::Key(key), modifiers);
    QApplication::processEvents();
  }

  Options options;
  std::unique_ptr<MainWindow> window;
};

}  // namespace kvscope
