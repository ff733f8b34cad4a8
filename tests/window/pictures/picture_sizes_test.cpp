// SPDX-License-Identifier: Apache-2.0
// Every page on the screens that people have: nothing is cut that is not shortened on purpose, nothing stands on something else, and no
// panel is lost. The sizes are those of the scale that the process runs at (CMakeLists.txt starts one for each).
// KVSCOPE_SIZE_PICTURES names a folder for a picture of every page.
#include <algorithm>
#include <set>

#include <QAbstractButton>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QLabel>
#include <QMainWindow>
#include <QRegularExpression>
#include <QTabBar>

#include "app/window/lecture/lecture_caption.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/lecture/lecture_page.h"
#include "app/window/lecture/lecture_row.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/panel_paint.h"
#include "viz/views/head_grid/head_metric.h"
#include "window/support/ink.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

using testing::Ink;

/// Screens less a frame and a title bar where they are the whole of it; in logical pixels.
std::vector<QSize> sizesHere() {
  const double scale = qApp->devicePixelRatio();
  if (scale > 1.4) return {{1280, 720}, {911, 512}};  // 150 % of 1920 x 1080 and of 1366 x 768
  if (scale > 1.1) return {{1536, 864}};              // 125 %
  return {{1280, 800}, {1366, 768}, {960, 600}, {3840, 2160}};
}

class SizesTest : public ::testing::Test {
 protected:
  void open(const QSize& size, const std::string& view = "inspect") {
    size_ = size;
    Options options;
    options.picture = "unused.png";
    options.view = view;
    options.theme = size.width() == 1366 ? "light" : "dark";
    options.size = size;
    options.layer = 4;
    options.kv_head = 3;
    options.step = 2;
    options.lanes = {"streaming:ratio=0.1",
                     "h2o:ratio=0.1",
                     "h2o:ratio=0.25",
                     "snapkv:ratio=0.1",
                     "custom:ratio=0.1,score=vnorm",
                     "custom:ratio=0.1,score=\"ema * vnorm\"",
                     "keepkv:ratio=0.1"};
    QApplication::setCursorFlashTime(0);
    window = std::make_unique<MainWindow>(options, startState(options));
    window->setAttribute(Qt::WA_DontShowOnScreen);
    window->show();
    ASSERT_TRUE(settle());
    ASSERT_EQ(window->workspace().snapshot().phase, RunPhase::idle) << window->workspace().snapshot().failure;
    ASSERT_EQ(window->size(), size);
  }
  bool settle() { return waitUntilSettled(*window, 60000); }

  /// What is wrong with the page as it is shown now.
  void look(const QString& page) {
    ASSERT_TRUE(settle());
    const QString name = QString("%1-%2x%3").arg(page).arg(size_.width()).arg(size_.height());
    SCOPED_TRACE(name.toStdString());
    if (const QString folder = qEnvironmentVariable("KVSCOPE_SIZE_PICTURES"); !folder.isEmpty()) {
      ASSERT_TRUE(window->exports().picture().save(QDir(folder).filePath(name + ".png")));
    }
    QApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    inks = testing::inksOf(*window);
    EXPECT_GT(inks.size(), 20U);
    const auto scrolls = [](const Ink& ink) {  // and so may be cut anywhere
      return std::ranges::any_of(std::initializer_list<const char*>{"QTableView (", "QTableWidget (", "QPlainTextEdit (Log)"},
                                 [&ink](const char* in) { return ink.where.contains(in); });
    };
    for (const Ink& ink : inks)
      if (const QString cut = testing::cutOf(ink); !cut.isEmpty() && !scrolls(ink))
        ADD_FAILURE() << "«" << ink.text.toStdString() << "» is " << cut.toStdString() << ": " << ink.where.toStdString() << " at "
                      << ink.box.x() << " " << ink.box.y() << ", " << ink.box.width() << " x " << ink.box.height();
    for (const QLabel* label : window->findChildren<QLabel*>()) {  // lines that have no room are not painted at all
      if (!label->isVisible() || !label->wordWrap() || label->visibleRegion().isEmpty() || label->text().isEmpty()) continue;
      EXPECT_LE(label->heightForWidth(label->width()), label->height() + 2) << "«" << label->text().toStdString() << "»";
    }
    for (std::size_t a = 0; a < inks.size(); ++a)
      for (std::size_t b = a + 1; b < inks.size(); ++b)
        if (testing::overlap(inks[a], inks[b]))
          ADD_FAILURE() << "«" << inks[a].text.toStdString() << "» (" << inks[a].where.toStdString() << ") and «"
                        << inks[b].text.toStdString() << "» (" << inks[b].where.toStdString() << ") stand on each other at "
                        << inks[b].box.x() << " " << inks[b].box.y();
  }

  bool shows(const QString& text) const {
    return std::ranges::any_of(inks, [&text](const Ink& ink) { return ink.text.contains(text); });
  }

  /// Marks of a visible canvas.
  std::vector<viz::Mark> marks(std::string_view view, std::string_view kind) {
    std::vector<viz::Mark> out;
    for (CanvasWidget* canvas : window->views().all()) {
      if (!canvas->isVisible() || view != canvas->view().id()) continue;
      std::ranges::copy_if(canvas->view().marks(), std::back_inserter(out), [kind](const viz::Mark& m) { return m.kind == kind; });
    }
    return out;
  }

