// SPDX-License-Identifier: Apache-2.0
// A sweep over many texts that is begun in the window: a kvscope-cli of its own fills the store, which is shown while it grows.
#include <unistd.h>

#include <csignal>

#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProcess>
#include <QSettings>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QToolButton>

#include "app/window/panels/runs/run_grid.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/panels/stores/store_panel.h"
#include "app/window/panels/stores/sweep_page.h"
#include "app/window/panels/stores/sweep_process.h"
#include "app/window/panels/stores/text_sweep_dialog.h"
#include "app/window/rows/rows.h"
#include "window/support/file_bytes.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

using SweepState = SweepProcess::State;

class TextSweepTest : public WindowTest {
 protected:
  void SetUp() override {
    path = qgetenv("PATH");
    qputenv("PATH", QFileInfo(KVSCOPE_CLI).absolutePath().toUtf8() + ":" + path);
    WindowTest::SetUp();
    writeTexts(2);
    window->runActions().sweepTexts();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&dialog()));
    dialog().texts().setText(folder.filePath("my texts.jsonl"));
    dialog().policies().setText("local,h2o:sinks=2,recent=3");
    dialog().budgets().setText("20 %, 90 %");
  }
  void TearDown() override {
    window.reset();
    qputenv("PATH", path);
  }
  void writeTexts(int n) {
    QByteArray lines;
    for (int i = 0; i < n; ++i)
      lines += QString(R"({"context":"The boats lay in the harbour all day long. The house number of Tom is %1. Nobody knew when the wind )"
                       R"(would turn.","question":"\nWhat is the house number of Tom?","answer":"%1",)"
                       R"("answer_prefix":" The house number of Tom is","max_new_tokens":4})")
                   .arg(482 + 7 * i)
                   .toUtf8() +
               "\n";
    write(folder.filePath("my texts.jsonl"), lines);
  }
  TextSweepDialog& dialog() { return window->runActions().textSweepDialog(); }
  SweepProcess& process() { return window->runActions().textSweep(); }
  StorePanel& panel() { return window->runActions().sweepPage().store(); }
  QString store() const { return folder.filePath("my texts-sweep"); }
  std::string words() { return dialog().words().toStdString(); }
  void start() { QTest::mouseClick(&dialog().startButton(), Qt::LeftButton); }
  /// Items with the times at which they were written.
  QStringList items() const {
    QStringList out;
    for (const QFileInfo& file : QDir(store()).entryInfoList({"*.json"}, QDir::Files))
      if (!file.fileName().startsWith("sweep-")) out << file.fileName() + file.lastModified().toString(Qt::ISODateWithMs);
    return out;
  }

  QTemporaryDir folder;
  QByteArray path;
};

TEST_F(TextSweepTest, IsTheCommandThatIsShownAndItsStoreIsShownWhileItGrows) {
  EXPECT_EQ(dialog().store().text(), store());
  EXPECT_EQ(words(), "2 texts × 5 runs (2 policies at 2 budgets, and the full cache): 10 items in all.");
  EXPECT_EQ(dialog().command(),
            QString("kvscope-cli sweep --texts '%1' --policies local,h2o:sinks=2,recent=3 --ratios 0.2,0.9 --store '%2' --table")
                .arg(folder.filePath("my texts.jsonl"), store()));
  const QString command = dialog().command();
  start();
  ASSERT_TRUE(process().running());
  EXPECT_FALSE(dialog().isVisible());
  EXPECT_EQ(window->page(), Page::sweep);
  EXPECT_TRUE(window->runActions().sweepPage().showsStore());
  EXPECT_TRUE(panel().processText().contains("my texts-sweep")) << panel().processText().toStdString();
  QTRY_VERIFY_WITH_TIMEOUT(process().state() != SweepState::running, 60000);
  EXPECT_EQ(process().state(), SweepState::done) << process().failure().toStdString();
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 10, 10000);
  EXPECT_EQ(panel().folder(), store());
  EXPECT_EQ(panel().processText(), "");
  // The same words in a shell: nothing is left to do, so the store is theirs.
  const QStringList before = items();
  QProcess shell;
  shell.start("sh", {"-c", command});
  ASSERT_TRUE(shell.waitForFinished(60000));
  EXPECT_EQ(shell.exitCode(), 0) << shell.readAllStandardError().toStdString();
  EXPECT_TRUE(shell.readAllStandardOutput().contains("h2o:sinks=2,recent=3"));
  EXPECT_EQ(items(), before);
}

