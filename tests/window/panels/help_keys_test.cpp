// SPDX-License-Identifier: Apache-2.0
// Keys that the user gives to commands.
#include "window/panels/panel_fixture.h"

#include <QAction>
#include <QApplication>
#include <QHelpEvent>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QSignalSpy>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QToolButton>
#include <QToolTip>

#include "app/window/commands/key_map.h"
#include "app/window/help/help_dialog.h"
#include "app/window/help/help_dialog_keys.h"
#include "app/window/session/kept_settings.h"
#include "window/support/file_bytes.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

/// A window with three commands, one of them without a key.
struct Commands {
  Commands() {
    QMenu* menu = window.menuBar()->addMenu("&File");
    open = add(menu, "&Open model…", {QKeySequence("Ctrl+O")});
    generate = add(menu, "&Generate", {QKeySequence("F5"), QKeySequence("Ctrl+Return")});
    report = add(menu, "&Report…", {});
    help = add(menu, "&Keys", {QKeySequence("F1")});
  }
  QAction* add(QMenu* menu, const QString& text, const QList<QKeySequence>& keys) {
    QAction* action = menu->addAction(text);
    action->setShortcuts(keys);
    return action;
  }
  QMainWindow window;
  QAction *open, *generate, *report, *help;
};

class KeyMapTest : public PanelTest {
 protected:
  QString path() const { return folder.filePath("s.ini"); }
  QTemporaryDir folder;
  Commands made;
};

using Keys = QList<QKeySequence>;

TEST_F(KeyMapTest, AKeyGoesToOneCommandOnlyAndBack) {
  KeyMap keys(made.window, nullptr);
  keys.set(*made.report, QKeySequence("Ctrl+O"));
  EXPECT_EQ(made.report->shortcuts(), Keys{QKeySequence("Ctrl+O")});
  EXPECT_TRUE(made.open->shortcuts().isEmpty()) << "two commands with one key would do neither";
  EXPECT_EQ(keys.holder(QKeySequence("Ctrl+O")), made.report);
  EXPECT_EQ(keys.nChanged(), 2);
  keys.reset(*made.open);
  EXPECT_EQ(made.open->shortcuts(), Keys{QKeySequence("Ctrl+O")});
  EXPECT_TRUE(made.report->shortcuts().isEmpty());
  EXPECT_EQ(keys.nChanged(), 0);
  keys.set(*made.generate, QKeySequence());
  EXPECT_TRUE(made.generate->shortcuts().isEmpty());
  keys.resetAll();
  EXPECT_EQ(made.generate->shortcuts(), (Keys{QKeySequence("F5"), QKeySequence("Ctrl+Return")}));
}

TEST_F(KeyMapTest, WhatWouldTakeTypingOrHelpAwayIsRefused) {
  KeyMap keys(made.window, nullptr);
  for (const char* key : {"E", "Shift+E", "Space", "Return", "F1", "Ctrl+Shift+P"}) {
    EXPECT_NE(keys.refusal(QKeySequence(key)), "") << key;
    keys.set(*made.report, QKeySequence(key));
    EXPECT_TRUE(made.report->shortcuts().isEmpty()) << key;
  }
  for (const char* key : {"Ctrl+E", "Alt+E", "F9", "Shift+F9", "Ctrl+Shift+E"}) EXPECT_EQ(keys.refusal(QKeySequence(key)), "") << key;
  keys.set(*made.help, QKeySequence("F9"));
  EXPECT_EQ(made.help->shortcuts(), Keys{QKeySequence("F1")});
}

TEST_F(KeyMapTest, TheNextStartHasThemAgain) {
  {
    KeptSettings s(path(), QSettings::IniFormat);
    KeyMap keys(made.window, &s);
    keys.set(*made.report, QKeySequence("Ctrl+O"));
    keys.set(*made.generate, QKeySequence("F6"));
  }
  Commands later;
  KeptSettings s(path(), QSettings::IniFormat);
  KeyMap keys(later.window, &s);
  EXPECT_EQ(later.report->shortcuts(), Keys{QKeySequence("Ctrl+O")});
  EXPECT_TRUE(later.open->shortcuts().isEmpty());
  EXPECT_EQ(later.generate->shortcuts(), Keys{QKeySequence("F6")});
  keys.resetAll();
  EXPECT_EQ(later.open->shortcuts(), Keys{QKeySequence("Ctrl+O")});
  s.sync();
  EXPECT_TRUE(QSettings(path(), QSettings::IniFormat).allKeys().filter("keys/").isEmpty()) << "what is the default is not written";
}

