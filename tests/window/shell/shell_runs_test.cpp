// SPDX-License-Identifier: Apache-2.0
// Runs beside those on screen: the sweep, the jobs, budgets drawn by hand, the report.
#include <algorithm>

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QToolButton>

#include "app/window/files/report.h"
#include "app/window/panels/policy/policy_form.h"
#include "app/window/panels/policy/policy_form_field.h"
#include "app/window/panels/policy/policy_panel.h"
#include "app/window/panels/policy/policy_panel_allocation.h"
#include "app/window/panels/policy/policy_panel_card.h"
#include "app/window/panels/runs/add_runs_dialog.h"
#include "app/window/panels/runs/jobs_panel.h"
#include "app/window/panels/runs/run_grid.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/rows/rows.h"
#include "app/window/session/run_estimate.h"
#include "snapshot/held_bytes.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class SweepTest : public WindowTest {
 protected:
  void openSweep() {
    press(Qt::Key_4, Qt::AltModifier);
    ASSERT_EQ(window->page(), MainWindow::Page::sweep);
    sweep().grid().budgets().setText("25 %, 50 %");
  }
  SweepPanel& sweep() { return window->runActions().sweep(); }
};

TEST_F(SweepTest, SuggestsThePoliciesOnScreenAndMeasuresThemWithoutTouchingIt) {
  openSweep();
  EXPECT_EQ(sweep().data().points().size(), 8u) << "four policies, two budgets";
  EXPECT_EQ(sweep().startButton().text(), "Measure 8 runs");
  const std::size_t lanes = snapshot().lanes.size();
  QTest::mouseClick(&sweep().startButton(), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(sweep().data().nMeasured(), 8);
  EXPECT_EQ(snapshot().lanes.size(), lanes);
  EXPECT_EQ(sweep().progressText(), "all 8 measured");
  // A point says what the comparison says of the same run.
  for (std::size_t i = 1; i < snapshot().lanes.size(); ++i) {
    for (const SweepPoint& p : sweep().data().points()) {
      if (p.spec != snapshot().lanes[i].spec) continue;
      ASSERT_TRUE(p.figures);
      EXPECT_EQ(p.figures->mean_kl, run_figures(snapshot(), snapshot().lanes[i]).kl.mean()) << p.spec;
    }
  }
}

TEST_F(SweepTest, SaysWhatTookAwayWhatWasMeasured) {
  openSweep();
  const auto said = [this] {
    for (const QLabel* label : sweep().findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains("is gone")) return label->text().toStdString();
    return std::string();
  };
  const auto measure = [this] {
    QTest::mouseClick(&sweep().startButton(), Qt::LeftButton);
    ASSERT_TRUE(settle());
    ASSERT_GT(sweep().data().nMeasured(), 0);
  };
  measure();
  EXPECT_EQ(said(), "");
  window->controller().setPrompt("A cat sat on a mat. The cat");
  ASSERT_TRUE(settle());
  EXPECT_THAT(said(), testing::StartsWith("The text or its settings changed: "));
  measure();
  Snapshot other = snapshot();
  other.model.name = "another";
  other.model_stamp = "of another";
  ++other.sequence;
  window->workspace().setSnapshot(std::make_shared<const Snapshot>(std::move(other)));
  EXPECT_THAT(said(), testing::StartsWith("The model changed: "));
}

TEST_F(SweepTest, BudgetsOfBytesStandOnAnAxisOfBytesWithWholeHeadings) {
  press(Qt::Key_4, Qt::AltModifier);
  sweep().grid().model().clear();
  sweep().grid().budgets().setText("12.5 % bytes, 25 % bytes, 30 % bytes, 40 % bytes, 50 % bytes, 60 % bytes, 70 % bytes, 80 % bytes");
  for (const char* policy : {"kivi", "snapkv"}) sweep().grid().model().choose(policy, true);
  EXPECT_EQ(sweep().chart().budget(), SweepChart::Budget::bytes);
  QTest::mouseClick(&sweep().startButton(), Qt::LeftButton);
  ASSERT_TRUE(settle());
  const QHeaderView& headings = *sweep().grid().table().horizontalHeader();
  for (int c = 0; c < headings.count(); ++c) EXPECT_GE(headings.sectionSize(c), headings.sectionSizeHint(c)) << c;
  auto& axis = *qobject_cast<QComboBox*>(sweep().controls()[1]);
  axis.setCurrentIndex(static_cast<int>(SweepChart::Budget::asked));
  EXPECT_THAT(sweep().chart().budgetWords().join(" ").toStdString(), testing::HasSubstr("of the bytes"));
  axis.setCurrentIndex(static_cast<int>(SweepChart::Budget::share));
  sweep().grid().budgets().setText("25 %, 50 %");
  EXPECT_EQ(sweep().chart().budget(), SweepChart::Budget::share) << "what was chosen stays";
}

/// A mark says of how many seeds its mean is: of those that are measured, each once.
TEST_F(SweepTest, AMarkCountsTheSeedsThatAreMeasured) {
  openSweep();
  const auto said = [this] {
    QTest::keyClick(&sweep().chart(), Qt::Key_Left);
    return sweep().chart().accessibleDescription();
  };
  const auto measured = [](double kl) {
    SweepFigures out;
    out.mean_kl = kl;
    return out;
  };
  sweep().grid().model().clear();
  sweep().grid().budgets().setText("25 %");
  sweep().grid().seeds().setText("0-4");
  sweep().grid().model().choose("random", true);
  ASSERT_EQ(sweep().data().points().size(), 5u);
  ASSERT_TRUE(sweep().data().set("random:ratio=0.25,seed=0", measured(1)));
  ASSERT_TRUE(sweep().data().set("random:ratio=0.25,seed=3", measured(3)));
  EXPECT_TRUE(said().contains("mean KL 2.00 (2 of 5 seeds: 1.00 to 3.00)")) << said().toStdString();
  for (const SweepPoint& p : std::vector<SweepPoint>(sweep().data().points())) sweep().data().set(p.spec, measured(2));
  EXPECT_TRUE(said().contains("(5 seeds: 2.00 to 2.00)")) << said().toStdString();
  // The same budget, written twice, is no second seed.
  sweep().grid().model().clear();
  sweep().grid().budgets().setText(QString("25 %, %1").arg(slotsAsked("knorm:ratio=0.25", snapshot().n_prompt)));
  sweep().grid().model().choose("knorm", true);
  ASSERT_EQ(sweep().data().points().size(), 2u);
  for (const SweepPoint& p : std::vector<SweepPoint>(sweep().data().points())) sweep().data().set(p.spec, measured(2));
  EXPECT_TRUE(said().contains("mean KL 2.00\n")) << said().toStdString();
}

TEST_F(SweepTest, WhatWasMeasuredHeldForItsSeed) {
  openSweep();
  sweep().grid().model().clear();
  sweep().grid().budgets().setText("25 %");
  for (const char* policy : {"random", "knorm"}) sweep().grid().model().choose(policy, true);
  for (const SweepPoint& p : std::vector<SweepPoint>(sweep().data().points())) sweep().data().set(p.spec, {});
  ASSERT_EQ(sweep().data().nMeasured(), 2);
  const SavedSweep kept = sweep().saved();
  window->controller().setSeed(7);
  ASSERT_TRUE(settle());
  EXPECT_EQ(sweep().data().nMeasured(), 0) << "no token of the text is another one";
  EXPECT_EQ(std::ranges::count(sweep().data().points(), "random:ratio=0.25,seed=0", &SweepPoint::spec), 1) << "not the session's";
  sweep().restore(kept);
  EXPECT_EQ(sweep().data().nMeasured(), 0) << "nor does what a file has of it";
  const SavedSweep again = sweep().saved();
  ASSERT_EQ(again.points.size(), kept.points.size());
  EXPECT_TRUE(std::ranges::all_of(again.points, [](const SweepPoint& p) { return p.figures.has_value(); })) << "and it stays in the file";
  window->controller().setSeed(0);
  ASSERT_TRUE(settle());
  EXPECT_EQ(sweep().data().nMeasured(), 2) << "of the old one it does";
}

TEST_F(SweepTest, AClickOnAPointOpensThatRun) {
  openSweep();
  QTest::mouseClick(&sweep().startButton(), Qt::LeftButton);
  ASSERT_TRUE(settle());
  const std::string spec = sweep().data().points()[1].spec;
  QTest::mouseClick(&sweep().chart(), Qt::LeftButton, {}, sweep().chart().markerOf(spec).toPoint());
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[static_cast<std::size_t>(window->workspace().selection().lane)].spec, spec);
}

