// SPDX-License-Identifier: Apache-2.0
// Many runs on one prompt: add, compare, sweep, pin, report.
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>

#include "app/window/files/report.h"
#include "app/window/panels/runs/add_runs_dialog.h"
#include "app/window/panels/runs/run_grid.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "window/support/patience.h"
#include "window/support/story_fixture.h"

namespace kvscope {
namespace {

class RunsByMouse : public StoryByMouse {};
class RunsByKeys : public StoryByKeys {};

INSTANTIATE_TEST_SUITE_P(Looks, RunsByMouse, ::testing::ValuesIn(kLooks), nameOfLook);

TEST_P(RunsByMouse, AreComparedSweptPinnedAndReported) {
  // 1 Compare, Add runs: policies × budgets, with what they will take.
  QTest::keyClick(window.get(), Qt::Key_3, Qt::AltModifier);
  QTest::keyClick(window.get(), Qt::Key_R, Qt::ControlModifier);
  AddRunsDialog& dialog = window->runActions().dialog();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&dialog));
  QTableView& table = dialog.grid().table();
  RunGridModel& model = dialog.grid().model();
  for (const char* policy : {"knorm", "tova"}) {
    for (int column = 0; column < 2; ++column) {
      const QModelIndex cell = model.index(model.rowOf(policy), column);
      table.scrollTo(cell);
      QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualRect(cell).center());
    }
  }
  EXPECT_EQ(model.chosen().size(), 4u);
  EXPECT_TRUE(dialog.estimate().startsWith("4 runs · about "));
  picture("1-add-runs", &dialog);
  // 2 They fill one by one, the others stay, one is cancelled.
  QTest::mouseClick(&dialog.addButton(), Qt::LeftButton);
  ASSERT_EQ(window->workspace().waitingRuns().size(), 4u);
  CanvasWidget* compare = window->canvas("compare");
  ASSERT_TRUE(waitFor(
      [&] {
        return std::ranges::any_of(compare->view().marks(), [](const viz::Mark& m) { return m.kind == "waiting"; }) ||
               !window->model().runs.busy();
      },
      5000));
  picture("2-waiting");
  const int last = window->model().runs.runs().back().id;
  for (const viz::Mark& mark : compare->view().marks())
    if (mark.label == "cancel run " + std::to_string(last))
      click("compare", {static_cast<int>((mark.min.x + mark.max.x) / 2), static_cast<int>((mark.min.y + mark.max.y) / 2)});
  if (window->model().runs.runs().back().open()) window->model().runs.cancel(last);  // its row was not among those shown
  ASSERT_TRUE(settle());
  const bool cancelled = window->model().runs.runs().back().state == QueuedRun::State::cancelled;
  EXPECT_EQ(snapshot().lanes.size(), cancelled ? 8u : 9u) << "fast as it is, the last may have been done";
  // 3 Sort by KL; a token's fate in every run at once.
  click("compare", at("compare", "column", "mean KL"));
  picture("3-sorted");
  const QPoint strip = at("compare", "strip", "lane 2");
  QTest::mouseMove(compare, strip);
  ASSERT_TRUE(waitFor([&] { return window->workspace().hover().token.has_value(); }, 5000));
  // 4 The difference of two runs.
  click("compare", at("compare", "lane", "lane 3"));
  click("compare", at("compare", "lane", "lane 2"), Qt::ShiftModifier);
  for (QComboBox* box : window->panel("compare")->header()->findChildren<QComboBox*>())
    if (box->accessibleName() == "view") {
      for (int mode : {1, 2}) {
        box->setCurrentIndex(mode);
        Q_EMIT box->activated(mode);
        QTest::qWait(50);
        picture(mode == 1 ? "4-against-one" : "4-pairwise");
      }
    }
  bool both = false;
  for (const viz::Mark& mark : compare->view().marks())
    both = both || (mark.kind == "difference" && mark.label.find("both") != std::string::npos);
  EXPECT_TRUE(both);
  // 5 The sweep; a click on a point opens that run.
  QTest::keyClick(window.get(), Qt::Key_4, Qt::AltModifier);
  SweepPanel& sweep = window->runActions().sweep();
  sweep.grid().budgets().setText("12 %, 25 %, 50 %");
  picture("5-sweep-before");
  QTest::mouseClick(&sweep.startButton(), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(sweep.data().missing().size(), 0u);
  picture("5-sweep");
  const std::string knee = "knorm:ratio=0.25";  // no other marker lies on this one
  QTest::mouseClick(&sweep.chart(), Qt::LeftButton, {}, sweep.chart().markerOf(knee).toPoint());
  ASSERT_TRUE(settle());
  EXPECT_EQ(shown().spec, knee);
  picture("5-opened");
  // 6 A pin by hand becomes a run of its own beside it.
  click("compare", at("compare", "strip", "lane " + std::to_string(selection().lane)));
  ASSERT_TRUE(selection().tokens);
  const std::size_t before = snapshot().lanes.size();
  QTest::keyClick(window->canvas("compare"), Qt::Key_P);
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), before + 1);
  EXPECT_NE(shown().spec.find("@pin="), std::string::npos) << shown().spec;
  EXPECT_GE(shown().fork_of, 0);
  picture("6-pinned");
  QTest::keyClick(window.get(), Qt::Key_1, Qt::AltModifier);
  picture("6-what-if");
  // 7 The report.
  QTemporaryDir folder;
  QString why;
  const QString kept = qEnvironmentVariable("KVSCOPE_STORY_PICTURES");
  const QString path = (kept.isEmpty() ? folder.path() : kept) + "/" + name() + "-7-report.pdf";
  ASSERT_TRUE(writeReport(window->exports().report(), path, ReportPaper::one_page, &why)) << why.toStdString();
  // the pin needed one token more, which the sweep had not measured: the report has the runs, and no curves of another text
  EXPECT_TRUE(reportHtml(window->exports().report()).contains("tova:"));
}