  /// All panels stand in the area or are tabs with their names, and none stands on another one.
  void panelsAreThere() {
    SCOPED_TRACE(QString("%1 x %2").arg(size_.width()).arg(size_.height()).toStdString());
    std::vector<QDockWidget*> shown;
    const QMainWindow* area = nullptr;
    for (Panel* panel : window->panels().all()) {
      if (panel->place().kind == viz::Place::Kind::page) continue;
      QDockWidget* dock = window->inspect().dock(panel->id());
      if (dock->isHidden() || dock->isFloating()) continue;  // opened now and then
      area = qobject_cast<QMainWindow*>(dock->parentWidget());
      ASSERT_NE(area, nullptr);
      if (!dock->visibleRegion().isEmpty()) {
        shown.push_back(dock);
        EXPECT_TRUE(area->rect().contains(dock->geometry())) << panel->id().toStdString() << " leaves the window";
        EXPECT_GE(panel->content()->height(), 60) << panel->id().toStdString();
        continue;
      }
      bool named = false;
      for (const QTabBar* bar : area->findChildren<QTabBar*>())
        for (int i = 0; bar->isVisible() && i < bar->count(); ++i) named = named || bar->tabText(i) == dock->windowTitle();
      EXPECT_TRUE(named) << panel->id().toStdString() << " is neither shown nor a tab";
    }
    for (std::size_t a = 0; a < shown.size(); ++a)
      for (std::size_t b = a + 1; b < shown.size(); ++b)
        EXPECT_FALSE(shown[a]->geometry().intersects(shown[b]->geometry()))
            << shown[a]->objectName().toStdString() << " and " << shown[b]->objectName().toStdString();
  }

  /// Fates in rows that can be seen.
  void fatesAreThere() {
    SCOPED_TRACE(QString("%1 x %2").arg(size_.width()).arg(size_.height()).toStdString());
    const std::vector<viz::Mark> rows = marks("atlas", "row");
    const ModelConfig& model = window->workspace().snapshot().model;
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(model.n_layers * model.n_kv_heads)) << "a row a head";
    for (const viz::Mark& row : rows) EXPECT_GE(row.max.y - row.min.y, 3) << row.label;
  }

  /// Fates in rows that can be seen, numbers in cells that can be read, and no empty half on a large screen.
  void mainPicturesAreThere() {
    SCOPED_TRACE(QString("%1 x %2").arg(size_.width()).arg(size_.height()).toStdString());
    const std::vector<viz::Mark> rows = marks("atlas", "row"), cells = marks("head_grid", "cell");
    const ModelConfig& model = window->workspace().snapshot().model;
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(model.n_layers * model.n_kv_heads)) << "a row a head";
    ASSERT_EQ(cells.size(), rows.size());
    for (const viz::Mark& row : rows) {
      EXPECT_GE(row.max.y - row.min.y, 3) << row.label;
      EXPECT_EQ(row.value, "category") << "fates have gone from the main picture";
    }
    for (const viz::Mark& cell : cells) EXPECT_GE(cell.max.y - cell.min.y, 20) << cell.label;
    if (size_.width() < 3000) return;
    const auto filled = [](const std::vector<viz::Mark>& all, const QWidget* of) {
      return static_cast<double>(all.back().max.y - all.front().min.y) / of->height();
    };
    EXPECT_GT(filled(rows, window->canvas("atlas")), 0.75);
    EXPECT_GT(filled(cells, window->canvas("head_grid")), 0.75);
  }

  /// Names of runs with what stands below them: no two read the same.
  void runsAreToldApart() {
    const CanvasWidget* canvas = window->canvas("compare");
    const QPointF at = canvas->mapTo(window.get(), QPoint());
    const std::vector<viz::Mark> rows = marks("compare", "lane"), strips = marks("compare", "strip");
    ASSERT_FALSE(strips.empty());
    std::set<QString> names;
    for (const viz::Mark& row : rows) {
      QString name;
      for (const Ink& ink : inks) {
        const QPointF c = ink.box.center() - at;
        if (!ink.where.endsWith("compare") || c.y() < row.min.y || c.y() > row.max.y || c.x() > strips.front().min.x - 30) continue;
        if (ink.text.size() > 1) name += ink.text + " ";  // not its letter
      }
      EXPECT_TRUE(names.insert(name).second) << "two runs are called " << name.toStdString();
    }
    EXPECT_EQ(names.size(), window->workspace().snapshot().lanes.size());
  }

  QSize size_;
  std::unique_ptr<MainWindow> window;
  std::vector<Ink> inks;
};