TEST_F(TextSweepTest, CancelledItGoesOnWhereItStopped) {
  writeTexts(40);
  dialog().hide();
  window->runActions().sweepTexts();
  EXPECT_NE(words().find("200 items"), std::string::npos) << words();
  start();
  ASSERT_TRUE(process().running());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() >= 2 && panel().folder() == store(), 60000);
  EXPECT_TRUE(panel().processText().contains("of 200 items")) << panel().processText().toStdString();
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  EXPECT_EQ(process().state(), SweepState::stopped);
  EXPECT_TRUE(panel().processText().startsWith("Cancelled at ")) << panel().processText().toStdString();
  QTRY_VERIFY_WITH_TIMEOUT(process().processId() == 0, 10000);
  const QStringList before = items();
  EXPECT_GE(before.size(), 2);
  EXPECT_LT(before.size(), 200);
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  EXPECT_TRUE(process().running());
  QTRY_VERIFY_WITH_TIMEOUT(process().state() != SweepState::running, 120000);
  EXPECT_EQ(process().state(), SweepState::done) << process().failure().toStdString();
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 200, 20000);
  const QStringList after = items();
  for (const QString& item : before) EXPECT_TRUE(after.contains(item)) << item.toStdString() << " was computed again";
}

TEST_F(TextSweepTest, DoesNotBeginAnewWhereItsResultsHaveGone) {
  writeTexts(40);
  dialog().hide();
  window->runActions().sweepTexts();
  start();
  ASSERT_TRUE(process().running());
  QTRY_VERIFY_WITH_TIMEOUT(process().announced(), 60000);
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(process().processId() == 0, 10000);
  ASSERT_TRUE(QDir().rename(store(), folder.filePath("elsewhere")));
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  EXPECT_FALSE(process().running());
  EXPECT_TRUE(panel().processText().contains("is not there any more")) << panel().processText().toStdString();
  ASSERT_TRUE(QDir().rename(folder.filePath("elsewhere"), store()));
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  EXPECT_TRUE(process().running());
}

TEST_F(TextSweepTest, WhereItsTextsHaveGoneItSaysWhatToDo) {
  writeTexts(40);
  start();
  ASSERT_TRUE(process().running());
  QTRY_VERIFY_WITH_TIMEOUT(process().announced(), 60000);
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  ASSERT_TRUE(QFile::rename(folder.filePath("my texts.jsonl"), folder.filePath("elsewhere")));
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(process().state() == SweepState::failed, 60000);
  for (const QString& words : {folder.filePath("my texts.jsonl"), QString("put it back"), QString("begin another sweep"), store()})
    EXPECT_TRUE(panel().processText().contains(words)) << panel().processText().toStdString();
}

/// Nothing else computes, but the machine does.
TEST_F(TextSweepTest, IsAJobThatStopEnds) {
  writeTexts(40);
  dialog().hide();
  window->runActions().sweepTexts();
  EXPECT_EQ(window->rows().status().stateText(), "idle");
  start();
  ASSERT_TRUE(process().running());
  EXPECT_TRUE(window->rows().status().stateText().startsWith("sweeping over texts")) << window->rows().status().stateText().toStdString();
  dialog().hide();
  window->activateWindow();
  window->runActions().stop();
  EXPECT_EQ(process().state(), SweepState::stopped);
  EXPECT_EQ(window->rows().status().stateText(), "idle");
}

TEST_F(TextSweepTest, EndsWithTheWindow) {
  writeTexts(40);
  start();
  ASSERT_TRUE(process().running());
  QTRY_VERIFY_WITH_TIMEOUT(process().announced(), 60000);
  const auto id = static_cast<pid_t>(process().processId());
  ASSERT_GT(id, 0);
  ASSERT_EQ(::kill(id, 0), 0);
  window.reset();
  EXPECT_NE(::kill(id, 0), 0);
}

