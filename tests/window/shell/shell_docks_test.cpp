// SPDX-License-Identifier: Apache-2.0
// Panels are detached, maximised and put back without losing their picture.
#include <set>
#include <utility>

#include <QAction>
#include <QDockWidget>
#include <QHeaderView>
#include <QImage>
#include <QLineEdit>
#include <QMainWindow>
#include <QScreen>
#include <QSettings>
#include <QTabBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QToolButton>

#include "app/window/rows/search_bar.h"
#include "app/window/shell/window_placement.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class DocksTest : public WindowTest {
 protected:
  std::vector<QDockWidget*> docks() const {
    std::vector<QDockWidget*> out;
    for (QDockWidget* d : window->findChildren<QDockWidget*>())
      if (d->isVisible()) out.push_back(d);
    return out;
  }
  /// Another window of this size, with the layout that was kept.
  void startAgain(const QSize& size, QSettings& settings) {
    window = std::make_unique<MainWindow>(options, startState(options));
    window->resize(size);
    window->show();
    restoreDocks(window->inspect(), settings);
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    window->activateWindow();
    ASSERT_TRUE(settle());
  }
  QDockWidget* dock(const char* id) const { return window->findChild<QDockWidget*>(QString("dock_") + id); }
  std::map<QString, QImage> pictures() {
    EXPECT_TRUE(settle());
    std::map<QString, QImage> out;
    for (QDockWidget* d : docks()) out[d->objectName()] = d->widget()->grab().toImage();
    return out;
  }
};

TEST_F(DocksTest, ALowWindowHasTabsAndAHighOneHasThePanelsAgain) {
  window->showPage(MainWindow::Page::inspect);
  const auto standing = [this] {
    std::vector<QDockWidget*> out = docks();
    std::erase_if(out, [](QDockWidget* d) { return d->geometry().right() < 0; });  // behind another one
    return out;
  };
  // the lowest is a screen of 1366 x 768 at 150 %, less the window's title
  for (const QSize& size : {QSize(1590, 960), QSize(960, 600), QSize(1590, 960), QSize(911, 490), QSize(960, 600), QSize(911, 490),
                            QSize(1280, 800), QSize(960, 600), QSize(1590, 960)}) {
    const std::size_t n = size.height() == 490 ? 3 : size.height() == 600 ? 4 : 7;
    const std::string at = std::to_string(size.width()) + " x " + std::to_string(size.height());
    window->resize(size);
    ASSERT_TRUE(settle());
    QTest::qWait(200);
    EXPECT_EQ(standing().size(), n) << at;
    EXPECT_GT(dock("atlas")->geometry().right(), 0) << at << ": the cache is what is looked at";
    EXPECT_GE(dock("atlas")->height(), 218) << at;
    for (const QDockWidget* a : standing())
      for (const QDockWidget* b : standing())
        EXPECT_FALSE(a != b && a->geometry().intersects(b->geometry()))
            << at << ": " << a->objectName().toStdString() << " is over " << b->objectName().toStdString();
  }
}

/// Qt takes a panel behind another tab for visible: its keys would act where nobody looks.
TEST_F(DocksTest, TabNeverStopsInAPanelBehindAnother) {
  window->showPage(MainWindow::Page::inspect);
  window->resize(960, 600);
  ASSERT_TRUE(settle());
  QTest::qWait(200);
  std::size_t n_behind = 0;
  for (const QDockWidget* d : docks()) n_behind += d->geometry().right() < 0 ? 1 : 0;
  ASSERT_GT(n_behind, 0u);
  for (const auto& [key, modifiers] : {std::pair(Qt::Key_Tab, Qt::NoModifier), std::pair(Qt::Key_Backtab, Qt::ShiftModifier)}) {
    std::set<const QWidget*> seen;
    for (int i = 0; i < 150; ++i) {
      QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : window.get(), key, modifiers);
      const QWidget* now = QApplication::focusWidget();
      ASSERT_NE(now, nullptr);
      seen.insert(now);
      EXPECT_FALSE(now->visibleRegion().isEmpty()) << now->accessibleName().toStdString() << " " << now->metaObject()->className();
    }
    EXPECT_GT(seen.size(), 20u);
  }
}