TEST_F(SweepTest, ByKeyboardAlone) {
  openSweep();
  sweep().startButton().setFocus();
  QTest::keyClick(&sweep().startButton(), Qt::Key_Space);
  ASSERT_TRUE(settle());
  sweep().chart().setFocus();
  const std::string first = sweep().chart().current();
  QTest::keyClick(&sweep().chart(), Qt::Key_Right);
  const std::string second = sweep().chart().current();
  EXPECT_NE(first, second);
  EXPECT_EQ(first.substr(0, first.find(':')), second.substr(0, second.find(':'))) << "along the curve";
  QTest::keyClick(&sweep().chart(), Qt::Key_Down);
  EXPECT_NE(second.substr(0, second.find(':')), sweep().chart().current().substr(0, sweep().chart().current().find(':')));
  const std::string wanted = sweep().chart().current();
  QTest::keyClick(&sweep().chart(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[static_cast<std::size_t>(window->workspace().selection().lane)].spec, wanted);
}

TEST_F(SweepTest, CancelKeepsWhatIsMeasuredAndAnotherTextForgetsIt) {
  openSweep();
  sweep().start();
  ASSERT_TRUE(waitFor([&] { return sweep().data().nMeasured() >= 1; }, 60000));
  sweep().cancel();
  ASSERT_TRUE(settle());
  EXPECT_GE(sweep().data().nMeasured(), 1);
  window->controller().setPrompt("Another text, much shorter than the one before, but long enough.");
  ASSERT_TRUE(settle());
  EXPECT_EQ(sweep().data().nMeasured(), 0);
  EXPECT_EQ(sweep().data().missing().size() > 0, true);
}

TEST_F(WindowTest, JobsCanBeCancelledInTheirListAndRefusalsAreLogged) {
  window->model().runs.add({"headkv:slots=8,scores=missing.json", "knorm:slots=9", "knorm:slots=10"}, QueuedRun::Purpose::lane);
  press(Qt::Key_J, Qt::ControlModifier);
  JobsPanel& jobs = window->runActions().jobs();
  ASSERT_TRUE(jobs.isVisible());
  ASSERT_EQ(jobs.table().rowCount(), 3);
  jobs.table().selectRow(2);
  QTest::keyClick(&jobs.table(), Qt::Key_Delete);
  EXPECT_EQ(window->model().runs.runs()[2].state, QueuedRun::State::cancelled);
  const std::size_t before = snapshot().lanes.size();
  ASSERT_TRUE(settle());
  EXPECT_LE(snapshot().lanes.size(), before + 1);
  EXPECT_TRUE(jobs.log().contains("refused: ")) << jobs.log().toStdString();
  EXPECT_FALSE(window->notices().isHidden()) << "and it is said where people look";
  EXPECT_EQ(jobs.table().item(0, 3)->text(), "refused");
  const Snapshot& s = snapshot();
  double caches = 0;
  for (const LaneSnapshot& lane : s.lanes) caches += lane.bytes;
  EXPECT_GT(s.attention_bytes, 0);
  QString said = "weights %1 · caches %2 · prompt's attention %3 · records %4";
  for (const double bytes : {s.weight_bytes, caches, s.attention_bytes, held_bytes(s.lanes)})
    said = said.arg(QString::fromStdString(viz::format_bytes(bytes)));
  EXPECT_EQ(jobs.memoryText(), said);
}

TEST_F(WindowTest, ARunThatCannotBeReadFailsAloneAndTheQueueGoesOn) {
  const std::size_t before = snapshot().lanes.size();
  window->model().runs.add({"finch", "nosuch:slots=3", "knorm:slots=9"}, QueuedRun::Purpose::lane);
  ASSERT_TRUE(settle());
  const std::vector<QueuedRun>& runs = window->model().runs.runs();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].state, QueuedRun::State::failed) << "no budget";
  EXPECT_EQ(runs[1].state, QueuedRun::State::failed);
  EXPECT_EQ(runs[2].state, QueuedRun::State::done);
  EXPECT_EQ(snapshot().lanes.size(), before + 1);
}

