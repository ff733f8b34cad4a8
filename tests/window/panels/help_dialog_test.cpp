// SPDX-License-Identifier: Apache-2.0
#include "window/panels/panel_fixture.h"

#include <gmock/gmock.h>
#include <QAction>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>

#include "app/window/help/help_dialog.h"

namespace kvscope {

bool operator==(const KeyHelp& a, const KeyHelp& b) { return a.area == b.area && a.what == b.what && a.keys == b.keys; }

namespace {

class HelpDialogTest : public PanelTest {
 protected:
  HelpDialogTest() {
    QMenu* menu = window.menuBar()->addMenu("&File");
    QAction* open = menu->addAction("&Open model…");
    open->setShortcut(QKeySequence("Ctrl+O"));
    menu->addAction("No key");
    auto* loose = new QAction("Salt && pepper", &window);
    loose->setShortcuts({QKeySequence("F7"), QKeySequence("Ctrl+7")});
  }
  static bool holds(const std::vector<KeyHelp>& keys, const KeyHelp& key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

  QMainWindow window;
};

TEST_F(HelpDialogTest, ListsEveryActionThatHasAKeyUnderItsMenu) {
  HelpDialog help(workspace, controller, &window);
  const auto keys = help.shownKeys();
  EXPECT_TRUE(holds(keys, {"File", "Open model…", "Ctrl+O"}));
  EXPECT_TRUE(holds(keys, {"Window", "Salt & pepper", "F7, Ctrl+7"}));
  for (const KeyHelp& key : keys) EXPECT_NE(key.what, "No key");
}

TEST_F(HelpDialogTest, SeesKeysThatWereChangedSinceItWasMade) {
  HelpDialog help(workspace, controller, &window);
  window.menuBar()->actions().front()->menu()->actions().front()->setShortcut(QKeySequence("Ctrl+Shift+O"));
  help.show();
  EXPECT_TRUE(holds(help.shownKeys(), {"File", "Open model…", "Ctrl+Shift+O"}));
}

TEST_F(HelpDialogTest, ListsTheKeysOfTheCanvases) {
  HelpDialog help(workspace, controller, &window);
  const auto keys = help.shownKeys();
  for (const KeyHelp& key : canvasKeys()) EXPECT_TRUE(holds(keys, key)) << key.what.toStdString();
}

TEST_F(HelpDialogTest, FindsByWordsInAnyOrder) {
  HelpDialog help(workspace, controller, &window);
  help.search().setText("ctrl+o file");
  ASSERT_EQ(help.shownKeys().size(), 1u);
  EXPECT_EQ(help.shownKeys()[0].what, "Open model…");
  help.search().setText("no such thing");
  EXPECT_TRUE(help.shownKeys().empty());
}

TEST_F(HelpDialogTest, NamesEverythingThatTakesTheFocus) {
  HelpDialog help(workspace, controller, &window);
  EXPECT_THAT(unnamed(help), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kvscope
