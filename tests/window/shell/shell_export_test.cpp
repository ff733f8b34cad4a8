// SPDX-License-Identifier: Apache-2.0
// Files out of a view: their kind, and the dialog that asks for them.
#include <set>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QTemporaryDir>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/files/export.h"
#include "app/window/panels/runs/run_grid.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/panels/runs/table_panel.h"
#include "app/window/rows/rows.h"
#include "viz/draw/svg.h"
#include "window/support/file_bytes.h"
#include "window/support/file_dialog.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class ExportTest : public WindowTest {
 protected:
  /// The first bytes of the only file that an export under this name leaves behind, after its name.
  std::string exported(const QString& file, const QString& kind) {
    if (window->page() == MainWindow::Page::inspect) window->canvas("atlas")->setFocus();
    FileDialogAnswer answer(folder.filePath(file), kind);
    for (QAction* a : window->findChildren<QAction*>())
      if (a->text().remove('&').startsWith("Export view")) {
        a->trigger();
        break;
      }
    EXPECT_TRUE(answer.answered());
    const QStringList files = QDir(folder.path()).entryList(QDir::Files);
    if (files.size() != 1) return "files: " + files.join(", ").toStdString();
    QFile written(folder.filePath(files.front()));
    EXPECT_TRUE(written.open(QIODevice::ReadOnly));
    const std::string out = files.front().toStdString() + " " + written.read(5).toStdString();
    written.remove();
    return out;
  }
  QTemporaryDir folder;
};

TEST_F(ExportTest, APictureOfOneHeadHasAllReasonsHoweverLowItsPanel) {
  CanvasWidget* const inspector = window->canvas("inspector");
  viz::Selection at = window->workspace().selection();
  at.layer = 4, at.kv_head = 3;
  window->workspace().setSelection(at);
  inspector->resize(1300, 320);
  ASSERT_TRUE(settle());
  const QImage all = inspector->picture(2, /*alone=*/true);
  EXPECT_EQ(all.width(), 2 * 1300);
  EXPECT_GT(all.height(), 2 * 500);
  EXPECT_EQ(inspector->scene(/*alone=*/true).size.y, static_cast<float>(all.height()) / 2) << "of drawing commands the same";
  EXPECT_EQ(inspector->scene().size.y, 320) << "on screen it is as high as its panel";
  const QImage page = canvasAsImage(*inspector, window->workspace(), 2);
  EXPECT_GE(page.height(), all.height() + 2 * static_cast<int>(viz::kPictureTitle + viz::kPictureStampLine)) << "nothing stands on it";
}

/// All that `a` says `b` says too; what else it has is added to `more` by its name.
void expectWithin(const QJsonValue& a, const QJsonValue& b, const QString& where, std::set<QString>& more) {
  if (a.isObject() && b.isObject()) {
    for (const QString& key : b.toObject().keys())
      if (!a.toObject().contains(key)) more.insert(key);
    for (const QString& key : a.toObject().keys()) expectWithin(a[key], b[key], where + "/" + key, more);
  } else if (a.isArray() && b.isArray() && a.toArray().size() == b.toArray().size()) {
    for (int i = 0; i < a.toArray().size(); ++i) expectWithin(a[i], b[i], QString("%1/%2").arg(where).arg(i), more);
  } else {
    EXPECT_TRUE(a == b) << where.toStdString();
  }
}

TEST_F(ExportTest, ATypedEndingDecidesTheKind) {
  EXPECT_EQ(exported("view", "SVG"), "view.svg <?xml");
  EXPECT_EQ(exported("insp.csv", "SVG").substr(0, 8), "insp.csv");
  EXPECT_EQ(exported("view.PNG", "Numbers").substr(0, 13), "view.PNG \x89PNG");
  EXPECT_EQ(exported("view.svg", "whole window"), "view.svg <?xml");
  EXPECT_EQ(exported("view.1", "Numbers").substr(0, 10), "view.1.csv") << "not every dot begins an ending";
}