TEST_F(RunsByKeys, AreComparedSweptAndPinned) {
  keys({"alt+3", "ctrl+r"});
  AddRunsDialog& dialog = window->runActions().dialog();
  ASSERT_TRUE(waitFor([&] { return dialog.isVisible(); }, 3000));
  dialog.activateWindow();
  ASSERT_TRUE(waitFor([&] { return dialog.grid().table().hasFocus(); }, 3000));
  keys({"Down", "Down", "Down", "Right", "space", "Return"});
  ASSERT_TRUE(waitFor([&] { return !dialog.isVisible(); }, 3000));
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), 6u);
  const std::string added = snapshot().lanes.back().spec;
  // Through the runs, and one for the difference.
  window->canvas("compare")->setFocus();
  keys({"Down", "r", "Down"});
  keys({"ctrl+3"});
  EXPECT_EQ(selection().lane, 2);
  // The sweep, and the run of a point.
  keys({"alt+4"});
  ASSERT_EQ(window->page(), MainWindow::Page::sweep);
  window->runActions().sweep().grid().budgets().setText("25 %, 50 %");
  window->runActions().sweep().startButton().setFocus();
  keys({"space"});
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->runActions().sweep().data().missing().empty());
  window->runActions().sweep().chart().setFocus();
  keys({"Right", "Return"});
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  // A pin by hand.
  window->canvas("compare")->setFocus();
  keys({"ctrl+End", "Left", "Left", "p"});
  ASSERT_TRUE(settle());
  EXPECT_NE(shown().spec.find("@pin="), std::string::npos) << shown().spec;
  keys({"ctrl+z"});
  ASSERT_TRUE(settle());
  for (const LaneSnapshot& l : snapshot().lanes) EXPECT_EQ(l.spec.find("@pin="), std::string::npos);
}

}  // namespace
}  // namespace kvscope
