// SPDX-License-Identifier: Apache-2.0
// Stores of sweeps over many texts on the page of sweeps: the numbers of the command line, live, and what is wrong with a folder.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QProcess>
#include <QScrollBar>
#include <QTableWidget>
#include <QTemporaryDir>

#include "app/window/panels/stores/store_panel.h"
#include "app/window/panels/stores/sweep_page.h"
#include "app/window/rows/rows.h"
#include "trace/sweep_store.h"
#include "viz/draw/format.h"
#include "window/support/file_bytes.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class StoresTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    QByteArray lines;
    for (const int number : {482, 731})
      lines += QString(R"({"context":"The boats lay in the harbour all day long. The house number of Tom is %1. Nobody knew when the wind )"
                       R"(would turn.","question":"\nWhat is the house number of Tom?","answer":"%1",)"
                       R"("answer_prefix":" The house number of Tom is","max_new_tokens":4})")
                   .arg(number)
                   .toUtf8() +
               "\n";
    write(folder.filePath("texts.jsonl"), lines);
  }
  /// The sweep of the command line over both texts, two seeds, two policies at two budgets.
  QByteArray sweep(const QStringList& more, const QString& policies = "local,h2o", const QString& ratios = "0.2,0.9") {
    QProcess cli;
    cli.start(KVSCOPE_CLI, QStringList{"sweep", "--texts", folder.filePath("texts.jsonl"), "--policies", policies, "--ratios", ratios,
                                       "--seeds", "2", "--store", store(), "--quiet", "--json"} +
                               more);
    EXPECT_TRUE(cli.waitForFinished(60000));
    EXPECT_EQ(cli.exitCode(), 0) << cli.readAllStandardError().toStdString();
    return cli.readAllStandardOutput();
  }
  QString store() const { return folder.filePath("store"); }
  SweepPage& page() { return window->runActions().sweepPage(); }
  StorePanel& panel() { return page().store(); }
  std::string state() { return panel().stateText().toStdString(); }
  int measure(std::string_view figure) {
    const auto all = storeMeasures();
    return static_cast<int>(std::ranges::find(all, figure, &StoreMeasure::figure) - all.begin());
  }

  QTemporaryDir folder;
};

TEST_F(StoresTest, ShowTheNumbersOfTheCommandLineAndGrow) {
  sweep({"--shard", "1/2"});
  window->openFile(store());
  EXPECT_EQ(window->page(), Page::sweep);
  EXPECT_TRUE(page().showsStore());
  EXPECT_NE(state().find("2 texts × 2 seeds"), std::string::npos) << state();
  EXPECT_NE(state().find("10 of 20 items so far"), std::string::npos) << state();
  EXPECT_EQ(panel().data().full()->band.n, 2u);
  const QByteArray printed = sweep({});
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 20, 10000);  // nobody asked for it
  EXPECT_NE(state().find("all 20 items"), std::string::npos) << state();
  const QJsonObject json = QJsonDocument::fromJson(printed).object();
  const QJsonArray bands = json["bands"].toArray();
  ASSERT_EQ(bands.size(), 5);
  std::size_t found = 0;
  const auto same = [&](const StoreMark& mark) {
    const QJsonObject band = bands[static_cast<qsizetype>(mark.run)].toObject();
    EXPECT_EQ(mark.band.n, static_cast<std::size_t>(band["n"].toInt()));
    for (std::size_t f = 0; f < kSweepFigures.size(); ++f) {
      const QJsonObject printed_figure = band[QString::fromUtf8(kSweepFigures[f].data())].toObject();
      const Statistics& s = mark.band.figures[f];
      EXPECT_EQ(s.n, printed_figure["n"].toInt());
      for (const auto& [value, name] : {std::pair(s.mean(), "mean"), std::pair(s.min, "min"), std::pair(s.max, "max")}) {
        if (std::isnan(value))
          EXPECT_TRUE(printed_figure[name].isNull()) << kSweepFigures[f];
        else
          EXPECT_EQ(value, printed_figure[name].toDouble()) << kSweepFigures[f] << name;
      }
    }
    EXPECT_EQ(mark.band.compared, static_cast<std::size_t>(band["compared"].toInt()));
    EXPECT_EQ(mark.band.better, static_cast<std::size_t>(band["better"].toInt(0)));
    EXPECT_EQ(mark.band.worse, static_cast<std::size_t>(band["worse"].toInt(0)));
    found += 1;
  };
  same(*panel().data().full());
  for (const StoreCurve& curve : panel().data().curves())
    for (const StoreMark& mark : curve.marks) same(mark);
  EXPECT_EQ(found, 5u);
  ASSERT_EQ(panel().data().curves().size(), 2u);
  // Under the pointer, in the table beside the curves, and in what is exported: the same.
  const StoreCurve& curve = panel().data().curves()[1];
  const StoreMark& mark = curve.marks[0];
  panel().measureBox().setCurrentIndex(measure("nll"));
  const QPointF at = panel().chart().markerOf(mark.run);
  ASSERT_FALSE(at.isNull());
  const QString said = panel().chart().words(at), mean = panel().chart().measure().text(mark.band.figure("nll").mean());
  EXPECT_TRUE(said.contains(mean)) << said.toStdString();
  EXPECT_TRUE(said.contains("all 4 items: 2 texts × 2 seeds")) << said.toStdString();
  EXPECT_TRUE(said.contains("of 2 texts (all seeds alike), worse on")) << said.toStdString();
  bool in_table = false;
  for (int row = 0; row < panel().table().rowCount(); ++row) in_table = in_table || panel().table().item(row, 3)->text().startsWith(mean);
  EXPECT_TRUE(in_table);
  EXPECT_EQ(page().table().rows.size(), 5u);
  EXPECT_EQ(page().table().rows[3][1], "h2o:ratio=0.2");
}

