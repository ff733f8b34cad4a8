// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>

#include "app/window/panels/runs/add_runs_dialog.h"
#include "app/window/panels/runs/run_grid.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/panels/stores/sweep_page.h"
#include "app/window/session/run_estimate.h"
#include "core/most_runs.h"
#include "policy/catalog.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

TEST(RunGridWords, BudgetsAreSharesOrSlots) {
  QString wrong;
  const auto budgets = parseBudgets("12.5 %, 64; 25%,64, x, 0, 130 %", &wrong);
  ASSERT_EQ(budgets.size(), 3u);
  EXPECT_EQ(budgets[0].key, "ratio");
  EXPECT_EQ(budgets[0].value, "0.125");
  EXPECT_EQ(budgets[1].key, "slots");
  EXPECT_EQ(budgets[2].text, "25 %");
  EXPECT_EQ(wrong, "x") << "the first that is none";
  EXPECT_EQ(whyNotTaken(wrong, "budget"), "“x” is not a budget");
  QStringList many;
  for (int slots = 11; slots <= 35; ++slots) many << QString::number(slots);
  wrong.clear();
  EXPECT_EQ(parseBudgets(many.join(','), &wrong).size(), 24u);
  EXPECT_EQ(whyNotTaken(wrong, "budget"), "“35” is one budget too many");
}

TEST(RunGridWords, SeedsAreNumbersAndRanges) {
  QString wrong;
  EXPECT_EQ(parseSeeds("0, 3-5,3", &wrong), (std::vector<int>{0, 3, 4, 5}));
  EXPECT_EQ(wrong, "");
  parseSeeds("0-9999", &wrong);
  EXPECT_EQ(wrong, "0-9999");
}

class AddRunsTest : public WindowTest {
 protected:
  void openDialog() {
    window->activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
    press(Qt::Key_R, Qt::ControlModifier);
    ASSERT_TRUE(dialog().isVisible());
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&dialog()));
  }
  AddRunsDialog& dialog() { return window->runActions().dialog(); }
  RunGridModel& model() { return dialog().grid().model(); }
  QPoint cell(const char* policy, int column) {
    QTableView& table = dialog().grid().table();
    const QModelIndex index = model().index(model().rowOf(policy), column);
    table.scrollTo(index);
    return table.visualRect(index).center();
  }
};

TEST_F(AddRunsTest, CellsAreChosenByMouseAndTheEstimateComesBeforeTheStart) {
  openDialog();
  EXPECT_TRUE(dialog().estimate().contains("no run")) << dialog().estimate().toStdString();
  EXPECT_FALSE(dialog().addButton().isEnabled());
  QTest::mouseClick(dialog().grid().table().viewport(), Qt::LeftButton, {}, cell("knorm", 1));
  QTest::mouseClick(dialog().grid().table().viewport(), Qt::LeftButton, {}, cell("knorm", 2));
  EXPECT_EQ(model().chosen(), (std::vector<std::string>{"knorm:ratio=0.25", "knorm:ratio=0.5"}));
  EXPECT_TRUE(dialog().estimate().startsWith("2 runs · about ")) << dialog().estimate().toStdString();
  EXPECT_TRUE(dialog().estimate().contains("caches"));
  EXPECT_EQ(dialog().addButton().text(), "Add 2 runs");
  const std::size_t before = snapshot().lanes.size();
  QTest::mouseClick(&dialog().addButton(), Qt::LeftButton);
  EXPECT_FALSE(dialog().isVisible());
  ASSERT_TRUE(settle());
  ASSERT_EQ(snapshot().lanes.size(), before + 2);
  EXPECT_EQ(snapshot().lanes.back().spec, "knorm:ratio=0.5");
  press(Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes.size(), before) << "runs that were added together are one step back";
}

