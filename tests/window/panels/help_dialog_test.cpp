// SPDX-License-Identifier: Apache-2.0
#include "window/panels/panel_fixture.h"

#include <gmock/gmock.h>
#include <QAction>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>

#include "app/window/help/help_dialog.h"
#include "app/window/help/help_dialog_guide.h"
#include "app/window/look/style.h"
#include "app/window/shell/panel_paint.h"

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

TEST_F(HelpDialogTest, FindsWhatWordsOnTheScreenMean) {
  HelpDialog help(workspace, controller, &window);
  const auto words = [&](const char* asked) {
    help.search().setText(asked);
    QStringList out;
    for (const KeyHelp& key : help.shownKeys())
      if (key.area == "Words") out << key.what;
    return out;
  };
  for (const char* asked : {"EMA share", "logit bias", "agreement", "rank", "votes"}) {
    const QStringList found = words(asked);
    ASSERT_FALSE(found.isEmpty()) << asked;
    EXPECT_GT(found.front().size(), 40) << "explained: " << found.front().toStdString();
  }
  EXPECT_TRUE(words("EMA share").front().startsWith("EMA share: ")) << "what is called so comes first";
  EXPECT_TRUE(words("").isEmpty()) << "keys, as long as nothing is looked for";
  EXPECT_EQ(help.windowTitle(), "Keys and how to read the pictures") << "as its menu calls it";
}

/// A lecture's dialogs get their type when they are shown.
TEST_F(HelpDialogTest, SwatchesHaveRoomInLargerTypeToo) {
  HelpDialog help(workspace, controller, &window);
  const auto* guide = help.findChild<HelpGuide*>();
  ASSERT_NE(guide, nullptr);
  const auto sizes = [&] {
    std::vector<int> out;
    for (const QWidget* child : guide->findChildren<QWidget*>(Qt::FindDirectChildrenOnly))
      if (child->minimumSize() == child->maximumSize()) out.push_back(child->width());
    return out;
  };
  const std::vector<int> before = sizes();
  ASSERT_EQ(before.size(), 6u);
  help.setStyleSheet(styleSheet(workspace.theme(), 1.6));
  help.show();
  for (const int side : sizes()) {
    EXPECT_GT(side, before.front());
    EXPECT_EQ(side, px(*guide, 14));
  }
}

TEST_F(HelpDialogTest, NamesEverythingThatTakesTheFocus) {
  HelpDialog help(workspace, controller, &window);
  EXPECT_THAT(unnamed(help), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kvscope