/// A user's window, with settings of its own.
class LeftSweepTest : public TextSweepTest {
 protected:
  void SetUp() override {
    QCoreApplication::setOrganizationName("kvscope-tests");
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.filePath("settings"));
    TextSweepTest::SetUp();
    options.picture.clear();
    options.journal = folder.filePath("journal").toStdString();
    startAgain();
  }
  void TearDown() override {
    TextSweepTest::TearDown();
    QCoreApplication::setOrganizationName({});
  }
  void startAgain() {
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    ASSERT_TRUE(settle());
  }
  QPushButton* offer() {
    QApplication::processEvents();
    return window->notices().text().contains("A sweep over texts was not finished") ? buttonOf(window->notices(), "Go on") : nullptr;
  }
  void cross() {
    for (QToolButton* button : window->notices().findChildren<QToolButton*>()) button->click();
    QApplication::processEvents();
  }
  void fill(int texts) {
    writeTexts(texts);
    window->runActions().sweepTexts();
    dialog().texts().setText(folder.filePath("my texts.jsonl"));
    dialog().policies().setText("local,h2o:sinks=2,recent=3");
    dialog().budgets().setText("20 %, 90 %");
    start();
    ASSERT_TRUE(process().running());
    QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() >= 2 && panel().folder() == store(), 60000);
  }
};

TEST_F(LeftSweepTest, ThatEndedWithItsWindowIsOfferedAtTheNextStart) {
  EXPECT_EQ(offer(), nullptr);
  fill(40);
  const QString command = shellLine("kvscope-cli", argumentsOf(process().sweep()));
  window.reset();
  const QStringList before = items();
  ASSERT_LT(before.size(), 200);
  startAgain();
  QPushButton* go_on = offer();
  ASSERT_NE(go_on, nullptr) << window->notices().text().toStdString();
  EXPECT_EQ(shellLine("kvscope-cli", argumentsOf(process().sweep())), command);
  EXPECT_TRUE(panel().processText().startsWith("Not finished: it ended at "))
      << panel().processText().toStdString() << ": nobody cancelled";
  EXPECT_TRUE(panel().processText().endsWith("of 200 items. What is finished stays.")) << panel().processText().toStdString();
  EXPECT_TRUE(window->notices().property("news").toBool()) << "nothing failed here";
  EXPECT_TRUE(window->files().recent().all().contains(store()));
  QTest::mouseClick(go_on, Qt::LeftButton);
  ASSERT_TRUE(process().running());
  EXPECT_EQ(window->page(), Page::sweep);
  QTRY_VERIFY_WITH_TIMEOUT(process().state() != SweepState::running, 120000);
  EXPECT_EQ(process().state(), SweepState::done) << process().failure().toStdString();
  const QStringList after = items();
  for (const QString& item : before) EXPECT_TRUE(after.contains(item)) << item.toStdString() << " was computed again";
  window.reset();
  startAgain();
  EXPECT_EQ(offer(), nullptr) << "it is whole";
  EXPECT_EQ(process().state(), SweepState::none);
}

TEST_F(LeftSweepTest, ThatWasCancelledOrIsAnotherWindowsIsNotOffered) {
  fill(40);
  process().stop();
  window.reset();
  startAgain();
  EXPECT_EQ(offer(), nullptr) << "somebody had cancelled it";
  EXPECT_EQ(process().state(), SweepState::stopped) << "and may still go on with it, on its page";
  for (const QString& key : window->model().settings->allKeys())
    if (key.startsWith("text_sweeps/") && key.endsWith("/window"))
      window->model().settings->setValue(key, static_cast<qint64>(::getppid()));
  window.reset();
  startAgain();
  EXPECT_EQ(offer(), nullptr) << "its window is there";
  EXPECT_EQ(process().state(), SweepState::none);
}