TEST_F(AddRunsTest, ARunWithParametersOfItsOwnKeepsThemAtOtherBudgets) {
  EXPECT_EQ(model().rowOf("custom"), model().rowOf(methodOf("custom:ratio=0.5"))) << "as it comes";
  window->controller().addLane(QString("custom:score=\"last * vnorm\",ratio=0.3@evict=3,step=0"));
  ASSERT_TRUE(settle());
  openDialog();
  const std::string own = methodOf(window->controller().request().lanes.back().text);
  EXPECT_EQ(own, "custom:score=last * vnorm");
  ASSERT_EQ(model().rowOf(own), 1) << "under a title of its own, before all policies";
  EXPECT_TRUE(model().headerData(1, Qt::Vertical, Qt::DisplayRole).toString().contains("last * vnorm"));
  model().choose(own, true);
  EXPECT_EQ(model().chosen().front(), own + ",ratio=0.125");
  EXPECT_EQ(model().chosen().size(), 3u);
}

TEST_F(AddRunsTest, AnotherNameOfARunLeavesItChosen) {
  window->controller().addLane(QString("custom:stat=mean,name=Foo,ratio=0.3"));
  ASSERT_TRUE(settle());
  openDialog();
  model().choose("custom:stat=mean,name=Foo", true);
  ASSERT_EQ(model().chosen().size(), 3u);
  window->controller().setLaneSpec(static_cast<int>(snapshot().lanes.size()) - 1, QString("custom:stat=mean,name=Bar,ratio=0.3"));
  ASSERT_TRUE(settle());
  ASSERT_EQ(model().chosen().size(), 3u);
  EXPECT_EQ(model().chosen().front(), "custom:stat=mean,name=Bar,ratio=0.125");
}

TEST_F(AddRunsTest, ByKeyboardAlone) {
  openDialog();
  QTableView& table = dialog().grid().table();
  ASSERT_TRUE(waitFor([&] { return table.hasFocus(); }));
  int n_before = 0;  // titles are passed over
  for (int row = 0; row < model().rowOf("knorm"); ++row) n_before += model().isHeading(row) ? 0 : 1;
  for (int i = 0; i < n_before; ++i) QTest::keyClick(&table, Qt::Key_Down);
  QTest::keyClick(&table, Qt::Key_Space);
  EXPECT_EQ(model().chosen(), (std::vector<std::string>{"knorm:ratio=0.125"}));
  const std::size_t before = snapshot().lanes.size();
  QTest::keyClick(&table, Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes.size(), before + 1);
}

TEST_F(AddRunsTest, SeedsMultiplyOnlyPoliciesThatDrawLots) {
  openDialog();
  dialog().grid().seeds().setText("0-2");
  model().choose("random", true);
  model().choose("knorm", true);
  EXPECT_EQ(model().chosen().size(), 3u * 3u + 3u);
  EXPECT_EQ(model().nSeeded(), 1);
  EXPECT_EQ(model().chosen()[1], "random:ratio=0.125,seed=1");
}

/// What keeps every token, in fewer bytes or read in part, is a run like the others.
TEST_F(AddRunsTest, APolicyWithoutABudgetHasOneCellAndIsOneRun) {
  openDialog();
  int n_without = 0;
  for (const PolicyInfo& policy : policies()) {
    const int row = model().rowOf(policy.name);
    EXPECT_EQ(row >= 0, policy.name != reference_policy()) << policy.name;
    if (row < 0 || policy.takes_budget) continue;
    ++n_without;
    EXPECT_EQ(dialog().grid().table().columnSpan(row, 0), model().columnCount()) << policy.name;
  }
  EXPECT_GT(n_without, 2);
  QTest::mouseClick(dialog().grid().table().viewport(), Qt::LeftButton, {}, cell("kivi", 0));
  model().choose("knorm", true);
  EXPECT_EQ(model().chosen().size(), 4u) << "three budgets, and one run without";
  dialog().grid().budgets().setText("10 %, 20 %");
  EXPECT_EQ(model().chosen(), (std::vector<std::string>{"knorm:ratio=0.1", "knorm:ratio=0.2", "kivi"}));
  QTest::mouseClick(&dialog().addButton(), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes.back().spec, "kivi");
  EXPECT_EQ(model().cell(model().rowOf("kivi"), 0), RunGridModel::Cell::there);
  QTest::mouseClick(dialog().grid().table().horizontalHeader()->viewport(), Qt::LeftButton, {},
                    QPoint(dialog().grid().table().columnViewportPosition(1) + 4, 4));
  for (const std::string& spec : model().chosen()) EXPECT_NE(spec.find("ratio=0.2"), std::string::npos) << spec;
}