TEST_F(WindowTest, APolicyChosenForARunWithoutABudgetGetsOne) {
  const auto choose = [this](const QString& policy) {
    QComboBox* const box = window->rows().tools().policyBox();
    const int row = box->findData(policy);
    ASSERT_GE(row, 0);
    box->setCurrentIndex(row);
    Q_EMIT box->activated(row);
    ASSERT_TRUE(settle());
  };
  const auto chosen = [this] { return window->rows().tools().policyBox()->currentData().toString(); };
  const auto lane = static_cast<std::size_t>(window->workspace().selection().lane);
  ASSERT_GE(lane, 1u);
  choose("quest");
  EXPECT_EQ(snapshot().lanes[lane].spec, "quest");
  choose("finch");
  EXPECT_EQ(snapshot().lanes[lane].spec, "finch:ratio=0.25");
  EXPECT_EQ(chosen(), "finch");
  window->controller().setLaneSpec(static_cast<int>(lane), QString("h2o:bytes=64KiB"));
  ASSERT_TRUE(settle());
  choose("snapkv");
  EXPECT_EQ(snapshot().lanes[lane].spec.rfind("snapkv:", 0), 0u) << snapshot().lanes[lane].spec;
}

TEST_F(WindowTest, DeleteRemovesTheSelectedRunInTheComparison) {
  press(Qt::Key_3, Qt::AltModifier);
  ASSERT_TRUE(settle());
  CanvasWidget* compare = window->canvas("compare");
  compare->setFocus();
  press(Qt::Key_3, Qt::ControlModifier);
  ASSERT_EQ(window->workspace().selection().lane, 2);
  ASSERT_TRUE(compare->hasFocus());
  const std::string removed = lane(2);
  QTest::keyClick(compare, Qt::Key_Delete);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes.size(), 4u);
  for (const LaneSnapshot& one : snapshot().lanes) EXPECT_NE(one.spec, removed);
}