TEST_F(LeftSweepTest, IsOfferedAfterWorkThatIsRecovered) {
  fill(40);
  window->controller().setPrompt("A text that no file has.");
  ASSERT_TRUE(settle());
  window.reset();
  startAgain();
  QPushButton* recover = buttonOf(window->notices(), "Recover it");
  ASSERT_NE(recover, nullptr) << window->notices().text().toStdString();
  QTest::mouseClick(recover, Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_NE(offer(), nullptr) << window->notices().text().toStdString();
  window.reset();
  startAgain();
  while (QPushButton* again = buttonOf(window->notices(), "Recover it")) QTest::mouseClick(again, Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_NE(offer(), nullptr) << "nobody has answered it";
  cross();
  EXPECT_EQ(offer(), nullptr);
  window.reset();
  startAgain();
  while (QPushButton* again = buttonOf(window->notices(), "Recover it")) QTest::mouseClick(again, Qt::LeftButton);
  EXPECT_EQ(offer(), nullptr) << "it was answered";
  EXPECT_TRUE(panel().processText().startsWith("Not finished: ")) << "its page has it: " << panel().processText().toStdString();
}

TEST_F(LeftSweepTest, IsNotForgottenBecauseOfAnother) {
  fill(40);
  window.reset();
  startAgain();
  ASSERT_NE(offer(), nullptr);
  const auto begin = [this](const QString& texts, const QString& store) {
    window->runActions().sweepTexts();
    dialog().texts().setText(texts);
    dialog().policies().setText("local");
    dialog().budgets().setText("20 %");
    dialog().store().setText(store);
    start();
    ASSERT_TRUE(process().running());
    EXPECT_EQ(offer(), nullptr) << "one runs";
  };
  write(folder.filePath("no texts.jsonl"), "{\"context\":\"a b c\"}\n");
  begin(folder.filePath("no texts.jsonl"), folder.filePath("second"));
  QTRY_VERIFY_WITH_TIMEOUT(process().state() == SweepState::failed, 60000);
  EXPECT_TRUE(window->notices().text().contains("no texts.jsonl")) << window->notices().text().toStdString();
  cross();
  ASSERT_NE(offer(), nullptr) << "of the first: " << window->notices().text().toStdString();
  EXPECT_TRUE(window->notices().text().contains(store()));
  begin(folder.filePath("my texts.jsonl"), folder.filePath("third"));
  QTRY_VERIFY_WITH_TIMEOUT(process().announced(), 60000);
  window.reset();
  startAgain();
  ASSERT_NE(offer(), nullptr);
  EXPECT_TRUE(window->notices().text().contains("third")) << window->notices().text().toStdString();
  cross();
  ASSERT_NE(offer(), nullptr) << "what was there before it";
  EXPECT_TRUE(window->notices().text().contains(store())) << window->notices().text().toStdString();
  window->openFile(folder.filePath("third"));
  EXPECT_TRUE(panel().processText().startsWith("Not finished: ")) << panel().processText().toStdString();
  EXPECT_EQ(panel().cancelButton().text(), "Go on") << "with the one that is looked at";
  EXPECT_EQ(process().sweep().store, folder.filePath("third"));
  ASSERT_NE(offer(), nullptr);
  QTest::mouseClick(offer(), Qt::LeftButton);
  EXPECT_TRUE(process().running());
  EXPECT_EQ(process().sweep().store, store());
}

TEST_F(LeftSweepTest, IsNotForgottenWhereItCouldNotGoOn) {
  fill(40);
  window.reset();
  startAgain();
  ASSERT_NE(offer(), nullptr);
  const QString texts = folder.filePath("my texts.jsonl"), away = folder.filePath("away.jsonl");
  ASSERT_TRUE(QFile::rename(texts, away));
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(process().state() == SweepState::failed, 60000);
  EXPECT_TRUE(process().failure().contains("put it back")) << process().failure().toStdString() << ": a remedy";
  EXPECT_TRUE(process().failure().contains(store())) << "what is finished stays there";
  window.reset();
  startAgain();
  ASSERT_NE(offer(), nullptr) << "nobody gave it up";
  QTest::mouseClick(offer(), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(process().state() == SweepState::failed, 60000);
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  ASSERT_TRUE(QFile::rename(away, texts));
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  ASSERT_TRUE(process().running());
  EXPECT_EQ(offer(), nullptr) << "it runs";
  EXPECT_FALSE(window->notices().isVisible()) << window->notices().text().toStdString();
}

TEST_F(LeftSweepTest, OfferGoesOnceItRunsByWhicheverButton) {
  fill(40);
  window.reset();
  startAgain();
  ASSERT_NE(offer(), nullptr);
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);
  ASSERT_TRUE(process().running());
  EXPECT_EQ(offer(), nullptr);
}

/// The page is about the store that is shown.
TEST_F(TextSweepTest, OfAnotherStoreIsNamedAsAnother) {
  writeTexts(40);
  start();
  ASSERT_TRUE(process().running());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() >= 2 && panel().folder() == store(), 60000);
  const QString other = folder.filePath("other");
  ASSERT_TRUE(QDir().mkpath(other));
  for (const QFileInfo& file : QDir(store()).entryInfoList({"*.json"}, QDir::Files))
    ASSERT_TRUE(QFile::copy(file.filePath(), QDir(other).filePath(file.fileName())));
  window->openFile(other);
  EXPECT_EQ(panel().processText(), "Another sweep, my texts-sweep, is being computed");
  EXPECT_EQ(panel().cancelButton().text(), "Cancel my texts-sweep");
  process().stop();
  EXPECT_EQ(panel().processText(), "Another sweep, my texts-sweep, was cancelled. What is finished stays.");
  EXPECT_EQ(panel().cancelButton().text(), "Go on with my texts-sweep");
  window->openFile(store());
  EXPECT_TRUE(panel().processText().startsWith("Cancelled at ")) << panel().processText().toStdString();
  EXPECT_EQ(panel().cancelButton().text(), "Go on");
}

/// Clicks land where one aims.
TEST_F(TextSweepTest, WordsOfTheDialogMoveNoRow) {
  const auto rows = [this] {
    QApplication::processEvents();
    std::vector<int> out;
    for (QWidget* row : std::initializer_list<QWidget*>{&dialog().source(), &dialog().policies(), &dialog().budgets(), &dialog().store()})
      out.push_back(row->mapTo(&dialog(), QPoint()).y());
    return out;
  };
  const std::vector<int> before = rows();
  dialog().policies().setText("local,no_policy_of_this_name_" + QString("and_it_is_long_").repeated(40));
  EXPECT_EQ(rows(), before);
  dialog().policies().setText("local");
  EXPECT_EQ(rows(), before);
}

TEST_F(TextSweepTest, WhatStandsInTheWayIsSaidInTheDialog) {
  const auto refuses = [this](QLineEdit& line, const QString& text, const char* why) {
    const QString before = line.text();
    line.setText(text);
    EXPECT_NE(words().find(why), std::string::npos) << text.toStdString() << ": " << words();
    EXPECT_FALSE(dialog().startButton().isEnabled());
    EXPECT_EQ(dialog().command(), "");
    line.setText(before);
    EXPECT_TRUE(dialog().startButton().isEnabled()) << words();
  };
  refuses(dialog().texts(), folder.filePath("none.jsonl"), "none.jsonl");
  refuses(dialog().texts(), "", "Choose a file");
  write(folder.filePath("empty.jsonl"), "\n \n");
  refuses(dialog().texts(), folder.filePath("empty.jsonl"), "got no line");
  refuses(dialog().policies(), "local,nonsense", "nonsense");
  refuses(dialog().policies(), "h2o:ratio=0.2", "expected no budget");
  refuses(dialog().policies(), "full", "runs in any case");
  refuses(dialog().policies(), "", "one policy");
  refuses(dialog().budgets(), "20 %, 64", "Texts differ in length");
  refuses(dialog().budgets(), "much", "“much” is not a budget");
  refuses(dialog().budgets(), "", "one budget");
  refuses(dialog().store(), " ", "folder for the results");
  qputenv("PATH", "/nowhere");
  dialog().policies().setText("local");
  EXPECT_NE(words().find("kvscope-cli is neither beside"), std::string::npos) << words();
  EXPECT_FALSE(dialog().startButton().isEnabled());
}

TEST_F(TextSweepTest, OffersThePoliciesOfTheRunsOnScreen) {
  dialog().hide();
  dialog().policies().setText("");
  window->controller().setLaneSpec(1, QString("streaming:ratio=0.25,sinks=2@evict=3,step=1"));
  window->controller().addLane(QString("snapkv:slots=7"));
  auto fresh = std::make_unique<TextSweepDialog>(window->model(), process(), nullptr);
  EXPECT_EQ(fresh->texts().text(), ownTexts());
  EXPECT_NE(QFileInfo(fresh->store().text()).absolutePath(), QFileInfo(ownTexts()).absolutePath())
      << "nothing is put beside what is the program's";
  fresh->suggest();
  EXPECT_EQ(fresh->policies().text().toStdString(), "streaming:sinks=2, h2o, snapkv, keepkv");
}

TEST_F(TextSweepTest, BeginsWithWhatTheSweepOverTheTextOnScreenHad) {
  dialog().hide();
  SweepPanel& own = window->runActions().sweep();
  window->showPage(Page::sweep);
  auto fresh = std::make_unique<TextSweepDialog>(window->model(), process(), nullptr);
  fresh->begin(own.swept());
  fresh->suggest();
  EXPECT_EQ(fresh->budgets().text(), "10 %, 20 %, 40 %") << "nobody swept yet";
  own.grid().model().clear();
  own.grid().model().choose("random", true);
  own.grid().model().choose("snapkv", true);
  own.grid().seeds().setText("0-2");
  own.grid().budgets().selectAll();
  QTest::keyClicks(&own.grid().budgets(), "15%, 30%, 64");
  fresh->begin(own.swept());
  fresh->suggest();
  EXPECT_EQ(fresh->budgets().text(), "15 %, 30 %") << "slots are of one text";
  EXPECT_EQ(fresh->seeds().value(), 3);
  QString wrong;
  EXPECT_EQ(parsePolicies(fresh->policies().text(), &wrong).size(), 2u) << fresh->policies().text().toStdString();
  ASSERT_TRUE(wrong.isEmpty()) << wrong.toStdString();
  EXPECT_TRUE(parsePolicies("quest", &wrong).empty());
  EXPECT_TRUE(wrong.startsWith("quest: it takes no budget")) << wrong.toStdString();
  fresh->budgets().setText("70 %");
  own.grid().budgets().selectAll();
  QTest::keyClicks(&own.grid().budgets(), "5%");
  fresh->begin(own.swept());
  fresh->suggest();
  EXPECT_EQ(fresh->budgets().text(), "70 %") << "what was typed stays";
}

TEST_F(TextSweepTest, HidesNumbersInProseWhereThereIsNoFile) {
  dialog().source().setCurrentIndex(1);
  EXPECT_EQ(words().substr(0, 17), "20 texts × 5 run");
  dialog().depths().setValue(3);
  dialog().samples().setValue(1);
  dialog().tokens().setValue(64);
  dialog().store().setText(folder.filePath("hidden"));
  EXPECT_EQ(words(), "3 texts × 5 runs (2 policies at 2 budgets, and the full cache): 15 items in all.");
  EXPECT_TRUE(dialog().command().startsWith("kvscope-cli sweep --hidden-numbers --context 64 --depths 0,0.5,1 --samples 1 --policies "))
      << dialog().command().toStdString();
  start();
  QTRY_VERIFY_WITH_TIMEOUT(process().state() != SweepState::running, 60000);
  ASSERT_EQ(process().state(), SweepState::done) << process().failure().toStdString();
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 15, 10000);
  EXPECT_EQ(panel().data().depths().front(), 0u);
  EXPECT_EQ(panel().data().depths().back(), 4u);
  EXPECT_TRUE(panel().data().knowsHeads());
}

TEST_F(TextSweepTest, WhyTheProgramGaveUpIsSaidWhereItWasShown) {
  write(folder.filePath("my texts.jsonl"), "{\"context\":\"a b c\"}\n");
  start();
  ASSERT_TRUE(process().running());
  QTRY_VERIFY_WITH_TIMEOUT(process().state() == SweepState::failed, 60000);
  EXPECT_TRUE(process().failure().contains("my texts.jsonl:1")) << process().failure().toStdString();
  EXPECT_FALSE(process().failure().startsWith("kvscope-cli:"));
  EXPECT_TRUE(panel().processText().contains("my texts.jsonl:1")) << panel().processText().toStdString();
  EXPECT_TRUE(window->notices().isVisible());
  EXPECT_TRUE(window->notices().text().contains("my texts.jsonl:1"));
  writeTexts(1);
  QTest::mouseClick(&panel().cancelButton(), Qt::LeftButton);  // go on
  EXPECT_FALSE(window->notices().isVisible());
  QTRY_VERIFY_WITH_TIMEOUT(process().state() != SweepState::running, 60000);
  EXPECT_EQ(process().state(), SweepState::done) << process().failure().toStdString();
}

}  // namespace
}  // namespace kvscope