/// Where a budget is of bytes, what stores every token in less has it too, and says that it has no other.
TEST_F(AddRunsTest, BudgetsOfBytesAreForWhatStoresInLessToo) {
  openDialog();
  dialog().grid().budgets().setText("40 % bytes, 25 %");
  const int row = model().rowOf("kivi");
  EXPECT_EQ(dialog().grid().table().columnSpan(row, 0), 1);
  EXPECT_EQ(model().specsOf(row, 0), (std::vector<std::string>{"kivi:bytes=0.4"}));
  EXPECT_EQ(model().cell(row, 0), RunGridModel::Cell::free) << model().reason(row, 0).toStdString();
  EXPECT_EQ(model().cell(row, 1), RunGridModel::Cell::refused);
  EXPECT_TRUE(model().reason(row, 1).contains("bytes=r")) << model().reason(row, 1).toStdString();
  EXPECT_EQ(model().specsOf(model().rowOf("knorm"), 0), (std::vector<std::string>{"knorm:bytes=0.4"}));
  QString wrong;
  EXPECT_EQ(parseBudgets("40 % byte", &wrong).size(), 0u);
  EXPECT_EQ(wrong, "40 % byte");
  dialog().grid().budgets().setText("5 % bytes");
  EXPECT_TRUE(model().reason(row, 0).contains("at least")) << model().reason(row, 0).toStdString();
}

/// A curve over budgets has no place for what has none, be it of bytes.
TEST_F(AddRunsTest, TheSweepHasPoliciesWithABudgetOnly) {
  RunGridModel& sweep = window->runActions().sweepPage().own().grid().model();
  int n_headings = 0;
  for (int row = 0; row < sweep.rowCount(); ++row) {
    n_headings += sweep.isHeading(row) ? 1 : 0;
    if (sweep.isHeading(row)) {
      EXPECT_TRUE(row + 1 < sweep.rowCount() && !sweep.isHeading(row + 1)) << "a kind without a policy";
    } else {
      EXPECT_TRUE(sweep.policy(row).takes_bytes) << sweep.policy(row).name;
    }
  }
  EXPECT_GT(n_headings, 2);
}

/// Policies stand among their kind, and a part of a name or of a kind finds them.
TEST_F(AddRunsTest, PoliciesAreFoundByNameAndByKind) {
  openDialog();
  const auto shown = [&](bool headings) {
    std::vector<std::string> out;
    for (int row = 0; row < model().rowCount(); ++row)
      if (!dialog().grid().table().isRowHidden(row) && model().isHeading(row) == headings)
        out.push_back(headings ? model().headerData(row, Qt::Vertical, Qt::DisplayRole).toString().toStdString()
                               : model().policy(row).name);
    return out;
  };
  const std::size_t all = shown(false).size();
  EXPECT_EQ(all + 1, policies().size()) << "all but the full cache";
  QTest::keyClicks(&dialog().grid().finder(), "kvme");
  EXPECT_EQ(shown(false), std::vector<std::string>{"kvmerger"});
  ASSERT_EQ(shown(true).size(), 1u) << "the titles of other kinds go with them";
  const QString kind = QString::fromStdString(shown(true).front());
  QTest::keyClick(&dialog().grid().finder(), Qt::Key_Down);
  QTest::keyClick(&dialog().grid().table(), Qt::Key_Space);
  EXPECT_EQ(model().chosen(), (std::vector<std::string>{"kvmerger:ratio=0.125"}));
  dialog().grid().finder().setText(kind);
  EXPECT_GT(shown(false).size(), 3u);
  dialog().grid().budgets().setText("10 %");
  EXPECT_EQ(shown(true), std::vector<std::string>{kind.toStdString()}) << "other budgets show nothing more";
  dialog().grid().finder().clear();
  EXPECT_EQ(shown(false).size(), all);
  const int heading = model().rowOf("kvmerger") - 1;
  for (int row = heading; row >= 0; --row) {
    if (!model().isHeading(row)) continue;
    model().clear();
    model().toggle({model().index(row, 0)});
    EXPECT_TRUE(model().chosen().empty()) << "a title is no run";
    break;
  }
}

