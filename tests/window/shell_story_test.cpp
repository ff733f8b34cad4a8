// SPDX-License-Identifier: Apache-2.0
// Two stories of use from their first to their last step, by mouse in both themes and by keys of the X server. KVSCOPE_STORY_PICTURES names a folder
// for a picture of every step.
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMimeData>
#include <QMouseEvent>
#include <QProcess>
#include <QPushButton>
#include <QStandardPaths>
#include <QTableView>
#include <QTableWidget>
#include <QTemporaryDir>

#include "app/window/add_runs_dialog.h"
#include "app/window/bookmark_panel.h"
#include "app/window/export.h"
#include "app/window/report.h"
#include "app/window/run_grid.h"
#include "app/window/search_bar.h"
#include "app/window/session_file.h"
#include "app/window/sweep_panel.h"
#include "app/window/table_panel.h"
#include "app/window/what_if_panel.h"
#include "viz/format.h"
#include "viz/svg.h"
#include "window/file_dialog.h"
#include "window/window_fixture.h"

namespace kvscope {
namespace {

struct Look {
  const char* theme;
  int width, height;
};

class Story : public WindowTest {
 protected:
  void picture(const QString& step, QWidget* what = nullptr) {
    const QString folder = qEnvironmentVariable("KVSCOPE_STORY_PICTURES");
    if (folder.isEmpty()) return;
    QDir().mkpath(folder);
    QTest::qWait(250);
    (what ? what->grab() : window->picture()).save(folder + "/" + name() + "-" + step + ".png");
  }
  static QString name() {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    return QString("%1-%2").arg(info->test_suite_name(), info->name()).replace('/', '-');
  }
  /// Middle of what a canvas drew.
  QPoint at(const char* view, const char* kind, const std::string& label) {
    CanvasWidget* canvas = window->canvas(view);
    (void)QTest::qWaitFor([&] { return canvas->settled(); }, 5000);
    for (const viz::Mark& mark : canvas->view().marks())
      if (mark.kind == kind && mark.label == label) return {static_cast<int>((mark.min.x + mark.max.x) / 2), static_cast<int>((mark.min.y + mark.max.y) / 2)};
    ADD_FAILURE() << view << " shows no " << kind << " " << label;
    return {};
  }
  std::string valueOf(const char* view, const char* kind, const std::string& label) const {
    for (const viz::Mark& mark : window->canvas(view)->view().marks())
      if (mark.kind == kind && mark.label == label) return mark.value;
    return {};
  }
  void click(const char* view, const QPoint& place, Qt::KeyboardModifiers modifiers = {}) {
    CanvasWidget* canvas = window->canvas(view);
    QTest::mouseMove(canvas, place);
    QTest::mouseClick(canvas, Qt::LeftButton, modifiers, place);
    (void)QTest::qWaitFor([&] { return canvas->settled(); }, 5000);
    QApplication::processEvents();
  }
  /// Every number of every head that the file and the window both have is the same.
  void compareWithTrace(const QString& path) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    const QJsonArray lanes = QJsonDocument::fromJson(file.readAll()).object()["lanes"].toArray();
    ASSERT_EQ(lanes.size(), static_cast<int>(snapshot().lanes.size()));
    int n = 0;
    const auto same = [&n](const QJsonValue& written, double shown, const std::string& where) {
      if (written.isDouble()) {
        ++n;
        EXPECT_EQ(written.toDouble(), shown) << where;
      } else {
        EXPECT_TRUE(std::isnan(shown)) << where;
      }
    };
    for (std::size_t l = 0; l < snapshot().lanes.size(); ++l) {
      const LaneSnapshot& lane = snapshot().lanes[l];
      const QJsonObject written = lanes[static_cast<int>(l)].toObject();
      EXPECT_EQ(written["spec"].toString().toStdString(), lane.spec);
      const QJsonArray steps = written["steps"].toArray();
      ASSERT_EQ(steps.size(), static_cast<int>(lane.steps.size()));
      for (std::size_t s = 0; s < lane.steps.size(); ++s) {
        const QJsonObject step = steps[static_cast<int>(s)].toObject();
        const std::string where = lane.spec + " step " + std::to_string(s);
        same(step["kl"], lane.steps[s]->kl, where + " kl");
        const QJsonArray heads = step["heads"].toArray();
        ASSERT_EQ(heads.size(), static_cast<int>(lane.steps[s]->heads.size()));
        for (std::size_t h = 0; h < lane.steps[s]->heads.size(); ++h) {
          const HeadRecord& head = lane.steps[s]->heads[h];
          const QJsonObject of = heads[static_cast<int>(h)].toObject();
          same(of["local_rel_l2"], head.local_rel_l2, where + " local_rel_l2");
          same(of["local_l1_wo"], head.local_l1_wo, where + " local_l1_wo");
          EXPECT_EQ(of["slots"].toArray().size(), static_cast<int>(head.pos.size())) << where;
        }
      }
    }
    EXPECT_GT(n, 1000);
  }
  const viz::Selection& selection() const { return window->workspace().selection(); }
  const LaneSnapshot& shown() const { return snapshot().lanes[static_cast<std::size_t>(selection().lane)]; }
};

class StoryByMouse : public Story, public ::testing::WithParamInterface<Look> {
 protected:
  void SetUp() override {
    options.theme = GetParam().theme;
    options.size = {GetParam().width, GetParam().height};
    WindowTest::SetUp();
  }
};

INSTANTIATE_TEST_SUITE_P(Looks, StoryByMouse, ::testing::Values(Look{"dark", 1600, 1000}, Look{"light", 1280, 800}),
                         [](const auto& look) { return std::string(look.param.theme) + std::to_string(look.param.width); });

TEST_P(StoryByMouse, ManyRunsOnOnePrompt) {
  // 1 Compare, Add runs: policies × budgets, with what they will take.
  QTest::keyClick(window.get(), Qt::Key_3, Qt::AltModifier);
  QTest::keyClick(window.get(), Qt::Key_R, Qt::ControlModifier);
  AddRunsDialog& dialog = window->addRunsDialog();
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
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return std::ranges::any_of(compare->view().marks(), [](const viz::Mark& m) { return m.kind == "waiting"; }) || !window->runs().busy();
  }, 5000));
  picture("2-waiting");
  const int last = window->runs().runs().back().id;
  for (const viz::Mark& mark : compare->view().marks())
    if (mark.label == "cancel run " + std::to_string(last)) click("compare", {static_cast<int>((mark.min.x + mark.max.x) / 2), static_cast<int>((mark.min.y + mark.max.y) / 2)});
  if (window->runs().runs().back().open()) window->runs().cancel(last);  // its row was not among those shown
  ASSERT_TRUE(settle());
  const bool cancelled = window->runs().runs().back().state == QueuedRun::State::cancelled;
  EXPECT_EQ(snapshot().lanes.size(), cancelled ? 8u : 9u) << "fast as it is, the last may have been done";
  // 3 Sort by KL; a token's fate in every run at once.
  click("compare", at("compare", "column", "mean KL"));
  picture("3-sorted");
  const QPoint strip = at("compare", "strip", "lane 2");
  QTest::mouseMove(compare, strip);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window->workspace().hover().token.has_value(); }, 5000));
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
  for (const viz::Mark& mark : compare->view().marks()) both = both || (mark.kind == "difference" && mark.label.find("both") != std::string::npos);
  EXPECT_TRUE(both);
  // 5 The sweep; a click on a point opens that run.
  QTest::keyClick(window.get(), Qt::Key_4, Qt::AltModifier);
  SweepPanel& sweep = window->sweep();
  sweep.grid().budgets().setText("12 %, 25 %, 50 %");
  picture("5-sweep-before");
  QTest::mouseClick(&sweep.startButton(), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(sweep.data().missing().size(), 0u);
  picture("5-sweep");
  const std::string knee = sweep.data().points()[1].spec;
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
  ASSERT_TRUE(writeReport(window->report(), path, &why)) << why.toStdString();
  // the pin needed one token more, which the sweep had not measured: the report has the runs, and no curves of another text
  EXPECT_TRUE(reportHtml(window->report()).contains("tova:"));
}