TEST_F(DocksTest, EveryPanelFloatsAndTheResetBringsItsPictureBack) {
  window->inspect().resetLayout();
  const std::map<QString, QImage> before = pictures();
  ASSERT_EQ(before.size(), 7u);
  for (QDockWidget* d : docks()) {
    d->setFloating(true);
    QTest::qWait(120);
    EXPECT_TRUE(d->isFloating() && d->isVisible()) << d->objectName().toStdString();
    const QImage floating = d->widget()->grab().toImage();
    QSet<QRgb> colours;
    for (int y = 0; y < floating.height(); y += 3)
      for (int x = 0; x < floating.width(); x += 3) colours << floating.pixel(x, y);
    EXPECT_GT(colours.size(), 8) << d->objectName().toStdString() << " is empty";
  }
  window->inspect().resetLayout();
  QTest::qWait(300);
  const std::map<QString, QImage> after = pictures();
  for (const auto& [name, picture] : before) {
    ASSERT_TRUE(after.contains(name)) << name.toStdString();
    EXPECT_EQ(after.at(name).size(), picture.size()) << name.toStdString();
    EXPECT_EQ(after.at(name), picture) << name.toStdString();
  }
}

TEST_F(DocksTest, PanelsThatStandOnEachOtherKeepTheirSharesOfTheHeight) {
  window->resize(1280, 800);
  window->showPage(MainWindow::Page::inspect);
  window->inspect().resetLayout();
  QTest::qWait(100);
  const char* const kColumn[] = {"atlas", "head_strip", "timeline"};
  const auto heights = [&] {
    std::vector<int> out;
    for (const char* id : kColumn) out.push_back(dock(id)->height());
    return out;
  };
  // The layout may need some rounds of events, however busy the machine is.
  const auto settles = [&](const auto& holds) { return waitFor(holds, 10000); };
  const auto expectShares = [&](const std::vector<int>& before, const char* when) {
    const auto shared = [&] {
      const std::vector<int> now = heights();
      const double part = static_cast<double>(now[0] + now[1] + now[2]) / (before[0] + before[1] + before[2]);
      for (std::size_t i = 0; i < now.size(); ++i)
        if (std::abs(now[i] - before[i] * part) > 10) return false;
      return true;
    };
    EXPECT_TRUE(settles(shared)) << when << ' ' << ::testing::PrintToString(before) << " became " << ::testing::PrintToString(heights());
  };
  std::vector<int> before = heights();
  ASSERT_GT(before[0], 200) << ::testing::PrintToString(before);
  QTest::keyClick(window.get(), Qt::Key_F, Qt::ControlModifier);  // a row more above
  ASSERT_TRUE(waitFor([&] { return dock("atlas")->height() != before[0]; }));
  QTest::qWait(100);
  expectShares(before, "searching");
  QTest::keyClick(&window->rows().search().line(), Qt::Key_Escape);
  ASSERT_TRUE(waitFor([&] { return !window->rows().search().isVisible(); }));
  QTest::qWait(100);
  const auto as_it_was = [&] {
    for (std::size_t i = 0; i < before.size(); ++i)
      if (std::abs(heights()[i] - before[i]) > 3) return false;
    return true;
  };
  EXPECT_TRUE(settles(as_it_was)) << ::testing::PrintToString(before) << " became " << ::testing::PrintToString(heights());
  // Shares that somebody chose hold as well.
  QWidget* area = dock("atlas")->parentWidget();
  const QPoint border(dock("atlas")->geometry().center().x(), dock("atlas")->geometry().bottom() + 4);
  QTest::mousePress(area, Qt::LeftButton, {}, border);
  for (int dy = 20; dy <= 140; dy += 40) {
    QTest::mouseMove(area, border - QPoint(0, dy));
    QTest::qWait(30);
  }
  QTest::mouseRelease(area, Qt::LeftButton, {}, border - QPoint(0, 140));
  ASSERT_TRUE(settles([&] { return heights()[1] > heights()[0]; }));
  QTest::qWait(100);
  before = heights();
  window->resize(1280, 960);
  ASSERT_TRUE(settles([&] { return heights()[0] + heights()[1] + heights()[2] > before[0] + before[1] + before[2] + 100; }));
  expectShares(before, "in a higher window");
  EXPECT_GT(dock("atlas")->height(), before[0]);
}