TEST_F(AddRunsTest, TheBudgetOfTheSelectedRunIsAmongTheBudgets) {
  window->controller().setLaneSpec(1, "keepkv:ratio=0.07");
  ASSERT_TRUE(settle());
  viz::Selection at = window->workspace().selection();
  at.lane = 1;
  window->workspace().setSelection(at);
  openDialog();
  EXPECT_EQ(dialog().grid().budgets().text(), "7 %, 12.5 %, 25 %, 50 %");
  dialog().close();
  window->controller().setLaneSpec(1, "keepkv:ratio=0.25");
  ASSERT_TRUE(settle());
  openDialog();
  EXPECT_EQ(dialog().grid().budgets().text(), "12.5 %, 25 %, 50 %") << "it is there already";
  dialog().close();
  const int n = snapshot().n_prompt;
  window->controller().setLaneSpec(1, QString("keepkv:ratio=%1").arg(5.0 / n, 0, 'g', 12));
  ASSERT_TRUE(settle());
  openDialog();
  EXPECT_EQ(dialog().grid().budgets().text(), "5, 12.5 %, 25 %, 50 %") << "nobody says 14.9700599 %";
  dialog().grid().budgets().selectAll();
  QTest::keyClicks(&dialog().grid().budgets(), "30 %");
  dialog().close();
  openDialog();
  EXPECT_EQ(dialog().grid().budgets().text(), "30 %") << "what was typed stays";
}

TEST_F(AddRunsTest, WhatWasChosenStaysChosenAtTheBudgetsThatAreTypedInstead) {
  openDialog();
  model().choose("knorm", true);
  model().choose("tova", true);
  QLineEdit& budgets = dialog().grid().budgets();
  budgets.selectAll();
  QTest::keyClicks(&budgets, "10%, 30 %");
  EXPECT_EQ(model().chosen().size(), 4u);
  for (const char* spec : {"knorm:ratio=0.1", "knorm:ratio=0.3", "tova:ratio=0.1", "tova:ratio=0.3"})
    EXPECT_EQ(std::ranges::count(model().chosen(), spec), 1) << spec;
  budgets.selectAll();
  QTest::keyClick(&budgets, Qt::Key_Backspace);  // none, on the way to others
  QTest::keyClicks(&budgets, "40 %");
  EXPECT_EQ(model().chosen().size(), 2u);
  model().clear();
  budgets.selectAll();
  QTest::keyClicks(&budgets, "50 %");
  EXPECT_TRUE(model().chosen().empty()) << "nothing was chosen";
}

TEST_F(AddRunsTest, WhatIsThereOrCannotBeIsNotChosen) {
  openDialog();
  dialog().grid().budgets().setText("25 %, 1");
  const std::string there = snapshot().lanes[2].policy;
  const int row = model().rowOf(there);
  EXPECT_EQ(model().cell(row, 0), RunGridModel::Cell::there) << snapshot().lanes[2].spec;
  int refused = 0;
  for (int r = 0; r < model().rowCount(); ++r) {
    if (model().cell(r, 1) != RunGridModel::Cell::refused) continue;
    ++refused;
    EXPECT_FALSE(model().reason(r, 1).isEmpty());
  }
  QModelIndexList all;
  for (int r = 0; r < model().rowCount(); ++r)
    for (int c = 0; c < 2; ++c) all << model().index(r, c);
  model().toggle(all);
  for (const std::string& spec : model().chosen()) EXPECT_NE(spec, snapshot().lanes[2].spec);
}