TEST_F(SizesTest, EveryPageIsWhole) {
  for (const QSize& size : sizesHere()) {
    ASSERT_NO_FATAL_FAILURE(open(size));
    look("inspect");
    panelsAreThere();
    if (size.width() >= 1280) {
      EXPECT_TRUE(std::ranges::any_of(inks, [](const Ink& ink) { return ink.where.contains("crumbRow") && ink.text.endsWith("of its."); }))
          << "the sentence over the panels, to its end";
    }
    for (Panel* panel : window->panels().all()) {  // those behind tabs
      if (panel->place().kind != viz::Place::Kind::dock || !window->inspect().dock(panel->id())->visibleRegion().isEmpty()) continue;
      window->inspect().goTo(*panel);
      look("inspect-" + panel->id());
    }
    mainPicturesAreThere();
    if (size.width() <= 1280) {
      window->inspect().goTo(*window->panel("head_grid"));  // behind a tab, maybe
      window->canvas("head_grid")->view().choose(0, static_cast<int>(viz::HeadMetric::cause));
      window->canvas("head_grid")->invalidate();
      EXPECT_TRUE(waitFor(
          [&] {
            const std::vector<viz::Mark> legends = marks("head_grid", "legend");
            return std::ranges::any_of(legends, [](const viz::Mark& m) { return m.value.find("right answer") != std::string::npos; });
          },
          30000));
      look("causes");
      EXPECT_TRUE(shows("framed: right answer")) << "what the frames of the head grid mean";
    }
    for (const auto& [page, name] : {std::pair(MainWindow::Page::inspector, "inspector"),
                                     {MainWindow::Page::compare, "compare"},
                                     {MainWindow::Page::sweep, "sweep"},
                                     {MainWindow::Page::welcome, "welcome"}}) {
      window->showPage(page);
      look(name);
      if (page == MainWindow::Page::compare) runsAreToldApart();
    }
  }
}

/// A panel that is opened now and then takes a place, and never that of the fates or of the panels beside it.
TEST_F(SizesTest, AFurtherPanelTakesNobodysPlace) {
  for (const QSize& size : sizesHere()) {
    ASSERT_NO_FATAL_FAILURE(open(size));
    for (const char* id : {"table", "jobs", "what_if"}) {
      window->inspect().open(id);
      look(QString("inspect-and-") + id);
      QDockWidget* dock = window->inspect().dock(id);
      EXPECT_FALSE(dock->isFloating()) << id;
      EXPECT_FALSE(dock->visibleRegion().isEmpty()) << id << " was asked for and is not seen";
      EXPECT_EQ(dock->width(), window->inspect().dock("atlas")->width()) << id;
      panelsAreThere();
      fatesAreThere();
    }
    for (const char* id : {"table", "jobs", "what_if"}) window->inspect().dock(id)->close();
    ASSERT_TRUE(settle());
    panelsAreThere();
    fatesAreThere();
  }
}

TEST_F(SizesTest, ALessonIsWhole) {
  std::vector<QSize> sizes = sizesHere();
  std::erase_if(sizes, [](const QSize& size) { return size.width() < 960; });  // nobody's projector
  if (sizes.size() > 1) sizes.emplace_back(1920, 1080);
  for (const QSize& size : sizes) {
    ASSERT_NO_FATAL_FAILURE(open(size, "lecture"));
    LectureMode& mode = window->lectureMode();
    const bool room = size.width() >= 1280 && size.height() >= 800;  // of the projectors that people have
    const auto scene = [&](const QString& id) {
      mode.guide().goTo(id);
      ASSERT_TRUE(waitFor([&] { return !mode.guide().waiting() && window->workspace().snapshot().phase == RunPhase::idle; }, 30000));
      look("lesson-" + id);
      EXPECT_LE(mode.caption().lines(), 2) << id.toStdString();
      for (const Ink& ink : inks) {
        if (room) {
          EXPECT_GE(std::lround(ink.pixels), 22) << size.width() << " «" << ink.text.toStdString() << "» " << ink.where.toStdString();
        }
        EXPECT_FALSE(ink.text.contains(QRegularExpression("[0-9]e[−-]?[0-9]"))) << "a power of ten: " << ink.text.toStdString();
      }
      EXPECT_TRUE(shows(qs(mode.guide().lesson().name).left(12))) << "the name of the lesson";
      for (const QWidget* tool : window->findChildren<QWidget*>()) {
        if (!tool->isVisible() || tool->visibleRegion().isEmpty()) continue;
        const bool own = mode.row().isAncestorOf(tool) || mode.caption().isAncestorOf(tool) || mode.page().isAncestorOf(tool);
        const bool chooses = qobject_cast<const QComboBox*>(tool) != nullptr || qobject_cast<const QAbstractButton*>(tool) != nullptr;
        EXPECT_FALSE(chooses && !own) << id.toStdString() << " shows a tool: " << testing::placeOf(tool).toStdString();
      }
      EXPECT_FALSE(shows("hidden") || shows("no room")) << id.toStdString();
    };
    scene("evicted");
    scene("compare");
    window->messages().show("The text is longer than the model reads: the first 2036 tokens are kept.", "details");
    EXPECT_FALSE(window->messages().findChild<QWidget*>("copyDetails")->isVisible()) << "no audience copies details";
    window->messages().dismiss();
    mode.openLesson(builtInLesson(1));
    for (const char* id : {"budget", "missed"}) scene(id);
  }
}

}  // namespace
}  // namespace kvscope