/// A row above the panels (a search, an offer to recover) takes height from them while it is there, and nothing after it.
TEST_F(DocksTest, ALayoutThatNobodyChangedIsTheSameAtEveryStart) {
  const QTemporaryDir folder;
  QSettings settings(folder.filePath("layout.ini"), QSettings::IniFormat);
  const auto heights = [this] {
    std::map<QString, int> out;
    for (const QDockWidget* d : docks()) out[d->objectName()] = d->height();
    return out;
  };
  window->resize(1280, 800);
  window->inspect().resetLayout();
  QTest::qWait(150);
  const std::map<QString, int> before = heights();
  ASSERT_EQ(before.size(), 7u);
  for (int start = 0; start < 3; ++start) {
    press(Qt::Key_F, Qt::ControlModifier);
    ASSERT_TRUE(waitFor([&] { return heights() != before; }));
    QTest::qWait(100);
    keepPlacement(*window, window->inspect(), settings);
    startAgain({1280, 800}, settings);
    QTest::qWait(150);
    const std::map<QString, int> now = heights();
    ASSERT_EQ(now.size(), before.size());
    for (const auto& [name, height] : before) EXPECT_NEAR(now.at(name), height, 3) << name.toStdString() << " at start " << start + 2;
  }
}

TEST_F(DocksTest, TheTabInFrontIsInFrontAgainAtTheNextStartAndInALowerWindow) {
  const QTemporaryDir folder;
  for (const QSize& size : {QSize(1280, 800), QSize(1366, 768), QSize(960, 600)}) {
    SCOPED_TRACE(std::to_string(size.width()));
    QSettings settings(folder.filePath(QString("%1.ini").arg(size.width())), QSettings::IniFormat);
    window->resize(size);
    window->inspect().resetLayout();
    QTest::qWait(100);
    window->inspect().open("table");
    window->inspect().open("jobs");
    QTest::qWait(100);
    const auto in_front = [this](const char* id) { return !dock(id)->widget()->visibleRegion().isEmpty(); };
    ASSERT_TRUE(in_front("jobs"));
    ASSERT_FALSE(in_front("table"));
    keepPlacement(*window, window->inspect(), settings);
    startAgain(size, settings);
    QTest::qWait(150);
    EXPECT_TRUE(in_front("jobs"));
    window->resize(size - QSize(0, 60));  // as an offer above the panels takes it
    QTest::qWait(150);
    EXPECT_TRUE(in_front("jobs"));
    window->resize(size);
    QTest::qWait(150);
    EXPECT_TRUE(in_front("jobs"));
  }
}

TEST_F(DocksTest, JobsShowTwoRowsInALowWindow) {
  for (const QSize& size : {QSize(960, 600), QSize(1366, 768)}) {
    window->resize(size);
    window->inspect().open("jobs");
    ASSERT_TRUE(settle());
    QTest::qWait(100);
    const auto* table = dock("jobs")->findChild<QTableWidget*>();
    EXPECT_GE(table->viewport()->visibleRegion().boundingRect().height(), 2 * table->verticalHeader()->defaultSectionSize())
        << size.width();
  }
}

/// Also with a panel that is opened now and then, and with one that floats; and the reset brings the first layout back.
TEST_F(DocksTest, AFurtherPanelAndOneThatFloatsAreTheSameAtEveryStart) {
  const QTemporaryDir folder;
  for (const QSize& size : {QSize(1280, 800), QSize(1366, 768), QSize(911, 512)}) {
    SCOPED_TRACE(std::to_string(size.width()));
    QSettings settings(folder.filePath(QString("%1.ini").arg(size.width())), QSettings::IniFormat);
    const auto places = [this] {
      QTest::qWait(150);
      std::map<QString, QRect> out;
      for (const QDockWidget* d : docks())
        if (!d->isFloating()) out[d->objectName()] = d->geometry();
      return out;
    };
    const auto expectSame = [&](const std::map<QString, QRect>& before, const char* when) {
      const std::map<QString, QRect> now = places();
      ASSERT_EQ(now.size(), before.size()) << when;
      for (const auto& [name, place] : before) {
        const QRect& is = now.at(name);
        if (place.right() < 0 && is.right() < 0) continue;  // behind another one
        EXPECT_EQ(is, place) << name.toStdString() << ' ' << when << ": " << is.width() << " x " << is.height() << ", not " << place.width()
                             << " x " << place.height();
      }
    };
    startAgain(size, settings);
    const std::map<QString, QRect> first = places();
    press(Qt::Key_D, Qt::ControlModifier);
    ASSERT_TRUE(dock("table")->isVisible());
    const std::map<QString, QRect> with_table = places();
    for (int n = 0; n < 3; ++n) {
      keepPlacement(*window, window->inspect(), settings);
      startAgain(size, settings);
      expectSame(with_table, "at the next start");
    }
    dock("head_grid")->setFloating(true);
    QTest::qWait(100);
    keepPlacement(*window, window->inspect(), settings);
    startAgain(size, settings);
    EXPECT_TRUE(dock("head_grid")->isFloating() && dock("head_grid")->isVisible());
    window->inspect().resetLayout();
    expectSame(first, "after the reset");
  }
}