TEST_F(WindowTest, TheListOfJobsSaysThatTheRunsOnScreenAreComputed) {
  press(Qt::Key_J, Qt::ControlModifier);
  JobsPanel& jobs = window->runActions().jobs();
  QToolButton* cancel_all = nullptr;
  for (QToolButton* b : jobs.findChildren<QToolButton*>())
    if (b->text() == "Cancel all") cancel_all = b;
  ASSERT_NE(cancel_all, nullptr);
  for (const bool computing : {true, false}) {
    Snapshot s = snapshot();
    s.phase = computing ? RunPhase::computing : RunPhase::idle;
    ++s.sequence;
    window->workspace().setSnapshot(std::make_shared<const Snapshot>(std::move(s)));
    EXPECT_EQ(jobs.facts().toStdString(), computing ? "the runs on screen are computed, nothing waits" : "nothing runs or waits");
    EXPECT_EQ(cancel_all->isEnabled(), computing) << "it stops those, too";
  }
}

TEST_F(WindowTest, StopGivesUpTheRunBesideTheOthersAndTheQueueGoesOn) {
  ASSERT_TRUE(settle());
  const std::size_t before = snapshot().lanes.size();
  window->model().runs.add({"best:slots=8,horizon=64", "knorm:slots=10"}, QueuedRun::Purpose::lane);
  ASSERT_TRUE(waitFor([&] { return window->model().runs.running() != nullptr; }, 5000));
  ASSERT_EQ(window->model().runs.running()->spec, "best:slots=8,horizon=64");
  press(Qt::Key_Period, Qt::ControlModifier);
  EXPECT_EQ(window->model().runs.runs()[0].state, QueuedRun::State::cancelled);
  ASSERT_TRUE(waitFor([&] { return window->model().runs.nOpen() == 0; }, 20000)) << "nothing waits for ever";
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->model().runs.runs()[1].state, QueuedRun::State::done);
  EXPECT_EQ(snapshot().lanes.size(), before + 1);
}