TEST_F(KeyMapTest, KeysThatTheNextStartWillNotHaveAreSaid) {
  write(folder.filePath("no folder"), "");
  KeptSettings s(folder.filePath("no folder/s.ini"), QSettings::IniFormat);
  QSignalSpy said(&s, &KeptSettings::notKept);
  KeyMap keys(made.window, &s);
  EXPECT_EQ(said.count(), 0) << "nothing was asked for";
  keys.set(*made.report, QKeySequence("Ctrl+O"));
  ASSERT_EQ(said.count(), 1) << "once, though another command has lost it";
  EXPECT_TRUE(said[0][0].toString().startsWith("The next start will not know the key of “Report…”: "))
      << said[0][0].toString().toStdString();
  keys.reset(*made.report);
  EXPECT_EQ(said.count(), 2) << "the other one is still without it";
  keys.resetAll();
  EXPECT_EQ(said.count(), 2) << "the next start knows nothing else";
}

TEST_F(KeyMapTest, HostileSettingsDoNoHarm) {
  {
    KeptSettings s(path(), QSettings::IniFormat);
    s.setValue("keys/File/Report", "E; F1; nonsense; ; Ctrl+Shift+P");
    s.setValue("keys/File/Open model", QByteArray("\xff\xfe\x00\x01", 4));
    s.setValue("keys/File/No such command", "Ctrl+G");
    s.setValue("keys/File/Keys", QVariantList{1, 2});
  }
  KeptSettings s(path(), QSettings::IniFormat);
  KeyMap keys(made.window, &s);
  EXPECT_TRUE(made.report->shortcuts().isEmpty());
  EXPECT_EQ(keys.holder(QKeySequence("F1")), made.help) << "help keeps its key whatever stands there";
  EXPECT_EQ(keys.holder(QKeySequence("Ctrl+G")), nullptr);
}

TEST_F(KeyMapTest, TooltipsNameTheKeysThatHold) {
  KeyMap keys(made.window, nullptr);
  EXPECT_EQ(keys.words("Open a model folder (Ctrl+O)"), "Open a model folder (Ctrl+O)");
  keys.set(*made.generate, QKeySequence("F6"));
  EXPECT_EQ(keys.words("Generate this many tokens (F5, Ctrl+Enter)"), "Generate this many tokens (F6)");
  keys.set(*made.generate, QKeySequence());
  EXPECT_EQ(keys.words("Generate this many tokens (F5, Ctrl+Enter)"), "Generate this many tokens");
  EXPECT_EQ(keys.words("a bookmark is gone (Ctrl+Z brings it back)"), "a bookmark is gone (Ctrl+Z brings it back)");
  keys.set(*made.open, QKeySequence("Ctrl+Shift+O"));
  QToolButton button;
  button.setToolTip("Open a model folder (Ctrl+O)");
  show(button, 80, 30);
  QHelpEvent asked(QEvent::ToolTip, QPoint(5, 5), button.mapToGlobal(QPoint(5, 5)));
  QApplication::sendEvent(&button, &asked);
  EXPECT_EQ(QToolTip::text(), "Open a model folder (Ctrl+Shift+O)");
  QToolTip::hideText();
}

TEST_F(KeyMapTest, TheSheetOfKeysGivesAnother) {
  KeyMap keys(made.window, nullptr);
  HelpDialog help(workspace, controller, &made.window, &keys);
  show(help, 980, 640);
  KeyEditor& editor = *help.editor();
  EXPECT_FALSE(editor.field().isEnabled()) << "nothing is selected";
  help.search().setText("report");
  ASSERT_EQ(help.shownKeys().size(), 1u) << "commands without a key are found by their words";
  ASSERT_TRUE(editor.field().isEnabled());
  editor.field().setFocus();
  QTest::keyClick(&editor.field(), Qt::Key_O, Qt::ControlModifier);
  EXPECT_TRUE(waitFor([&] { return editor.note().contains("“Open model…”"); }, 5000)) << editor.note().toStdString();
  EXPECT_EQ(made.report->shortcut(), QKeySequence()) << "not before it is said";
  QTest::mouseClick(&editor.setButton(), Qt::LeftButton);
  EXPECT_EQ(made.report->shortcut(), QKeySequence("Ctrl+O"));
  EXPECT_EQ(help.table().item(0, 2)->text(), "Ctrl+O, by you");
  QTest::mouseClick(&editor.resetAllButton(), Qt::LeftButton);
  EXPECT_EQ(made.open->shortcut(), QKeySequence("Ctrl+O"));
  EXPECT_FALSE(editor.resetAllButton().isEnabled());
  help.search().setText("move the cell cursor");
  EXPECT_FALSE(editor.field().isEnabled());
  EXPECT_TRUE(editor.note().contains("cannot be changed")) << editor.note().toStdString();
}

}  // namespace
}  // namespace kvscope