class DocksBehindTheWelcomeTest : public DocksTest {
 protected:
  void SetUp() override {
    options.view = "welcome";
    options.size = {1280, 800};
    DocksTest::SetUp();
  }
};

TEST_F(DocksBehindTheWelcomeTest, HaveTheirSharesWhenTheyAreFirstSeen) {
  ASSERT_EQ(window->page(), MainWindow::Page::welcome);
  window->showPage(MainWindow::Page::inspect);
  QTest::qWait(150);
  const std::vector<int> seen = {dock("atlas")->height(), dock("head_strip")->height(), dock("timeline")->height()};
  window->inspect().resetLayout();
  QTest::qWait(150);
  EXPECT_EQ(seen, (std::vector<int>{dock("atlas")->height(), dock("head_strip")->height(), dock("timeline")->height()}));
  EXPECT_GT(seen[0], seen[1] + seen[2]);
}

TEST_F(DocksTest, TheMenuAndTheTabsNameEveryPanelAsItsHeaderDoes) {
  const auto onScreen = [](QString text) {
    return text.replace("&&", "\x01").remove('&').replace('\x01', '&').toStdString();
  };  // one is none
  QStringList names;
  for (const QDockWidget* d : window->findChildren<QDockWidget*>()) {
    names << window->panel(d->objectName().mid(5))->title();
    if (names.back().startsWith("Head")) continue;  // its header names the head
    EXPECT_EQ(onScreen(d->toggleViewAction()->text()), names.back().toStdString());
  }
  for (const char* id : {"jobs", "table"}) dock(id)->show();
  QTest::qWait(100);
  int n_tabs = 0;
  for (const QTabBar* bar : window->findChildren<QTabBar*>())
    for (int i = 0; bar->isVisible() && i < bar->count(); ++i, ++n_tabs)
      EXPECT_TRUE(names.contains(QString::fromStdString(onScreen(bar->tabText(i))))) << bar->tabText(i).toStdString();
  EXPECT_EQ(n_tabs, 2);
}

TEST_F(DocksTest, WhatIsOpenedNowAndThenHasACrossThatKeysReach) {
  for (const char* id : {"jobs", "table", "what_if", "bookmarks"}) {
    dock(id)->show();
    QToolButton* close = nullptr;
    for (QToolButton* b : window->panel(id)->header()->findChildren<QToolButton*>())
      if (b->accessibleName() == "Close " + window->panel(id)->title()) close = b;
    ASSERT_NE(close, nullptr) << id;
    EXPECT_GT(close->geometry().right(), window->panel(id)->header()->width() - 12) << id << ": at the right end";
    EXPECT_TRUE(close->focusPolicy() & Qt::TabFocus);
    close->setFocus();
    QTest::keyClick(close, Qt::Key_Space);
    EXPECT_FALSE(dock(id)->isVisible()) << id;
  }
  window->inspect().toggleMaximised(window->panel("table"));
  Q_EMIT window->panel("table")->closeRequested();
  EXPECT_FALSE(dock("table")->isVisible());
  EXPECT_TRUE(dock("atlas")->isVisible()) << "a maximised one leaves the others as they were";
}

