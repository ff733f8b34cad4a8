// SPDX-License-Identifier: Apache-2.0
// Opening a model takes its time in the open: stages, bytes, a button that ends it, and a window that can be used meanwhile.
#include <QMenuBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/loading_row.h"
#include "app/window/rows/rows.h"
#include "arch/sparse_model.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

LoadStage stage(LoadStage::State state, double bytes, double of, double ms) { return {"x", state, bytes, of, ms}; }

TEST(StageWordsTest, SayWhatIsKnown) {
  using State = LoadStage::State;
  constexpr double mib = 1024 * 1024;
  EXPECT_EQ(stageWords(stage(State::waiting, 0, 0, 0)), "");
  EXPECT_EQ(stageWords(stage(State::running, 0, 0, 0)), "");
  EXPECT_EQ(stageWords(stage(State::running, 10 * mib, 40 * mib, 100)), "10.0 MiB of 40.0 MiB") << "too early for a guess";
  EXPECT_EQ(stageWords(stage(State::running, 10 * mib, 40 * mib, 2000)), "10.0 MiB of 40.0 MiB, about 6 s left");
  EXPECT_EQ(stageWords(stage(State::running, 0, 40 * mib, 2000)), "0 B of 40.0 MiB");
  EXPECT_EQ(stageWords(stage(State::done, 40 * mib, 40 * mib, 412)), "412 ms");
}

TEST_F(WindowTest, AHugeModelShowsItsStagesWhileTheWindowStaysUsableAndCancelKeepsTheOldOne) {
  QTemporaryDir folder;
  const QString huge = QString::fromStdString(test::write_sparse_model(folder.filePath("huge").toStdString(), 64));
  EXPECT_FALSE(window->rows().loading().isVisible());
  window->openFile(huge);
  ASSERT_TRUE(waitFor([this] { return window->rows().loading().isVisible(); }, 20000));
  EXPECT_TRUE(window->rows().loading().stageText(0).startsWith("read header"));
  ASSERT_TRUE(waitFor([this] { return window->rows().loading().stageText(1).contains(" of "); }, 20000));
  EXPECT_EQ(window->rows().loading().stageText(3), "warm up");
  EXPECT_EQ(snapshot().model.name, "kvmini") << "the old model's picture stays";
  // The window can be used: pages, typing, menus.
  window->showPage(MainWindow::Page::compare);
  window->showPage(MainWindow::Page::inspect);
  PromptEditor& editor = window->work().prompt().editor();
  editor.setFocus();
  QTest::keyClicks(&editor, " now");
  EXPECT_TRUE(window->controller().request().prompt.ends_with(" now"));
  ASSERT_TRUE(window->rows().loading().isVisible()) << "typing does not end it";
  window->rows().loading().cancelButton()->click();
  ASSERT_TRUE(waitFor([this] { return !window->rows().loading().isVisible(); }, 5000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().model.name, "kvmini");
  EXPECT_TRUE(QString::fromStdString(snapshot().prompt).endsWith(" now")) << "and what was typed is computed";
}

TEST(LoadingTest, CancelAtTheStartOffersTheWaysOut) {
  QTemporaryDir folder;
  Options options;
  options.picture = "unused.png";
  options.model = test::write_sparse_model(folder.filePath("huge").toStdString(), 64);
  MainWindow window(options, startState(options));
  window.show();
  ASSERT_TRUE(waitFor([&] { return window.rows().loading().isVisible(); }, 20000));
  QTest::mouseClick(window.rows().loading().cancelButton(), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return window.messages().isVisible(); }, 5000));
  EXPECT_FALSE(window.rows().loading().isVisible());
  EXPECT_TRUE(window.messages().text().contains("was not opened: stopped")) << window.messages().text().toStdString();
  QPushButton* other = buttonOf(window.messages(), "built-in");
  ASSERT_NE(other, nullptr);
  other->click();
  ASSERT_TRUE(
      waitFor([&] { return window.workspace().snapshot().model.name == "kvmini" && window.workspace().snapshot().phase == RunPhase::idle; },
              30000));
  EXPECT_FALSE(window.messages().isVisible());
}

TEST(LoadingTest, CanBeClosedWhileItLoads) {
  QTemporaryDir folder;
  Options options;
  options.picture = "unused.png";
  options.model = test::write_sparse_model(folder.filePath("huge").toStdString(), 64);
  auto window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(waitFor([&] { return window->rows().loading().isVisible(); }, 20000));
  window.reset();
}

TEST_F(WindowTest, ASmallModelLeavesNoRowBehind) {
  window->openFile(QString::fromStdString(builtInModel()));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->rows().loading().isVisible());
}

}  // namespace
}  // namespace kvscope