TEST_F(StoresTest, NoColumnOfTheNumbersIsCut) {
  sweep({}, "h2o,snapkv", "0.1,0.2");
  window->resize(1600, 1000);
  window->openFile(store());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 20, 10000);
  const QTableWidget& table = panel().table();
  const QAbstractItemView& cells = table;
  for (std::size_t i = 0; i < storeMeasures().size(); ++i) {
    panel().measureBox().setCurrentIndex(static_cast<int>(i));
    ASSERT_TRUE(settle());
    for (int c = 1; c < table.columnCount(); ++c)
      EXPECT_GE(table.columnWidth(c), std::max(table.horizontalHeader()->sectionSizeHint(c), cells.sizeHintForColumn(c)))
          << table.horizontalHeaderItem(c)->text().toStdString() << " by " << storeMeasures()[i].name;
    EXPECT_EQ(table.horizontalScrollBar()->maximum(), 0) << storeMeasures()[i].name;
  }
}

TEST_F(StoresTest, RunsThatTakeMoreMemoryThanTheOthersAreSaidToAndEveryRunShowsItsSlots) {
  sweep({}, "h2o,snapkv", "0.1");
  window->openFile(store());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 12, 10000);
  QTableWidget& table = panel().table();
  ASSERT_EQ(table.horizontalHeaderItem(4)->text(), "slots");
  const auto title = [&table](int row) { return table.item(row, 0)->text(); };
  double held[2] = {}, bytes[2] = {};
  for (const StoreCurve& curve : panel().data().curves())
    for (const StoreMark& mark : curve.marks) {
      const auto row = static_cast<int>(mark.run);
      held[mark.run - 1] = mark.band.figure("slots").mean();
      bytes[mark.run - 1] = mark.band.figure("kv_bytes").mean();
      EXPECT_EQ(table.item(row, 4)->text().toStdString(), viz::format_mean(held[mark.run - 1])) << title(row).toStdString();
      EXPECT_EQ(table.item(row, 3)->textAlignment(), table.horizontalHeaderItem(3)->textAlignment());
    }
  ASSERT_GT(std::max(held[0], held[1]), 1.1 * std::min(held[0], held[1])) << "a window of the last queries, and what the budget leaves";
  const auto said = [this] {
    for (const QLabel* label : panel().findChildren<QLabel*>())
      if (label->text().startsWith("better, worse")) return label->text().toStdString();
    return std::string();
  };
  EXPECT_NE(said().find("The same budget is not the same memory: at 10 %, "), std::string::npos) << said();
  for (const double taken : bytes) EXPECT_NE(said().find(viz::format_bytes(taken)), std::string::npos) << said();
  QString words;
  for (const StoreCurve& curve : panel().data().curves())
    for (const StoreMark& mark : curve.marks) words += panel().data().describe(curve, mark, storeMeasures()[0]).join('\n');
  EXPECT_EQ(words.count("but not in the same memory: "), 1) << words.toStdString();
}

