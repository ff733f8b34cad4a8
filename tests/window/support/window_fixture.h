// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <QApplication>
#include <QPushButton>
#include <QTest>

#include "app/window/diagnostics/script.h"
#include "app/window/shell/main_window.h"
#include "window/support/patience.h"

namespace kvscope {

/// The visible button whose text contains `words`; nullptr: there is none.
inline QPushButton* buttonOf(QWidget& in, const QString& words) {
  for (QPushButton* b : in.findChildren<QPushButton*>())
    if (b->isVisible() && b->text().contains(words)) return b;
  return nullptr;
}

/// The whole window over the embedded model: five runs, the prompt in one prefill step and four tokens after it.
class WindowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options.picture = "unused.png";  // no settings are read or written
    options.prompt = "The house number of Helen is 482. What is the house number of Helen? The house number of Helen is";
    options.generate = 4;
    if (options.lanes.empty()) options.lanes = {"streaming:ratio=0.25", "h2o:ratio=0.25", "snapkv:ratio=0.25", "keepkv:ratio=0.25"};
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    window->activateWindow();
    ASSERT_TRUE(waitUntilSettled(*window, 60000 * kPatience));
    ASSERT_EQ(snapshot().phase, RunPhase::idle) << snapshot().failure;
  }
  const Snapshot& snapshot() const { return window->workspace().snapshot(); }
  bool settle() { return waitUntilSettled(*window, 60000 * kPatience); }
  void press(int key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(window.get(), Qt::Key(key), modifiers);
    QApplication::processEvents();
  }
  std::string lane(int i) const { return window->controller().request().lanes[static_cast<std::size_t>(i)].text; }

  Options options;
  std::unique_ptr<MainWindow> window;
};

}  // namespace kvscope