TEST_F(ExportTest, APictureHasRoomForWordsThatAreNewInIt) {
  const QPushButton* clock = nullptr;
  for (const auto* box : window->findChildren<QComboBox*>())
    if (box->accessibleName() == "Speed of play") clock = box->parentWidget()->findChild<QPushButton*>();
  ASSERT_NE(clock, nullptr);
  press(Qt::Key_End);
  ASSERT_TRUE(settle());
  ASSERT_EQ(clock->text(), "now");
  const int before = clock->width();
  viz::Selection at = window->workspace().selection();
  at.step = 1;
  window->workspace().setSelection(at);
  window->exports().picture();
  EXPECT_GT(clock->width(), before) << clock->text().toStdString();
  EXPECT_GE(clock->width(), clock->sizeHint().width()) << clock->text().toStdString() << " is cut";
}

TEST_F(ExportTest, ASweepIsWrittenAsNumbersOnceSomethingIsMeasured) {
  window->showPage(MainWindow::Page::sweep);
  EXPECT_EQ(exported("sweep.csv", "Numbers"), "files: ");
  EXPECT_TRUE(window->messages().text().contains("sweep.csv was not written: nothing is measured yet"))
      << window->messages().text().toStdString();
  window->messages().dismiss();
  window->runActions().sweep().grid().model().choose("knorm", true);
  window->runActions().sweep().start();
  ASSERT_TRUE(waitFor([&] { return window->runActions().sweep().data().nMeasured() > 0; }, 20000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(exported("sweep", "Numbers"), "sweep.csv " + window->runActions().sweep().data().table().columns[0].substr(0, 5));
  EXPECT_EQ(exported("sweep.csv", "whole window").substr(0, 9), "sweep.csv");
  EXPECT_EQ(exported("chart", "PNG picture of Quality and budget, 2 px").substr(0, 14), "chart.png \x89PNG");
  for (QAction* a : window->findChildren<QAction*>())
    if (a->text().remove('&') == "Copy the numbers of the view") a->trigger();
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(), viz::to_csv(window->runActions().sweep().data().table()));
  EXPECT_FALSE(window->messages().isVisible());
}

TEST_F(ExportTest, NumbersOfASweepFollowWhatIsMeasured) {
  window->showPage(MainWindow::Page::sweep);
  SweepPanel& sweep = window->runActions().sweep();
  sweep.grid().model().choose("knorm", true);
  for (QAction* a : window->findChildren<QAction*>())
    if (a->text().remove('&') == "Numbers of the view as a table") a->trigger();
  auto* table = window->findChild<TablePanel*>();
  ASSERT_TRUE(table->isVisible());
  const QString before = table->csv();
  sweep.start();
  ASSERT_TRUE(waitFor([&] { return sweep.data().nMeasured() > 0 && sweep.data().missing().empty(); }, 20000));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(waitFor([&] { return table->csv().toStdString() == viz::to_csv(sweep.data().table()); })) << table->csv().toStdString();
  EXPECT_NE(table->csv(), before);
}

TEST_F(ExportTest, ATraceIsWhatTheCommandLineWritesOfTheSession) {
  const QString session = folder.filePath("s.kvscope"), ours = folder.filePath("ours.json"), theirs = folder.filePath("theirs.json");
  ASSERT_TRUE(window->document().save(session));
  FileDialogAnswer answer(folder.filePath("ours"), "Trace");
  for (QAction* a : window->findChildren<QAction*>())
    if (a->text().remove('&') == "Write trace…") a->trigger();
  EXPECT_TRUE(answer.answered());
  ASSERT_TRUE(waitFor([&] { return QFile::exists(ours); }, 30000));
  QProcess cli;
  cli.start(KVSCOPE_CLI, {"trace", "--session", session, "--detail", "why", "--quiet", "--out", theirs});
  ASSERT_TRUE(cli.waitForFinished(60000));
  ASSERT_EQ(cli.exitCode(), 0) << cli.readAllStandardError().toStdString();
  const auto read = [](const QString& path) {
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    return QJsonDocument::fromJson(file.readAll()).object();
  };
  const QJsonObject here = read(ours);
  EXPECT_EQ(here["lanes"].toArray().size(), static_cast<qsizetype>(snapshot().lanes.size()));
  std::set<QString> only_there;
  expectWithin(here, read(theirs), {}, only_there);
  // what is measured in the window when it is asked for
  EXPECT_EQ(only_there, (std::set<QString>{"agreement", "predictor_error", "predictor_rel_error", "runner_ups", "theta"}));
}

TEST_F(ExportTest, AnEndingThatCannotBeGivesWayToTheChosenKind) {
  window->showPage(MainWindow::Page::welcome);
  EXPECT_EQ(exported("view.csv", "whole window").substr(0, 13), "view.png \x89PNG");
}

/// The dialog asks about the name that was typed: what is written beside it with an ending is asked about, too.
TEST_F(ExportTest, AFileThatIsThereIsNotReplacedUnasked) {
  const auto written = [&](const QString& command, const QString& typed, const QString& kind, QMessageBox::StandardButton button) {
    if (window->page() == MainWindow::Page::inspect) window->canvas("atlas")->setFocus();
    FileDialogAnswer answer(folder.filePath(typed), kind);
    QString asked;
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (box == nullptr) return;
      const bool replace = box->windowTitle() == "Replace the file?";
      if (replace) asked = box->text();
      box->button(replace ? button : QMessageBox::Save)->click();
    });
    timer.start(50);
    for (QAction* a : window->findChildren<QAction*>())
      if (a->text().remove('&').startsWith(command)) {
        a->trigger();
        break;
      }
    EXPECT_TRUE(answer.answered()) << command.toStdString();
    return asked;
  };
  struct Case {
    const char *command, *typed, *kind, *file;
  };
  const Case cases[] = {{"Save session as", "talk", "Sessions", "talk.kvscope"}, {"Write trace", "t", "Trace", "t.json"},
                        {"Write report", "report", "Web page", "report.html"},   {"Write report", "sheets", "A4", "sheets.pdf"},
                        {"Share as web page", "page", "Web page", "page.html"},  {"Export view", "atlas", "SVG", "atlas.svg"},
                        {"Export view", "atlas.png", "SVG", "atlas.png"}};
  for (const Case& c : cases) {
    const QString file = folder.filePath(c.file);
    write(file, "something else");
    EXPECT_TRUE(written(c.command, c.typed, c.kind, QMessageBox::No).startsWith(file)) << c.file;
    QTest::qWait(300);  // some are written by another thread
    EXPECT_EQ(bytesOf(file), "something else") << c.file;
    EXPECT_TRUE(written(c.command, c.typed, c.kind, QMessageBox::Yes).startsWith(file)) << c.file;
    EXPECT_TRUE(waitFor([&] { return bytesOf(file) != "something else"; }, 20000)) << c.file;
  }
  const QString mine = folder.filePath("mine.kvscope");
  write(mine, "a session");
  EXPECT_EQ(written("Export view", "mine.kvscope", "SVG", QMessageBox::No), "") << "another file is written";
  EXPECT_TRUE(QFile::exists(mine + ".svg"));
  EXPECT_EQ(bytesOf(mine), "a session");
  for (const Case& c :
       {Case{"Write trace", "a", "Trace", "a.json"}, Case{"Write report", "a", "Web page", "a.html"},
        Case{"Share as web page", "a.png", "Web page", "a.html"}, Case{"Save session as", "a.pdf", "Sessions", "a.kvscope"}}) {
    for (const char* name : {"a", "a.png", "a.pdf", c.file}) write(folder.filePath(name), "something else");
    EXPECT_TRUE(written(c.command, c.typed, c.kind, QMessageBox::No).startsWith(folder.filePath(c.file))) << c.file;
    EXPECT_EQ(bytesOf(folder.filePath(c.typed)), "something else");
  }
}

TEST_F(ExportTest, NothingIsWrittenUnderSettingsThatItWasNotComputedWith) {
  std::string long_text;
  for (int i = 0; i < 20000; ++i) long_text += "word ";
  window->controller().setPrompt(QString::fromStdString(long_text));
  window->controller().setTemperature(0.8);
  window->controller().setSeed(7);
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed; }, 20000));
  ASSERT_FALSE(snapshot().lanes.empty()) << "the runs of before are still shown";
  for (const char* command : {"Write trace", "Write report", "Share as web page"}) {
    window->messages().dismiss();
    FileDialogAnswer answer(folder.filePath("out"));
    for (QAction* a : window->findChildren<QAction*>())
      if (a->text().remove('&').startsWith(command)) a->trigger();
    EXPECT_FALSE(answer.answered()) << command;
    EXPECT_TRUE(window->messages().text().startsWith("Nothing was written: what is shown is of other settings")) << command;
  }
  QTest::qWait(300);
  EXPECT_TRUE(QDir(folder.path()).entryList(QDir::Files).isEmpty());
}

}  // namespace
}  // namespace kvscope