TEST_F(WindowTest, StopGivesUpAWholeSweep) {
  ASSERT_TRUE(settle());
  window->model().runs.add({"best:slots=8,horizon=64", "knorm:slots=10", "knorm:slots=12"}, QueuedRun::Purpose::point);
  ASSERT_TRUE(waitFor([&] { return window->model().runs.running() != nullptr; }, 5000));
  press(Qt::Key_Period, Qt::ControlModifier);
  EXPECT_EQ(window->model().runs.nOpen(), 0);
  for (const QueuedRun& run : window->model().runs.runs()) EXPECT_EQ(run.state, QueuedRun::State::cancelled) << run.spec;
}

TEST_F(WindowTest, ABudgetDrawnForOneHeadHoldsForItAndCanBeTakenBack) {
  AllocationCurve& curve = window->work().policy().card().allocation();
  ASSERT_TRUE(curve.isVisible());
  ASSERT_EQ(window->workspace().selection().lane, 4);
  const QRectF column = curve.columnRect(2, 1);
  ASSERT_FALSE(column.isEmpty());
  const int before = snapshot().lanes[4].steps.back()->heads[2 * 4 + 1].budget;
  QTest::mousePress(&curve, Qt::LeftButton, {}, column.center().toPoint());
  QTest::mouseMove(&curve, QPointF(column.center().x(), column.bottom() - 0.25 * column.height()).toPoint());
  QTest::mouseRelease(&curve, Qt::LeftButton, {}, QPointF(column.center().x(), column.bottom() - 0.25 * column.height()).toPoint());
  ASSERT_TRUE(settle());
  const HeadRecord& head = snapshot().lanes[4].steps.back()->heads[2 * 4 + 1];
  EXPECT_TRUE(head.overridden) << lane(4);
  EXPECT_LT(head.budget, before);
  EXPECT_FALSE(snapshot().lanes[4].steps.back()->heads[2 * 4 + 2].overridden);
  EXPECT_EQ(curve.nOverridden(), 1);
  QTest::mouseDClick(&curve, Qt::LeftButton, {}, column.center().toPoint());
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[4].steps.back()->heads[2 * 4 + 1].budget, before);
}

TEST_F(WindowTest, ShiftDrawsTheWholeLayerAndKeysDoItToo) {
  AllocationCurve& curve = window->work().policy().card().allocation();
  const QRectF column = curve.columnRect(1, 0);
  const QPoint low = QPointF(column.center().x(), column.bottom() - 0.3 * column.height()).toPoint();
  QTest::mousePress(&curve, Qt::LeftButton, Qt::ShiftModifier, column.center().toPoint());
  QTest::mouseMove(&curve, low);
  QTest::mouseRelease(&curve, Qt::LeftButton, Qt::ShiftModifier, low);
  ASSERT_TRUE(settle());
  for (int h = 0; h < 4; ++h) EXPECT_TRUE(snapshot().lanes[4].steps.back()->heads[static_cast<std::size_t>(4 + h)].overridden);
  const int before = snapshot().lanes[4].steps.back()->heads[4].budget;
  curve.setFocus();
  QTest::keyClick(&curve, Qt::Key_Up);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[4].steps.back()->heads[4].budget, before + 1);
}

TEST_F(WindowTest, AReportBreaksALongSpecificationWhereAKeyEnds) {
  Report report = window->exports().report();
  ASSERT_GE(report.runs.rows.size(), 2u);
  report.runs.rows[1][1] = "h2o:ratio=0.3,sinks=2,recent=10@evict=17,20-23,step=3,layers=2,heads=1@slots=40,layers=0-1";
  const QString html = reportHtml(report);
  EXPECT_TRUE(html.contains(">h2o:ratio=0.3,sinks=2,recent=10<br/>@evict=17,20-23,step=3,layers=2,<br/>heads=1@slots=40,layers=0-1</td>"));
  EXPECT_TRUE(html.contains("width=\"22%\"")) << "its column has the room of its longest line";
}