TEST_F(DocksTest, PanelsOpenedNowAndThenShareOnePlaceUnderTheTimeline) {
  const int prompt = dock("prompt")->width(), effect = dock("effect")->width();
  for (const char* id : {"jobs", "table", "what_if", "bookmarks"}) {
    dock(id)->toggleViewAction()->trigger();
    QTest::qWait(150);
    EXPECT_EQ(dock(id)->width(), dock("atlas")->width()) << id;
    EXPECT_EQ(dock("prompt")->width(), prompt) << id;
    EXPECT_EQ(dock("effect")->width(), effect) << id;
    EXPECT_GE(dock(id)->height(), 100) << id;
    EXPECT_GE(dock("timeline")->height(), 150) << id << ": words of the timeline need room";
    EXPECT_GE(dock("head_strip")->height(), 120) << id;
    EXPECT_GE(dock("atlas")->height(), 150) << id;
  }
}

TEST_F(DocksTest, APanelOpenedOnAnotherPageStandsOverItAndGoesBackToItsPlace) {
  window->showPage(MainWindow::Page::compare);
  press(Qt::Key_J, Qt::ControlModifier);
  QTest::qWait(150);
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  ASSERT_TRUE(dock("jobs")->isVisible() && dock("jobs")->isFloating());
  EXPECT_TRUE(window->frameGeometry().contains(dock("jobs")->frameGeometry()));
  window->showPage(MainWindow::Page::sweep);
  EXPECT_TRUE(dock("jobs")->isVisible());
  dock("table")->toggleViewAction()->trigger();
  EXPECT_EQ(window->page(), MainWindow::Page::sweep);
  EXPECT_TRUE(dock("table")->isVisible());
  dock("table")->toggleViewAction()->trigger();
  EXPECT_FALSE(dock("table")->isVisible());
  window->showPage(MainWindow::Page::inspect);
  QTest::qWait(150);
  EXPECT_TRUE(dock("jobs")->isVisible());
  EXPECT_FALSE(dock("jobs")->isFloating() || dock("table")->isFloating() || dock("table")->isVisible());
  EXPECT_EQ(dock("jobs")->width(), dock("atlas")->width());
}

TEST_F(DocksTest, F11MaximisesThePanelWithTheFocusAndPutsItBack) {
  const std::map<QString, QImage> before = pictures();
  for (const char* id : {"atlas", "head_grid", "head_strip", "timeline"}) {
    window->canvas(id)->setFocus();
    QTest::keyClick(window->canvas(id), Qt::Key_F11);
    QTest::qWait(150);
    EXPECT_EQ(docks().size(), 1u) << id;
    EXPECT_GT(window->canvas(id)->width(), 1500) << id;
    QTest::keyClick(window->canvas(id), Qt::Key_F11);
    QTest::qWait(150);
    EXPECT_EQ(docks().size(), before.size()) << id;
    EXPECT_TRUE(window->canvas(id)->hasFocus()) << id << ": keys go on to mean what they meant";
  }
  window->setFocus();
}

TEST_F(DocksTest, F11OnAFloatingPanelFillsTheWindowWithItAndPutsItBack) {
  const std::size_t all = docks().size();
  dock("timeline")->setFloating(true);
  QTest::qWait(150);
  dock("timeline")->activateWindow();
  window->canvas("timeline")->setFocus();
  window->inspect().toggleMaximised(window->panel("timeline"));
  QTest::qWait(150);
  EXPECT_EQ(docks().size(), 1u);
  EXPECT_FALSE(dock("timeline")->isFloating()) << "beside an empty window";
  EXPECT_GT(window->canvas("timeline")->width(), 1500);
  window->inspect().toggleMaximised(window->panel("timeline"));
  QTest::qWait(150);
  EXPECT_EQ(docks().size(), all);
  EXPECT_TRUE(dock("timeline")->isFloating());
}

/// What is kept for the next start is the layout behind a maximised panel, whatever page is shown.
TEST_F(DocksTest, AMaximisedPanelIsNotKeptAsTheLayout) {
  const QByteArray before = window->inspect().state();
  window->inspect().toggleMaximised(window->panel("timeline"));
  ASSERT_EQ(docks().size(), 1u);
  window->pages().show(Page::compare);
  EXPECT_EQ(window->inspect().state(), before);
}

