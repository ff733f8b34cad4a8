// SPDX-License-Identifier: Apache-2.0
// The keyboard goes from panel to panel.
#include <set>
#include <utility>
#include <vector>

#include <QDockWidget>

#include "app/window/commands/commands.h"
#include "app/window/panels/policy/head_keys_form.h"
#include "app/window/panels/policy/policy_panel.h"
#include "app/window/shell/panel.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class GoToPanelTest : public WindowTest {
 protected:
  /// The panel in which the keyboard is.
  QString at() const {
    const QWidget* focus = QApplication::focusWidget();
    for (const char* id :
         {"prompt", "policy", "atlas", "head_strip", "timeline", "head_grid", "effect", "table", "inspector", "compare", "sweep"})
      if (const Panel* p = window->panel(id); p && focus && p->body()->isAncestorOf(focus)) return id;
    return {};
  }
  QAction* command(const QString& area, const QString& text) {
    for (QAction* a : commandsOf(*window))
      if (commandArea(*a) == area && commandText(a->text()) == text) return a;
    return nullptr;
  }
};

TEST_F(GoToPanelTest, ByName) {
  for (const char* id : {"head_grid", "compare", "policy", "inspector", "table", "prompt", "effect", "timeline"}) {
    QAction* go = command("Go to panel", window->panel(id)->title());
    ASSERT_NE(go, nullptr) << id;
    go->trigger();
    QTest::qWait(20);
    EXPECT_EQ(at(), id);
    EXPECT_TRUE(window->panel(id)->body()->isVisible()) << id;
  }
}

TEST_F(GoToPanelTest, ToAParameterOfTheRunAndOfOneHead) {
  viz::Selection selection = window->workspace().selection();
  selection.layer = 1, selection.kv_head = 2;
  window->workspace().setSelection(selection);
  ASSERT_EQ(window->workspace().lane()->policy, "keepkv");
  for (const char* words : {"Parameters of the policy", "Parameters for the selected head only"}) {
    QAction* go = command("Go to panel", words);
    ASSERT_NE(go, nullptr) << words;
    go->trigger();
    QTest::qWait(20);
    EXPECT_EQ(at(), "policy");
    EXPECT_TRUE(window->work().policy().parametersShown());
  }
  EXPECT_TRUE(window->work().policy().headKeys().isAncestorOf(QApplication::focusWidget()));
}

TEST_F(GoToPanelTest, TheTableHasTheKeysWhenItOpens) {
  press(Qt::Key_D, Qt::ControlModifier);
  QTest::qWait(20);
  EXPECT_EQ(at(), "table");
}

TEST_F(GoToPanelTest, OneAfterTheOtherAndBack) {
  command("Go to panel", window->panel("atlas")->title())->trigger();
  ASSERT_EQ(at(), "atlas");
  std::vector<QString> there;
  std::set<QString> seen;
  for (int i = 0; i < 7; ++i) {
    there.push_back(at());
    seen.insert(at());
    QTest::keyClick(window.get(), Qt::Key_F7);
  }
  EXPECT_EQ(seen.size(), 7u) << "all of the page, and none twice";
  EXPECT_FALSE(seen.contains(QString()));
  EXPECT_EQ(at(), "atlas") << "and round";
  for (int i = 6; i >= 0; --i) {
    QTest::keyClick(window.get(), Qt::Key_F7, Qt::ShiftModifier);
    EXPECT_EQ(at(), there[static_cast<std::size_t>(i)]) << i;
  }
}

TEST_F(GoToPanelTest, WhatIsOpenedInALowWindowLeavesTheAtlasItsRows) {
  for (const QSize& size : {QSize(1600, 1000), QSize(1280, 720), QSize(1100, 600)}) {
    window->resize(size);
    QTest::qWait(50);
    Q_EMIT window->runActions().jobsRequested();
    QTest::qWait(50);
    QWidget* const dock = window->panel("jobs")->body()->window();
    EXPECT_EQ(dock, window.get()) << size.height() << ": it floats";
    EXPECT_FALSE(window->panel("jobs")->body()->visibleRegion().isEmpty()) << size.height();
    EXPECT_GE(window->panel("atlas")->body()->height(), 170) << size.height();
    QApplication::processEvents();
    for (QDockWidget* d : window->findChildren<QDockWidget*>())
      if (d->objectName() == "dock_jobs") d->close();
    QTest::qWait(20);
  }
}

TEST_F(GoToPanelTest, LeavesAPanelThatIsMaximised) {
  command("Go to panel", window->panel("atlas")->title())->trigger();
  QTest::keyClick(window.get(), Qt::Key_F11);
  ASSERT_FALSE(window->panel("timeline")->body()->isVisible());
  command("Go to panel", window->panel("timeline")->title())->trigger();
  EXPECT_EQ(at(), "timeline");
  EXPECT_TRUE(window->panel("timeline")->body()->isVisible());
  EXPECT_TRUE(window->panel("atlas")->body()->isVisible());
}

}  // namespace
}  // namespace kvscope