TEST_F(WindowTest, TheReportHoldsWhatIsOnScreen) {
  const Report report = window->exports().report();
  EXPECT_EQ(report.runs.rows.size(), snapshot().lanes.size());
  EXPECT_GE(report.pictures.size(), 3u);
  for (const ReportPicture& p : report.pictures) EXPECT_FALSE(p.image.isNull()) << p.title.toStdString();
  const QString html = reportHtml(report);
  EXPECT_TRUE(html.contains("The house number of Helen is 482"));
  for (const LaneSnapshot& lane : snapshot().lanes) EXPECT_TRUE(html.contains(QString::fromStdString(lane.spec))) << lane.spec;
  EXPECT_TRUE(html.contains("data:image/png;base64,"));
  EXPECT_FALSE(html.contains("http")) << "nothing from outside";
  bool hashed = false;
  for (const auto& [name, value] : reportVersions(report)) hashed = hashed || (name == "model.safetensors" && value.size() >= 64);
  EXPECT_TRUE(hashed);
  QTemporaryDir folder;
  QString why;
  ASSERT_TRUE(writeReport(report, folder.filePath("r.pdf"), ReportPaper::one_page, &why)) << why.toStdString();
  QFile pdf(folder.filePath("r.pdf"));
  ASSERT_TRUE(pdf.open(QIODevice::ReadOnly));
  EXPECT_TRUE(pdf.readAll().startsWith("%PDF-"));
  EXPECT_FALSE(writeReport(report, folder.filePath("none/r.html"), ReportPaper::one_page, &why));
  EXPECT_TRUE(why.contains("none/r.html"));
}

TEST_F(WindowTest, TheDialogOfRunsBeginsWithTheKeyboardInACell) {
  press(Qt::Key_R, Qt::ControlModifier);
  auto* dialog = window->findChild<AddRunsDialog*>();
  ASSERT_NE(dialog, nullptr);
  ASSERT_TRUE(QTest::qWaitForWindowExposed(dialog));
  for (int time = 0; time < 2; ++time) {
    QTest::keyClick(dialog->focusWidget(), Qt::Key_Space);
    EXPECT_EQ(dialog->grid().model().chosen().size(), 1u) << "its row";
    QTest::keyClick(dialog->focusWidget(), Qt::Key_Space);
    EXPECT_TRUE(dialog->grid().model().chosen().empty());
    dialog->close();  // and opened again
    window->runActions().add();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(dialog));
  }
}

/// Whoever begins to type is not held up by where the keyboard is.
TEST_F(WindowTest, WhatIsTypedInTheDialogOfRunsFindsAPolicyOrIsARun) {
  press(Qt::Key_R, Qt::ControlModifier);
  auto* dialog = window->findChild<AddRunsDialog*>();
  ASSERT_NE(dialog, nullptr);
  ASSERT_TRUE(QTest::qWaitForWindowExposed(dialog));
  const auto type = [&](const char* letters) {
    for (const char* letter = letters; *letter != 0; ++letter) QTest::keyClick(dialog->focusWidget(), *letter);
  };
  type("h2o");
  EXPECT_EQ(dialog->grid().finder().text(), "h2o");
  EXPECT_EQ(dialog->text().text(), "");
  type(":slots=9");
  EXPECT_EQ(dialog->grid().finder().text(), "") << "all policies are listed again";
  EXPECT_EQ(dialog->text().text(), "h2o:slots=9");
  EXPECT_EQ(dialog->focusWidget(), &dialog->text()) << "where letters go, once the dialog is in front";
}

/// The formula is what one came for.
TEST_F(WindowTest, OnesOwnScoreIsWrittenAtOnce) {
  window->resize(1600, 1000);
  ASSERT_TRUE(settle());
  const QList<QAction*> all = window->findChildren<QAction*>();
  const auto own = std::ranges::find_if(all, [](const QAction* a) { return a->text() == "Run by &your own score…"; });
  ASSERT_NE(own, all.end());
  (*own)->trigger();
  const PolicyForm& form = window->work().policy().form();
  ASSERT_TRUE(waitFor(
      [&] { return form.field("score") != nullptr && form.field("score")->widget()->isAncestorOf(QApplication::focusWidget()); }, 20000));
  const QWidget* field = form.field("score")->widget();
  EXPECT_TRUE(waitFor([&] { return !field->visibleRegion().isEmpty(); }, 5000)) << "in sight";
  EXPECT_EQ(form.spec().name, window->workspace().lane()->policy);
}

}  // namespace
}  // namespace kvscope