TEST_F(StoresTest, WhatSomebodyChoseToSeeStaysWhereTheSweepGoesOn) {
  sweep({"--shard", "1/2"});
  window->openFile(store());
  panel().measureBox().setCurrentIndex(measure("kl"));
  window->openFile(store());  // as Go on does
  EXPECT_EQ(panel().chart().measure().figure, "kl");
  const QString other = folder.filePath("other");
  QDir().rename(store(), other);
  window->openFile(other);
  EXPECT_EQ(panel().chart().measure().figure, storeMeasures()[0].figure) << "another store is another question";
}

TEST_F(StoresTest, OfManyCurvesOnlyTheOnePointedAtHasItsBand) {
  for (const char* const policies : {"local,h2o", "local,h2o,snapkv,tova"}) {
    QDir(store()).removeRecursively();
    sweep({}, policies, "0.2");
    window->openFile(store());
    QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == panel().data().nItems(), 10000);
    const std::size_t n = panel().data().curves().size();
    const bool few = n == 2;
    const StoreChart& chart = panel().chart();
    panel().measureBox().setCurrentIndex(measure("kl"));
    for (std::size_t c = 0; c < n; ++c) EXPECT_EQ(chart.showsBand(c), few) << n;
    QTableWidget& table = panel().table();
    for (int row = 0; row < table.rowCount(); ++row)
      if (table.item(row, 0)->data(Qt::UserRole).toUInt() == panel().data().curves()[1].marks[0].run) table.selectRow(row);
    for (std::size_t c = 0; c < n; ++c) EXPECT_EQ(chart.showsBand(c), few || c == 1) << n;
    const QImage with = panel().chart().picture({640, 480}, 1, window->workspace().theme());
    panel().chart().point(-1);
    EXPECT_NE(with, panel().chart().picture({640, 480}, 1, window->workspace().theme()));
    panel().measureBox().setCurrentIndex(measure("score"));
    EXPECT_FALSE(chart.showsBand(0)) << "an answer is found or not";
  }
}

TEST_F(StoresTest, TheTitleSaysOverHowManyTheMeansAreThatAreThere) {
  sweep({"--shard", "1/2"});
  window->openFile(store());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 10, 10000);
  std::size_t least = 99, most = 0;
  for (const StoreCurve& curve : panel().data().curves())
    for (const StoreMark& mark : curve.marks) least = std::min(least, mark.band.n), most = std::max(most, mark.band.n);
  least = std::min(least, panel().data().full()->band.n), most = std::max(most, panel().data().full()->band.n);
  ASSERT_LT(least, 4u);
  const QString n = least == most ? QString::number(most) : QString("%1 to %2").arg(least).arg(most);
  EXPECT_EQ(panel().data().overThere(), n + " of 4 items (2 texts × 2 seeds)");
  EXPECT_TRUE(panel().chart().accessibleDescription().contains(panel().data().overThere()));
  sweep({});
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 20, 10000);
  EXPECT_EQ(panel().data().overThere(), "2 texts × 2 seeds");
}