TEST_F(DocksTest, AFloatingPanelIsNamedAsItsHeaderIs) {
  QDockWidget* policy = dock("policy");
  const QString entry = policy->toggleViewAction()->text();
  ASSERT_TRUE(entry.contains("&&"));
  policy->setFloating(true);
  QTest::qWait(100);
  EXPECT_EQ(policy->windowTitle(), window->panel("policy")->title());
  EXPECT_EQ(policy->toggleViewAction()->text(), entry) << "in a menu a single one marks a key";
  policy->setFloating(false);
  QTest::qWait(100);
  EXPECT_EQ(policy->windowTitle(), entry) << "so does one on a tab";
}

TEST_F(DocksTest, AKeyDetachesThePanelAndPutsItBack) {
  window->canvas("timeline")->setFocus();
  QTest::keyClick(window->canvas("timeline"), Qt::Key_F11, Qt::ControlModifier);
  QTest::qWait(150);
  EXPECT_TRUE(dock("timeline")->isFloating());
  dock("timeline")->activateWindow();
  window->canvas("timeline")->setFocus();
  QTest::qWait(100);
  for (QAction* a : window->findChildren<QAction*>())
    if (a->shortcut() == QKeySequence(Qt::CTRL | Qt::Key_F11)) a->trigger();
  QTest::qWait(150);
  EXPECT_FALSE(dock("timeline")->isFloating());
}

/// A panel over the whole window is detached as large as it stands among the others, and all of it can be seen.
TEST_F(DocksTest, AMaximisedPanelIsDetachedInItsUsualSize) {
  const QSize usual = dock("timeline")->size();
  window->canvas("timeline")->setFocus();
  QTest::keyClick(window->canvas("timeline"), Qt::Key_F11);
  ASSERT_TRUE(settle());
  ASSERT_GT(dock("timeline")->height(), usual.height());
  QTest::keyClick(window->canvas("timeline"), Qt::Key_F11, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(dock("timeline")->isFloating());
  EXPECT_TRUE(dock("atlas")->isVisible()) << "the others are back";
  EXPECT_LT(dock("timeline")->height(), usual.height() + 40);
  EXPECT_TRUE(dock("timeline")->screen()->availableGeometry().contains(dock("timeline")->frameGeometry()));
}

TEST_F(DocksTest, AFloatingPanelIsFramedAndStandsOffItsPlace) {
  QDockWidget* timeline = dock("timeline");
  const QPoint place = timeline->mapToGlobal(QPoint());
  const auto edge = [timeline] { return timeline->widget()->grab().toImage().pixelColor(0, timeline->widget()->height() / 2); };
  const QColor docked = edge();
  window->canvas("timeline")->setFocus();
  QTest::keyClick(window->canvas("timeline"), Qt::Key_F11, Qt::ControlModifier);
  QTest::qWait(150);
  ASSERT_TRUE(timeline->isFloating());
  EXPECT_EQ(timeline->mapToGlobal(QPoint()), place + QPoint(24, 24));
  const viz::Rgb frame = window->workspace().theme().secondary;
  EXPECT_EQ(edge(), QColor(frame.r(), frame.g(), frame.b()));
  timeline->setFloating(false);
  QTest::qWait(150);
  EXPECT_EQ(edge(), docked);
  const QPoint now = timeline->mapToGlobal(QPoint());
  QTest::mouseDClick(timeline->titleBarWidget(), Qt::LeftButton, {}, QPoint(120, 8));
  QTest::qWait(150);
  ASSERT_TRUE(timeline->isFloating());
  EXPECT_EQ(timeline->mapToGlobal(QPoint()), now + QPoint(24, 24)) << "also by a double click, and the second time";
  dock("head_grid")->setFloating(true);
  QTest::qWait(150);
  const QRect grid(dock("head_grid")->mapToGlobal(QPoint()), dock("head_grid")->size());
  EXPECT_TRUE(window->screen()->availableGeometry().contains(grid)) << "at the right edge of the screen";
}

TEST_F(DocksTest, AThemeChangeReachesAFloatingPanel) {
  dock("head_grid")->setFloating(true);
  QTest::qWait(150);
  window->theme().set("light");
  ASSERT_TRUE(settle());
  QTest::qWait(100);
  const viz::Rgb panel = window->workspace().theme().panel;
  const QImage picture = window->canvas("head_grid")->grab().toImage();
  EXPECT_EQ(picture.pixelColor(2, 2), QColor(panel.r(), panel.g(), panel.b()));
}

}  // namespace
}  // namespace kvscope
