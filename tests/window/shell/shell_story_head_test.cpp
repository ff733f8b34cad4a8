// SPDX-License-Identifier: Apache-2.0
// One head: found by its error, inspected, changed, written into files and computed again by the program without a window.
#include <set>

#include <QClipboard>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QMouseEvent>
#include <QRegularExpression>
#include <QScrollArea>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

#include "app/window/files/export.h"
#include "app/window/panels/effect/head_effect.h"
#include "app/window/panels/policy/head_keys_form.h"
#include "app/window/panels/policy/policy_form_field.h"
#include "app/window/panels/policy/policy_panel.h"
#include "app/window/panels/policy/policy_panel_allocation.h"
#include "app/window/panels/runs/bookmark_panel.h"
#include "app/window/panels/runs/table_panel.h"
#include "app/window/panels/runs/what_if_panel.h"
#include "app/window/rows/search_bar.h"
#include "app/window/session/session_file.h"
#include "viz/draw/format.h"
#include "viz/draw/svg.h"
#include "window/support/file_dialog.h"
#include "window/support/patience.h"
#include "window/support/story_fixture.h"

namespace kvscope {
namespace {

class HeadByMouse : public StoryByMouse {
 protected:
  QMenuBar& menus() { return *window->findChild<QMenuBar*>(); }
  void clickOn(QWidget& in, const QString& name) {
    for (QToolButton* b : in.findChildren<QToolButton*>())
      if (b->accessibleName() == name || b->text() == name) return QTest::mouseClick(b, Qt::LeftButton, {}, b->rect().center());
    ADD_FAILURE() << "there is no button " << name.toStdString();
  }
  /// The lines of a strip's CSV have what the head holds: its slots with votes and attention, the others without.
  static void compareWithHead(const QString& csv, const HeadRecord& head) {
    const QStringList lines = csv.split("\r\n", Qt::SkipEmptyParts);
    ASSERT_GT(lines.size(), 2);
    static const QRegularExpression between(",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)");  // a comma with an even number of quotes after it
    const auto cell = [&](int token, int column) { return lines[token + 1].split(between).value(column); };
    ASSERT_EQ(lines[0].split(',').mid(3, 2), (QStringList{"votes", "attention"}));
    std::set<int> slots;
    for (std::size_t i = 0; i < head.pos.size(); ++i) {
      slots.insert(head.pos[i]);
      EXPECT_EQ(cell(head.pos[i], 3).toInt(), head.votes[i]) << head.pos[i];
    }
    ASSERT_FALSE(head.attended.empty());
    for (std::size_t i = 0; i < head.attended.size(); ++i)
      if (slots.contains(head.attended[i])) {
        EXPECT_EQ(cell(head.attended[i], 4).toFloat(), head.attention[i]) << head.attended[i];
      }
    for (int token = 0; token < lines.size() - 2; ++token) {
      EXPECT_EQ(cell(token, 0).toInt(), token);
      EXPECT_EQ(cell(token, 3) != "0", slots.contains(token)) << token;
    }
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
};
class HeadByKeys : public StoryByKeys {};

INSTANTIATE_TEST_SUITE_P(Looks, HeadByMouse, ::testing::ValuesIn(kLooks), nameOfLook);

TEST_P(HeadByMouse, IsLookedIntoAndHandedOn) {
  // 1 A prompt dropped on the window.
  QTemporaryDir folder;
  QFile text(folder.filePath("prompt.txt"));
  ASSERT_TRUE(text.open(QIODevice::WriteOnly));
  text.write(
      "The old man told them of Table 2 and of the ship. The number of the house is 731. What is the number of the house? The number of the house is");
  text.close();
  QMimeData mime;
  mime.setUrls({QUrl::fromLocalFile(text.fileName())});
  QDragEnterEvent enter(QPoint(200, 200), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window.get(), &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(200, 200), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window.get(), &drop);
  ASSERT_TRUE(waitFor([&] { return snapshot().prompt.find("Table 2") != std::string::npos; }, 20000));
  ASSERT_TRUE(settle());
  // 2 The head with the largest local error, at the latest step.
  QTest::keyClick(window.get(), Qt::Key_End, Qt::ControlModifier);
  const StepPtr kept = snapshot().lanes[4].steps.back();
  const StepRecord& step = *kept;
  const auto worst =
      std::ranges::max_element(step.heads, {}, [](const HeadRecord& h) { return std::isnan(h.local_l1_wo) ? -1 : h.local_l1_wo; });
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
  clickOn(*window->panel("head_strip")->header(), "Inspector");
  ASSERT_EQ(window->page(), MainWindow::Page::inspector);
  CanvasWidget* inspector = window->canvas("inspector");
  const auto head = [&]() -> const HeadRecord& {
    return shown().steps.back()->heads[static_cast<std::size_t>(worst_layer * 4 + worst_head)];
  };
  ASSERT_TRUE(waitFor([&] { return !head().agreement.empty(); }, 20000)) << "the inspector asks for it";
  ASSERT_TRUE(settle());
  // The token that the head misses most: the reference would look at it, and no slot stands for it (of a merged one the card tells of the
  // slot that does).
  const int row_of_head = worst_layer * 4 + worst_head;
  const std::vector<Category> fate = categories(*shown().fates, *shown().steps.back(), row_of_head, shown().sinks, false);
  int missed = -1;
  for (int t = 0; t < static_cast<int>(head().agreement.size()); ++t)
    if (fate[static_cast<std::size_t>(t)] == Category::evicted &&
        (missed < 0 ||
         head().reference_attention[static_cast<std::size_t>(t)] > head().reference_attention[static_cast<std::size_t>(missed)]))
      missed = t;
  ASSERT_GE(missed, 1);
  const std::string place_of = "L" + std::to_string(worst_layer) + " H" + std::to_string(worst_head) + " t";
  const int agreeing = head().agreement[static_cast<std::size_t>(missed)];
  ASSERT_TRUE(waitFor([&] { return inspector->settled(); }, 5000));
  if (GetParam().height >= 1000) {  // lower windows say it in the card alone
    EXPECT_EQ(valueOf("inspector", "agreement.reference", place_of + std::to_string(missed)),
              agreeing > 0 ? viz::format_number(agreeing) : "");
  }
  picture("3-inspector");
  // It and its neighbours are brushed; the strip sums them up, the cards tell of the token itself.
  const QPoint from = at("inspector", "fate", place_of + std::to_string(missed - 1)),
               to = at("inspector", "fate", place_of + std::to_string(missed + 1));
  QTest::mousePress(inspector, Qt::LeftButton, Qt::ControlModifier, from);
  QTest::mouseMove(inspector, (from + to) / 2);
  QTest::qWait(50);
  QTest::mouseMove(inspector, to);
  QTest::qWait(50);
  QTest::mouseRelease(inspector, Qt::LeftButton, Qt::ControlModifier, to);
  ASSERT_TRUE(waitFor([&] { return selection().tokens == viz::TokenRange{missed - 1, missed + 1}; }, 3000));
  click("inspector", at("inspector", "fate", place_of + std::to_string(missed)));
  EXPECT_EQ(valueOf("inspector", "slot.row", "agreement"), std::to_string(agreeing) + " of 2 query heads");
  picture("3-missed");
  // 4 Text is found and selected; all places are marked, and what else has the words is counted.
  QTest::keyClick(window.get(), Qt::Key_F, Qt::ControlModifier);
  SearchBar& search = window->rows().search();
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
  const auto freed_in = [&](const StepPtr& s) -> const HeadRecord& {
    return s->heads[static_cast<std::size_t>(worst_layer * 4 + worst_head)];
  };
  const auto error = [&] {  // of all steps: a single query may look at what neither cache lost
    double sum = 0;
    for (const StepPtr& s : snapshot().lanes[static_cast<std::size_t>(lane)].steps) sum += freed_in(s).local_rel_l2;
    return sum;
  };
  const double before = error();
  auto* bars = window->findChild<AllocationCurve*>();
  window->findChild<PolicyPanel*>()->findChild<QScrollArea*>()->ensureWidgetVisible(bars);
  QTest::qWait(50);  // the card gives its words the room that they want
  const QRectF bar = bars->columnRect(worst_layer, worst_head);
  const QPoint foot(static_cast<int>(bar.center().x()), static_cast<int>(bar.bottom()) - 1), top(foot.x(), static_cast<int>(bar.top()) + 1);
  QTest::mouseMove(bars, foot);
  QTest::mousePress(bars, Qt::LeftButton, {}, foot);
  QTest::mouseMove(bars, top);
  QTest::mouseRelease(bars, Qt::LeftButton, {}, top);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(freed_in(snapshot().lanes[static_cast<std::size_t>(lane)].steps.back()).overridden);
  EXPECT_LT(error(), before) << freed_in(snapshot().lanes[static_cast<std::size_t>(lane)].steps.back()).budget;
  picture("5-budget-of-one-head");
  // A threshold of its own for this head only, and what it did.
  auto* keys_of_head = window->findChild<HeadKeysForm*>();
  ASSERT_TRUE(keys_of_head->offers());
  auto* threshold = qobject_cast<QDoubleSpinBox*>(keys_of_head->field("threshold")->widget());
  window->findChild<PolicyPanel*>()->findChild<QScrollArea*>()->ensureWidgetVisible(keys_of_head);
  QTest::mouseClick(threshold, Qt::LeftButton, {}, QPoint(10, threshold->height() / 2));
  threshold->selectAll();
  QTest::keyClicks(threshold, "0.6");
  ASSERT_TRUE(settle());
  ASSERT_EQ(shown().head_params.size(), 1u);
  EXPECT_EQ(shown().head_params[0].value, "0.6");
  const QString effect = window->findChild<HeadEffect*>()->words();
  EXPECT_TRUE(effect.contains("mean KL") && effect.contains("→") && effect.contains("top-1 same")) << effect.toStdString();
  picture("5-threshold-of-one-head");
  // 6 A bookmark with a note; numbers and pictures into files.
  chooseInMenus(menus(), {"Tools", "Bookmark with a note"});
  auto* bookmarks = window->findChild<BookmarkPanel*>();
  ASSERT_TRUE(waitFor([&] { return bookmarks->isVisible(); }));
  ASSERT_TRUE(waitFor([&] { return window->model().bookmarks.size() == 1; }));
  ASSERT_TRUE(waitFor([&] { return bookmarks->isAncestorOf(QApplication::focusWidget()); })) << "its place in the list";
  QWidget* note = QApplication::focusWidget();
  ASSERT_TRUE(note->inherits("QLineEdit")) << note->metaObject()->className() << " in a panel of " << bookmarks->height() << " px";
  QTest::keyClicks(note, "here the table is lost");
  QTest::keyClick(note, Qt::Key_Return);
  ASSERT_TRUE(waitFor([&] { return window->model().bookmarks.all()[0].note == "here the table is lost"; }, 3000));
  picture("6-bookmark");
  // The row of numbers of this head, as the grid and its table show it.
  const viz::Selection looked_at = selection();
  chooseOn("head_grid", at("head_grid", "cell", label), {"Numbers of the view as a table"});
  auto* table_panel = window->findChild<TablePanel*>();
  ASSERT_TRUE(waitFor([&] { return table_panel->isVisible() && table_panel->facts().startsWith("Head grid"); }, 3000))
      << table_panel->facts().toStdString();
  QTableView& rows = table_panel->view();
  int row = -1;
  for (int r = 0; r < rows.model()->rowCount(); ++r)
    if (rows.model()->index(r, 0).data().toInt() == worst_layer && rows.model()->index(r, 1).data().toInt() == worst_head) row = r;
  ASSERT_GE(row, 0);
  rows.scrollTo(rows.model()->index(row, 0));
  const QRect place = rows.visualRect(rows.model()->index(row, 0));
  ASSERT_TRUE(rows.viewport()->rect().contains(place)) << "a row can be read and clicked";
  for (QWidget* tool : table_panel->tools()->findChildren<QWidget*>(Qt::FindDirectChildrenOnly))
    EXPECT_TRUE(
        window->panel("table")->header()->rect().contains(QRect(tool->mapTo(window->panel("table")->header(), QPoint()), tool->size())));
  QTest::mouseClick(rows.viewport(), Qt::LeftButton, {}, place.center());
  clickOn(*window->panel("table")->header(), "copy rows");
  const QStringList copied = QApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
  ASSERT_EQ(copied.size(), 2) << "names and one row";
  const QString shown_error = copied[1].split('\t').value(2);
  EXPECT_EQ(shown_error.toStdString(), viz::format_number(head().local_l1_wo, 6));
  picture("6-numbers-copied");
  // CSV and SVG of the strip of this head: a right click on it, and the dialog.
  CanvasWidget* strip = window->canvas("head_strip");
  if (strip->visibleRegion().isEmpty()) {  // in a low window the table has made a tab of it
    const QString name = window->inspect().dock("head_strip")->windowTitle();
    for (QTabBar* tabs : window->findChildren<QTabBar*>())
      for (int i = 0; tabs->isVisible() && i < tabs->count(); ++i)
        if (tabs->tabText(i) == name) QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(i).center());
    ASSERT_TRUE(settle());
  }
  const auto exported = [&](const QString& file, const QString& kind) {
    window->activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(window.get()));
    FileDialogAnswer answer(folder.filePath(file), kind, FileDialogAnswer::By::mouse);
    chooseOn("head_strip", strip->rect().center(), {"Export view"});
    EXPECT_TRUE(answer.answered()) << file.toStdString();
    QFile written(folder.filePath(file));
    EXPECT_TRUE(written.open(QIODevice::ReadOnly)) << file.toStdString();
    return QString::fromUtf8(written.readAll());
  };
  const QString numbers = exported("head.csv", "Numbers");
  EXPECT_EQ(numbers.toStdString(), viz::to_csv(strip->table()));
  compareWithHead(numbers, head());
  const QString svg = exported("head.svg", "SVG");
  EXPECT_EQ(svg.toStdString(), canvasesAsSvg({strip}, *window, window->workspace()));
  EXPECT_TRUE(svg.contains(QString::fromStdString(viz::xml_text(strip->facts().toStdString())))) << strip->facts().toStdString();
  EXPECT_EQ(selection(), looked_at) << "what is taken out stays as it is";
  // 7 The session comes back with the same numbers, selection and note.
  const double kl = snapshot().lanes[static_cast<std::size_t>(lane)].steps.back()->kl;
  {
    window->activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(window.get()));
    FileDialogAnswer answer(folder.filePath("s"), {}, FileDialogAnswer::By::mouse);
    chooseInMenus(menus(), {"File", "Save session"});
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
  ASSERT_TRUE(waitFor([&] { return snapshot().prompt.find("Table 2") != std::string::npos; }, 20000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().lanes[static_cast<std::size_t>(lane)].steps.back()->kl, kl);
  QTest::keyClick(window.get(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  picture("8-palette");
}

TEST_F(HeadByKeys, IsLookedInto) {
  keys({"ctrl+f"});
  ASSERT_TRUE(waitFor([&] { return window->rows().search().line().hasFocus(); }, 3000));
  write("Helen");
  keys({"Return", "Return"});
  ASSERT_TRUE(selection().tokens);
  EXPECT_EQ(window->workspace().found().size(), 3u);
  keys({"Escape"});
  window->canvas("head_grid")->setFocus();
  keys({"ctrl+End", "Home", "Down", "Down", "Right", "Return"});
  ASSERT_EQ(window->page(), MainWindow::Page::inspector);
  ASSERT_TRUE(selection().kv_head);
  const auto head = selection().kv_head;
  keys({"Down"});
  EXPECT_NE(selection().kv_head, head) << "the next head";
  ASSERT_TRUE(settle());  // a head that was not measured is, and until then the newest step is another one
  keys({"End", "shift+Left", "shift+Left"});
  const int newest = snapshot().lanes[static_cast<std::size_t>(selection().lane)].steps.back()->position;
  EXPECT_EQ(selection().tokens, (viz::TokenRange{newest - 2, newest})) << "brushed by keys";
  keys({"Escape", "ctrl+b"});
  EXPECT_EQ(window->model().bookmarks.size(), 1);
  EXPECT_EQ(window->page(), MainWindow::Page::inspect);
}

}  // namespace
}  // namespace kvscope
