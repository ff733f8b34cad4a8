// SPDX-License-Identifier: Apache-2.0
#include "window/panels/panel_fixture.h"

#include <gmock/gmock.h>
#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QLineEdit>
#include <QTableView>
#include <QTemporaryDir>

#include "app/window/panels/runs/table_panel.h"
#include "app/window/panels/runs/table_panel_model.h"

namespace kvscope {
namespace {

viz::Table example() {
  viz::Table t;
  t.columns = {"token", "text", "score"};
  t.rows = {{"0", "«a,b»", "0.5"}, {"1", "«say \"hi\"»", "n/a"}, {"2", "«plain»", "12\u2009346"}, {"10", "«↵»", "−1.5"}};
  return t;
}

class TablePanelTest : public PanelTest {
 protected:
  TablePanelTest() {
    show(panel, 500, 300);
    panel.setSource("Head strip", [this] {
      ++asked;
      return table;
    });
  }
  std::vector<std::string> column(int c) {
    std::vector<std::string> cells;
    for (int r = 0; r < panel.view().model()->rowCount(); ++r)
      cells.push_back(panel.view().model()->index(r, c).data().toString().toStdString());
    return cells;
  }

  viz::Table table = example();
  int asked = 0;
  TablePanel panel{workspace, controller};
};

TEST_F(TablePanelTest, SortsNumbersByValueAndKeepsWhatIsNotAvailableAtTheEnd) {
  panel.view().sortByColumn(2, Qt::AscendingOrder);
  EXPECT_THAT(column(2), ::testing::ElementsAre("−1.5", "0.5", "12\u2009346", "n/a"));
  panel.view().sortByColumn(2, Qt::DescendingOrder);
  EXPECT_THAT(column(2), ::testing::ElementsAre("12\u2009346", "0.5", "−1.5", "n/a"));
  panel.view().sortByColumn(0, Qt::AscendingOrder);
  EXPECT_THAT(column(0), ::testing::ElementsAre("0", "1", "2", "10"));
}

TEST_F(TablePanelTest, StandsInTheOrderOfTheViewAtFirst) { EXPECT_THAT(column(0), ::testing::ElementsAre("0", "1", "2", "10")); }

TEST_F(TablePanelTest, FiltersRowsByAnyColumnAndSaysHowMany) {
  panel.filter().setText("PLAIN");
  EXPECT_THAT(column(0), ::testing::ElementsAre("2"));
  EXPECT_EQ(panel.facts(), "Head strip · 1 of 4 rows");
  panel.filter().clear();
  EXPECT_EQ(panel.facts(), "Head strip · 4 rows");
}

TEST_F(TablePanelTest, WritesTheShownRowsAsCsvWithNumbersForPrograms) {
  table.note = "first 4 of 9";
  panel.refresh();
  EXPECT_EQ(panel.csv().toStdString(),
            "token,text,score\r\n0,\"«a,b»\",0.5\r\n1,\"«say \"\"hi\"\"»\",n/a\r\n2,«plain»,12346\r\n10,«↵»,-1.5\r\n")
      << "the note stands below the table; a file has rows only, as everywhere";
  QTemporaryDir folder;
  QString error;
  ASSERT_TRUE(panel.writeCsv(folder.filePath("t.csv"), &error));
  QFile file(folder.filePath("t.csv"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll(), panel.csv().toUtf8());
  EXPECT_FALSE(panel.writeCsv(folder.filePath("no/such/folder.csv"), &error));
  EXPECT_THAT(error.toStdString(), ::testing::HasSubstr("cannot be created"));
}

TEST_F(TablePanelTest, CopiesTheSelectedRowsInTheirShownOrder) {
  panel.view().sortByColumn(2, Qt::DescendingOrder);
  panel.view().selectRow(0);
  panel.view().setFocus();
  QTest::keyClick(&panel.view(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(panel.tsv(), "token\ttext\tscore\n2\t«plain»\t12346\n");
}

TEST_F(TablePanelTest, KeepsTheSelectedRowWhenOnlyTheNumbersChange) {
  panel.view().selectRow(2);
  table.rows[2][2] = "7";
  panel.refresh();
  EXPECT_TRUE(panel.view().selectionModel()->isRowSelected(2, {}));
  EXPECT_EQ(column(2)[2], "7");
}

TEST_F(TablePanelTest, AsksTheViewOnlyWhileItIsSeen) {
  panel.hide();
  const int before = asked;
  publish(synthetic::make_snapshot());
  QTest::qWait(80);
  EXPECT_EQ(asked, before);
  panel.show();
  EXPECT_EQ(asked, before + 1);
}

TEST_F(TablePanelTest, ReadsTheViewOnceForABurstOfSteps) {
  publish(synthetic::make_snapshot());
  QTest::qWait(80);
  const int before = asked;
  for (int s = 0; s < 10; ++s) selectStep(s);
  QTest::qWait(80);
  EXPECT_EQ(asked, before + 1);
}

TEST_F(TablePanelTest, KeepsThePromisesOfAModel) {
  VizTableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setTable(example());
  viz::Table ragged = example();
  ragged.rows.push_back({"11"});  // too short
  ragged.rows.push_back({"12", "x", "1", "too long"});
  model.setTable(ragged);
  EXPECT_EQ(model.index(4, 2).data().toString(), "");
  EXPECT_TRUE(model.isNumeric(0));
  EXPECT_FALSE(model.isNumeric(1));
  EXPECT_TRUE(model.isNumeric(2)) << "n/a does not make words of numbers";
  model.setTable({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(TablePanelTest, IsEmptyWithoutAView) {
  panel.setSource("", {});
  EXPECT_EQ(panel.facts(), "0 rows");
  panel.grab();
}

TEST_F(TablePanelTest, NamesEverythingThatTakesTheFocus) { EXPECT_THAT(unnamed(panel), ::testing::IsEmpty()); }

}  // namespace
}  // namespace kvscope