TEST_F(AddRunsTest, ARunCanBeWrittenAndWhatIsWrongWithItIsSaid) {
  openDialog();
  dialog().text().setText("h20:slots=8");
  EXPECT_FALSE(dialog().addButton().isEnabled());
  bool said = false;
  for (const QLabel* label : dialog().findChildren<QLabel*>()) said = said || label->text().contains("h20");
  EXPECT_TRUE(said);
  dialog().text().setText("h2o:slots=9,recent=2");
  EXPECT_TRUE(dialog().addButton().isEnabled());
}

TEST_F(AddRunsTest, MoreRunsThanThereIsRoomForAreNotOffered) {
  RunRequest many = window->controller().request();
  while (many.lanes.size() < kMostRuns - 1) many.lanes.push_back(parse_lane_spec("local:slots=" + std::to_string(many.lanes.size() + 8)));
  window->controller().replaceRequest(many);
  window->controller().stop();
  openDialog();
  model().choose("knorm", true);
  ASSERT_EQ(model().chosen().size(), 3u);
  EXPECT_FALSE(dialog().addButton().isEnabled());
  const auto says = [&](const char* words) {
    return std::ranges::any_of(dialog().findChildren<QLabel*>(), [&](QLabel* l) { return l->isVisible() && l->text().contains(words); });
  };
  EXPECT_TRUE(says("room for 256 runs"));
  dialog().grid().budgets().setText("25 %, 50 %");
  ASSERT_EQ(model().chosen().size(), 2u);
  EXPECT_TRUE(dialog().addButton().isEnabled());
  EXPECT_FALSE(says("room for 256 runs"));
}

TEST_F(AddRunsTest, AnEstimateIsOfMeasuredRunsAsSoonAsThereAreSome) {
  window->model().runs.add({"knorm:slots=9"}, QueuedRun::Purpose::point);
  ASSERT_TRUE(settle());
  openDialog();
  model().choose("knorm", true);
  EXPECT_TRUE(dialog().estimate().contains("measured on 1 run")) << dialog().estimate().toStdString();
  const RunEstimate e = estimateRuns(snapshot(), {"knorm:slots=10", "knorm:slots=20"}, {{"knorm", {.ms = 5, .n = 1}}}, true);
  EXPECT_DOUBLE_EQ(e.ms, 10);
  const LaneSnapshot& full = snapshot().lanes[0];
  EXPECT_NEAR(e.cache_bytes, 30 * full.bytes / full.slots, 1e-6);
}

TEST_F(AddRunsTest, ATimeIsOfRunsOfTheSamePolicy) {
  const LaneSnapshot& lane = snapshot().lanes[3];
  ASSERT_NE(lane.policy, "h2o");
  const RunEstimate e =
      estimateRuns(snapshot(), {"knorm:slots=10", lane.policy + ":slots=10", "h2o:slots=9,recent=2", "h2o:slots=8,recent=2"},
                   {{"h2o", {.ms = 7, .n = 3}}}, true);
  double steps = 0, full = snapshot().lanes[0].prompt_compress_ms;
  for (std::size_t s = 1; s < lane.steps.size(); ++s) steps += lane.steps[s]->ms;
  for (std::size_t s = 1; s < snapshot().lanes[0].steps.size(); ++s) full += snapshot().lanes[0].steps[s]->ms;
  EXPECT_DOUBLE_EQ(e.ms, lane.prompt_compress_ms + steps + 14 + full) << "the steps of the full cache, where no run tells more";
  EXPECT_EQ(e.unknown, QStringList{"Key norm"});
  const auto of = [&](const std::string& spec) {
    return estimateWords(1, estimateRuns(snapshot(), {spec}, {{"h2o", {.ms = 7, .n = 3}}}, true), true);
  };
  EXPECT_TRUE(of("h2o:slots=9").contains("about 7")) << of("h2o:slots=9").toStdString();
  EXPECT_TRUE(of(lane.policy + ":slots=10").contains("about")) << "a step beside other runs may be longer than one alone";
  EXPECT_TRUE(estimateWords(4, e, true).contains(", measured on 3 runs of this text; Key norm has not run on it yet · "))
      << estimateWords(4, e, true).toStdString();
}

}  // namespace
}  // namespace kvscope