TEST_F(StoresTest, TheMapIsOfTheDepthsAtWhichAnswersStand) {
  sweep({});
  window->openFile(store());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 20, 10000);
  panel().lookBox().setCurrentIndex(1);
  EXPECT_TRUE(panel().chart().depths());
  ASSERT_EQ(panel().data().depths().size(), 1u) << "both texts have their answer at the same place";
  const std::size_t depth = panel().data().depths()[0];
  const StoreMark& mark = panel().data().curves()[0].marks[1];
  const QPointF at = panel().chart().cellOf(mark.run, depth);
  ASSERT_FALSE(at.isNull());
  EXPECT_EQ(mark.depths[depth].n, 4);
  EXPECT_EQ(mark.depths[depth].mean(), mark.band.figure("score").mean());
  EXPECT_TRUE(panel().chart().words(at).contains("mean of 4")) << panel().chart().words(at).toStdString();
}

TEST_F(StoresTest, WhatBecameOfTheAnswersIsShownByHead) {
  const QJsonArray bands = QJsonDocument::fromJson(sweep({})).object()["bands"].toArray();
  window->openFile(store());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 20, 10000);
  StoreHeads& heads = panel().heads();
  const auto exports = [this](const QString& run, int layer, int head) {
    for (const auto& row : page().table().rows)
      if (row[1] == run.toStdString() && row[3] == std::to_string(layer) && row[4] == std::to_string(head)) return row;
    return std::vector<std::string>();
  };
  for (const auto& [look, moment] : {std::pair(2, "after_prompt"), std::pair(3, "at_end")}) {
    panel().lookBox().setCurrentIndex(look);
    ASSERT_TRUE(heads.isVisible());
    EXPECT_FALSE(panel().chart().isVisible());
    EXPECT_EQ(page().table().rows.size(), 5u * 24);
    for (const StoreCurve& curve : panel().data().curves())
      for (const StoreMark& mark : curve.marks) {
        const QJsonObject band = bands[static_cast<qsizetype>(mark.run)].toObject(), told = band["answer_heads"].toObject();
        ASSERT_EQ(told["n"].toInt(), 4);
        double kept = 0;
        for (int h = 0; h < 24; ++h) {
          const auto of = [&, moment = moment](const char* what) { return told[moment].toObject()[what].toArray()[h].toInt(); };
          kept += of("kept");
          const QPointF at = heads.cellOf(mark.run, h);
          ASSERT_TRUE(heads.rect().contains(at.toPoint()));
          EXPECT_EQ(heads.words(at).section('\n', 1).toStdString(),
                    QString("%1: answer kept in %2 of 4 texts and seeds, merged in %3, evicted in %4")
                        .arg(look == 2 ? "once the prompt was compressed" : "at the end of the answer")
                        .arg(of("kept"))
                        .arg(of("merged"))
                        .arg(of("evicted"))
                        .toStdString());
          EXPECT_TRUE(heads.words(at).contains(QString("layer %1, KV head %2\n").arg(h / 4).arg(h % 4)));
          const std::vector<std::string> row = exports(band["spec"].toString(), h / 4, h % 4);
          ASSERT_EQ(row.size(), 9u);
          EXPECT_EQ(row[5], std::to_string(of("kept")));
          EXPECT_EQ(row[7], std::to_string(of("evicted")));
        }
        const int row = static_cast<int>(mark.run);
        EXPECT_EQ(panel().table().item(row, 3)->text(), StoreMeasure({"", "", "", StoreMeasure::Kind::share}).text(kept / 96));
        EXPECT_EQ(panel().table().item(row, 2)->text(), "4");
      }
    EXPECT_EQ(panel().table().item(0, 3)->text(), "100 %") << "the full cache";
  }
  // By keys: from head to head, past a grid's edge to the next run's; it is said, and its run is chosen in the table.
  heads.setFocus();
  const auto said = [&heads](int key) {
    QTest::keyClick(&heads, Qt::Key(key));
    return heads.accessibleDescription().toStdString();
  };
  EXPECT_NE(said(Qt::Key_Right).find("20 % of the prompt; layer 0, KV head 0"), std::string::npos);
  EXPECT_NE(said(Qt::Key_Down).find("layer 1, KV head 0"), std::string::npos);
  for (int i = 0; i < 3; ++i) said(Qt::Key_Right);
  EXPECT_NE(said(Qt::Key_Right).find("90 % of the prompt; layer 1, KV head 0"), std::string::npos);
  EXPECT_EQ(panel().table().currentRow(), 2);
  EXPECT_NE(said(Qt::Key_PageDown).find("H2O, 20 % of the prompt; layer 1, KV head 0"), std::string::npos);
}