TEST_P(StoryByMouse, OneHeadIsLookedInto) {
  // 1 A prompt dropped on the window.
  QTemporaryDir folder;
  QFile text(folder.filePath("prompt.txt"));
  ASSERT_TRUE(text.open(QIODevice::WriteOnly));
  text.write("The old man told them of Table 2 and of the ship. The number of the house is 731. What is the number of the house? The number of the house is");
  text.close();
  QMimeData mime;
  mime.setUrls({QUrl::fromLocalFile(text.fileName())});
  QDragEnterEvent enter(QPoint(200, 200), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window.get(), &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(200, 200), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window.get(), &drop);
  ASSERT_TRUE(QTest::qWaitFor([&] { return snapshot().prompt.find("Table 2") != std::string::npos; }, 20000));
  ASSERT_TRUE(settle());
  // 2 The head with the largest local error.
  const StepPtr kept = snapshot().lanes[4].steps.back();
  const StepRecord& step = *kept;
  const auto worst = std::ranges::max_element(step.heads, {}, [](const HeadRecord& h) { return std::isnan(h.local_l1_wo) ? -1 : h.local_l1_wo; });
  const int worst_layer = worst->layer, worst_head = worst->kv_head;
  const std::string label = "L" + std::to_string(worst_layer) + " H" + std::to_string(worst_head);
  click("head_grid", at("head_grid", "sort", "order of the model"));
  const auto cell = [&](const std::string& name) {
    const auto& marks = window->canvas("head_grid")->view().marks();
    return std::ranges::find_if(marks, [&](const viz::Mark& m) { return m.kind == "cell" && m.label == name; })->min;
  };
  const ImVec2 first = cell(label);
  for (const HeadRecord& h : step.heads) {
    const ImVec2 other = cell("L" + std::to_string(h.layer) + " H" + std::to_string(h.kv_head));
    EXPECT_TRUE(first.x <= other.x && first.y <= other.y) << "the worst stands first, not L" << h.layer << " H" << h.kv_head;
  }
  click("head_grid", at("head_grid", "cell", label));
  EXPECT_EQ(selection().layer, worst_layer);
  EXPECT_EQ(selection().kv_head, worst_head);
  picture("2-head-grid");
  // 3 Its inspector.
  QTest::mouseClick(window->canvas("head_grid"), Qt::LeftButton, {}, at("head_grid", "cell", label));
  QTest::keyClick(window->canvas("head_grid"), Qt::Key_Return);
  ASSERT_EQ(window->page(), MainWindow::Page::inspector);
  picture("3-inspector");
  // 4 Text is found and selected; all places are marked, and what else has the words is counted.
  QTest::keyClick(window.get(), Qt::Key_F, Qt::ControlModifier);
  SearchBar& search = window->searchBar();
  QTest::keyClicks(&search.line(), "house");
  QTest::keyClick(&search.line(), Qt::Key_Return);
  EXPECT_TRUE(search.stateText().startsWith("1 of 3")) << search.stateText().toStdString();
  EXPECT_EQ(window->workspace().found().size(), 3u);
  EXPECT_TRUE(search.elsewhereText().contains("event")) << search.elsewhereText().toStdString();
  picture("4-found");
  QTest::keyClick(window.get(), Qt::Key_1, Qt::AltModifier);
  picture("4-found-inspect");
  search.line().setText("Table 2");
  QTest::keyClick(&search.line(), Qt::Key_Return);
  ASSERT_TRUE(selection().tokens);
  const viz::TokenRange table = *selection().tokens;
  QTest::keyClick(&search.line(), Qt::Key_Escape);
  EXPECT_TRUE(window->workspace().found().empty()) << "marks go with the search";
  viz::Selection several = selection();
  viz::toggle_tokens(several, {table.last + 2, table.last + 3});
  window->workspace().setSelection(several);
  EXPECT_TRUE(window->canvas("head_strip")->facts().contains("mean")) << window->canvas("head_strip")->facts().toStdString();
  picture("4-several-tokens");
  // 5 A larger budget for this head only, and what it changes.
  const int lane = selection().lane;
  const double before = snapshot().lanes[static_cast<std::size_t>(lane)].steps.back()->heads[static_cast<std::size_t>(worst_layer * 4 + worst_head)].local_rel_l2;
  window->handEdits().setBudget(lane, worst_layer, worst_head, snapshot().n_prompt + 8);
  ASSERT_TRUE(settle());
  const HeadRecord& freed = snapshot().lanes[static_cast<std::size_t>(lane)].steps.back()->heads[static_cast<std::size_t>(worst_layer * 4 + worst_head)];
  EXPECT_TRUE(freed.overridden);
  EXPECT_LT(freed.local_rel_l2, before);
  picture("5-budget-of-one-head");
  const auto head = [&]() -> const HeadRecord& { return snapshot().lanes[static_cast<std::size_t>(lane)].steps.back()->heads[static_cast<std::size_t>(worst_layer * 4 + worst_head)]; };
  // 6 A bookmark with a note; numbers and pictures into files.
  QTest::keyClick(window.get(), Qt::Key_B, Qt::ControlModifier | Qt::ShiftModifier);
  auto* bookmarks = window->findChild<BookmarkPanel*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return bookmarks->isVisible(); }));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window->bookmarks().size() == 1; }));
  QWidget* note = QApplication::focusWidget();  // its place in the list
  ASSERT_NE(note, nullptr);
  QTest::keyClicks(note, "here the table is lost");
  QTest::keyClick(note, Qt::Key_Return);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window->bookmarks().all()[0].note == "here the table is lost"; }, 3000));
  picture("6-bookmark");
  // The row of numbers of this head, as the grid and its table show it.
  CanvasWidget* grid = window->canvas("head_grid");
  grid->setFocus();
  QTest::keyClick(grid, Qt::Key_D, Qt::ControlModifier);
  auto* table_panel = window->findChild<TablePanel*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return table_panel->isVisible() && table_panel->facts().startsWith("Head grid"); }, 3000)) << table_panel->facts().toStdString();
  QTableView& rows = table_panel->view();
  int row = -1;
  for (int r = 0; r < rows.model()->rowCount(); ++r)
    if (rows.model()->index(r, 0).data().toInt() == worst_layer && rows.model()->index(r, 1).data().toInt() == worst_head) row = r;
  ASSERT_GE(row, 0);
  rows.scrollTo(rows.model()->index(row, 0));
  QTest::mouseClick(rows.viewport(), Qt::LeftButton, {}, rows.visualRect(rows.model()->index(row, 0)).center());
  QTest::keyClick(&rows, Qt::Key_C, Qt::ControlModifier);
  const QStringList copied = QApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
  ASSERT_EQ(copied.size(), 2) << "names and one row";
  const QString shown_error = copied[1].split('\t').value(2);
  EXPECT_EQ(shown_error.toStdString(), viz::format_number(head().local_l1_wo, 6));
  picture("6-numbers-copied");
  // CSV and SVG of the strip of this head, by the dialog.
  const auto exported = [&](const QString& file, const QString& kind) {
    window->activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(window.get()));
    window->canvas("head_strip")->setFocus();
    FileDialogAnswer answer(folder.filePath(file), kind);
    QTest::keyClick(window->canvas("head_strip"), Qt::Key_E, Qt::ControlModifier);
    EXPECT_TRUE(answer.answered()) << file.toStdString();
    QFile written(folder.filePath(file));
    EXPECT_TRUE(written.open(QIODevice::ReadOnly)) << file.toStdString();
    return QString::fromUtf8(written.readAll());
  };
  EXPECT_EQ(exported("head.csv", "Numbers").toStdString(), viz::to_csv(window->canvas("head_strip")->table()));
  EXPECT_TRUE(exported("head.svg", "SVG").contains("<svg"));
  // 7 The session comes back with the same numbers, selection and note.
  const double kl = snapshot().lanes[static_cast<std::size_t>(lane)].steps.back()->kl;
  {
    window->activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(window.get()));
    FileDialogAnswer answer(folder.filePath("s"));
    QTest::keyClick(window.get(), Qt::Key_S, Qt::ControlModifier);
    ASSERT_TRUE(answer.answered());
  }
  // The program without a window makes the same numbers of it.
  QProcess cli;
  cli.start(KVSCOPE_CLI, {"trace", "--session", folder.filePath("s.kvscope"), "--out", folder.filePath("heads.json"), "--quiet"});
  ASSERT_TRUE(cli.waitForFinished(60000));
  ASSERT_EQ(cli.exitCode(), 0) << cli.readAllStandardError().toStdString();
  compareWithTrace(folder.filePath("heads.json"));
  const SavedSession saved = readSession(folder.filePath("s.kvscope")).session;
  EXPECT_EQ(saved.selection, selection());
  window->controller().setPrompt("something else");
  ASSERT_TRUE(settle());
  window->openFile(folder.filePath("s.kvscope"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return snapshot().prompt.find("Table 2") != std::string::npos; }, 20000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[static_cast<std::size_t>(lane)].steps.back()->kl, kl);
  QTest::keyClick(window.get(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  picture("8-palette");
}

/// Keys as the X server delivers them, whatever has the focus.
class StoryByKeys : public Story {
 protected:
  void SetUp() override {
    if (QStandardPaths::findExecutable("xdotool").isEmpty()) GTEST_SKIP() << "xdotool is not installed";
    WindowTest::SetUp();
  }
  void keys(const QStringList& names) {
    for (const QString& one : names) {
      QProcess tool;
      tool.start("xdotool", {"key", one});
      (void)QTest::qWaitFor([&] { return tool.state() == QProcess::NotRunning; }, 5000);
      QTest::qWait(20);
    }
  }
  void write(const QString& text) {
    QProcess tool;
    tool.start("xdotool", {"type", "--delay", "5", text});
    (void)QTest::qWaitFor([&] { return tool.state() == QProcess::NotRunning; }, 10000);
    QTest::qWait(200);
  }
};

TEST_F(StoryByKeys, ManyRunsOnOnePrompt) {
  keys({"alt+3", "ctrl+r"});
  AddRunsDialog& dialog = window->addRunsDialog();
  ASSERT_TRUE(QTest::qWaitFor([&] { return dialog.isVisible(); }, 3000));
  dialog.activateWindow();
  ASSERT_TRUE(QTest::qWaitFor([&] { return dialog.grid().table().hasFocus(); }, 3000));
  keys({"Down", "Down", "Right", "space", "Return"});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !dialog.isVisible(); }, 3000));
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
  window->sweep().grid().budgets().setText("25 %, 50 %");
  window->sweep().startButton().setFocus();
  keys({"space"});
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->sweep().data().missing().empty());
  window->sweep().chart().setFocus();
  keys({"Right", "Return"});
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  // A pin by hand.
  window->canvas("compare")->setFocus();
  keys({"Left", "Left", "p"});
  ASSERT_TRUE(settle());
  EXPECT_NE(shown().spec.find("@pin="), std::string::npos) << shown().spec;
  keys({"ctrl+z"});
  ASSERT_TRUE(settle());
  for (const LaneSnapshot& l : snapshot().lanes) EXPECT_EQ(l.spec.find("@pin="), std::string::npos);
}

TEST_F(StoryByKeys, OneHeadIsLookedInto) {
  keys({"ctrl+f"});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window->searchBar().line().hasFocus(); }, 3000));
  write("Helen");
  keys({"Return", "Return"});
  ASSERT_TRUE(selection().tokens);
  EXPECT_EQ(window->workspace().found().size(), 3u);
  keys({"Escape"});
  window->canvas("head_grid")->setFocus();
  keys({"Down", "Down", "Right", "Return"});
  ASSERT_EQ(window->page(), MainWindow::Page::inspector);
  ASSERT_TRUE(selection().kv_head);
  const auto head = selection().kv_head;
  keys({"Down"});
  EXPECT_NE(selection().kv_head, head) << "the next head";
  keys({"Escape", "ctrl+b"});
  EXPECT_EQ(window->bookmarks().size(), 1);
  EXPECT_EQ(window->page(), MainWindow::Page::inspect);
}

}  // namespace
}  // namespace kvscope