TEST_F(StoresTest, AStoreOfAnEarlierVersionSaysNothingOfHeads) {
  sweep({});
  for (const QString& name : QDir(store()).entryList({"*.json"})) {
    const QString path = QDir(store()).filePath(name);
    QJsonObject item = QJsonDocument::fromJson(bytesOf(path)).object();
    if (name.startsWith("sweep-")) continue;
    SweepResult old = load_sweep_item(path.toStdString(), item["key"].toString().toStdString());
    old.answer = {};
    const SweepItem key{.model_hash = item["model_hash"].toString().toStdString(),
                        .text_hash = item["text_hash"].toString().toStdString(),
                        .run = item["spec"].toString().toStdString(),
                        .seed = static_cast<std::uint64_t>(item["seed"].toInt()),
                        .settings = item["settings"].toString().toStdString()};
    SweepStore(store().toStdString()).put(key, old);
  }
  window->openFile(store());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 20, 10000);
  EXPECT_FALSE(panel().data().knowsHeads());
  panel().lookBox().setCurrentIndex(2);
  EXPECT_TRUE(panel().heads().cellOf(1, 0).isNull());
  EXPECT_EQ(panel().table().item(1, 3)->text(), "n/a");
  EXPECT_TRUE(panel().heads().accessibleDescription().contains("nothing is known"));
}

TEST_F(StoresTest, AStoreThatIsShownBelongsToTheSession) {
  sweep({});
  window->openFile(store());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 20, 10000);
  const QString with = folder.filePath("with.kvscope"), without = folder.filePath("without.kvscope");
  ASSERT_TRUE(window->document().save(with));
  page().showStore(false);
  ASSERT_TRUE(window->document().save(without));
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  window->openFile(with);
  EXPECT_EQ(window->page(), Page::sweep);
  EXPECT_TRUE(page().showsStore());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 20, 10000);
  window->openFile(without);
  EXPECT_FALSE(page().showsStore());
  // A folder that is gone is said, and not forgotten.
  ASSERT_TRUE(QDir().rename(store(), folder.filePath("elsewhere")));
  page().openStore(folder.filePath("elsewhere"));
  window->openFile(with);
  EXPECT_TRUE(page().showsStore());
  EXPECT_TRUE(panel().data().empty());
  EXPECT_NE(state().find(store().toStdString() + ": expected a folder that kvscope-cli sweep"), std::string::npos) << state();
  EXPECT_EQ(window->document().session().store, store());
}

TEST_F(StoresTest, WhatCannotBeUsedIsCountedAndSaid) {
  sweep({});
  int i = 0;
  for (const QString& name : QDir(store()).entryList({"*.json"}))
    if (!name.startsWith("sweep-") && i++ < 2) write(QDir(store()).filePath(name), i == 1 ? "{" : "\xff\x00");
  window->openFile(store());
  QTRY_VERIFY_WITH_TIMEOUT(panel().data().nThere() == 18, 10000);
  EXPECT_NE(state().find("18 of 20 items so far"), std::string::npos) << state();
  EXPECT_NE(state().find("2 files cannot be used: "), std::string::npos) << state();
  // Contents that are no contents: the page keeps what it has, and why is said.
  QDir other(folder.filePath("other"));
  other.mkpath(".");
  write(other.filePath("sweep-0.json"), R"({"schema":"kvscope.sweep-contents/1","model":"m","runs":[],"texts":[],"seeds":[],"keys":[]})");
  window->openFile(other.path());
  EXPECT_NE(window->notices().text().toStdString().find("sweep-0.json"), std::string::npos) << window->notices().text().toStdString();
  EXPECT_EQ(panel().folder(), store());
  // Back to the text on screen.
  page().showStore(false);
  EXPECT_TRUE(page().facts().contains("one prompt")) << page().facts().toStdString();
}

}  // namespace
}  // namespace kvscope
