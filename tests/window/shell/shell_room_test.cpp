// SPDX-License-Identifier: Apache-2.0
// Small screens, and people who have no mouse: everything is within reach, and what has the keyboard is seen.
#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDockWidget>
#include <QHeaderView>
#include <QImage>
#include <QLabel>
#include <QLayout>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QToolButton>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/help/help_dialog.h"
#include "app/window/help/tour.h"
#include "app/window/lecture/lecture_row.h"
#include "app/window/look/windows.h"
#include "app/window/panels/policy/budget_slider.h"
#include "app/window/panels/policy/policy_panel.h"
#include "app/window/panels/runs/add_runs_dialog.h"
#include "app/window/panels/runs/run_actions.h"
#include "app/window/panels/stores/text_sweep_dialog.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/window_placement.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

constexpr QRect kSmall(30, 40, 903, 464);  // 1366 x 768 at 150 %, less a frame and a title

class RoomTest : public WindowTest {
 protected:
  QDockWidget* dock(const char* id) const { return window->inspect().dock(id); }
};

TEST_F(RoomTest, EveryDialogFitsOnASmallScreenAndItsButtonsAreSeen) {
  int n = 0;
  window->inspect().open("jobs");
  dock("jobs")->setFloating(true);
  QList<QWidget*> all = {dock("jobs"), &window->help(), &window->runActions().dialog(), &window->runActions().textSweepDialog()};
  for (QDialog* dialog : window->findChildren<QDialog*>())
    if (!all.contains(dialog)) all << dialog;
  for (QWidget* dialog : all) {
    const std::string name = dialog->windowTitle().toStdString();
    dialog->show();
    QTest::qWait(50);
    keepWithin(*dialog, kSmall);
    QTest::qWait(50);
    ++n;
    EXPECT_TRUE(kSmall.contains(dialog->geometry()))
        << name << ": " << dialog->x() << ' ' << dialog->y() << ' ' << dialog->width() << " x " << dialog->height();
    for (const QAbstractButton* button : dialog->findChildren<QAbstractButton*>()) {
      if (!button->isVisible() || button->parentWidget()->inherits("QScrollArea")) continue;
      bool scrolls = false;
      for (const QWidget* w = button; w != dialog; w = w->parentWidget()) scrolls = scrolls || qobject_cast<const QAbstractScrollArea*>(w);
      const QRect at(button->mapTo(dialog, QPoint()), button->size());
      EXPECT_TRUE(scrolls || dialog->rect().contains(at)) << name << ": " << button->text().toStdString() << " is out of reach";
    }
    dialog->close();
  }
  EXPECT_GE(n, 6);
  // The screen itself bounds whatever is shown.
  QDialog huge(window.get());
  huge.resize(4000, 3000);
  huge.show();
  QTest::qWait(50);
  EXPECT_TRUE(huge.screen()->availableGeometry().contains(huge.frameGeometry()));
}

TEST_F(RoomTest, TheParametersOfAPolicyNeverScrollSideways) {
  for (const QSize& size : {QSize(1280, 800), QSize(960, 600)}) {
    window->resize(size);
    window->inspect().resetLayout();
    ASSERT_TRUE(settle());
    window->inspect().goTo(*window->panel("policy"));
    auto* panel = static_cast<PolicyPanel*>(window->panel("policy")->content());
    panel->setParametersShown(true);
    QTest::qWait(100);
    for (QWidget* w = panel->nextInFocusChain(); w != panel; w = w->nextInFocusChain())  // through all its fields
      if (panel->isAncestorOf(w) && (w->focusPolicy() & Qt::TabFocus) && w->isVisible()) w->setFocus(Qt::TabFocusReason);
    QTest::qWait(50);
    const auto* scroll = panel->findChild<QScrollArea*>();
    EXPECT_EQ(scroll->horizontalScrollBar()->maximum(), 0) << size.width();
    EXPECT_EQ(scroll->widget()->x(), 0) << size.width();
    for (const QLabel* label : panel->findChildren<QLabel*>()) {
      if (!label->isVisible() || label->text().isEmpty()) continue;
      const QPoint at = label->mapTo(scroll->widget(), QPoint());
      EXPECT_TRUE(label->wordWrap() || label->width() >= label->fontMetrics().horizontalAdvance(label->text()))
          << size.width() << ": " << label->text().toStdString();
      EXPECT_TRUE(at.x() >= 0 && at.x() + label->width() <= scroll->viewport()->width())
          << size.width() << ": " << label->text().toStdString();
    }
    for (const QWidget* field : panel->findChildren<QWidget*>()) {
      if (!field->isVisible() || !(field->inherits("QAbstractSpinBox") || field->inherits("QComboBox"))) continue;
      EXPECT_GE(field->width(), 60) << size.width() << ": " << field->accessibleName().toStdString();
      EXPECT_LE(field->mapTo(scroll->widget(), QPoint()).x() + field->width(), scroll->viewport()->width())
          << size.width() << ": " << field->accessibleName().toStdString();
    }
    panel->setParametersShown(false);
  }
}

TEST_F(RoomTest, TheHelpSaysWhatAKeyDoesFromTheStart) {
  HelpDialog* const help = &window->help();
  help->show();
  QTest::qWait(100);
  const auto* table = help->findChild<QTableWidget*>();
  EXPECT_GE(table->columnWidth(1), table->viewport()->width() * 4 / 10);
  for (int row = 0; row < table->rowCount(); ++row)
    for (const int column : {1, 2}) {
      const QTableWidgetItem* item = table->item(row, column);
      const QRect place = table->visualItemRect(item);
      const int words =
          QFontMetrics(item->font()).boundingRect(QRect(0, 0, place.width() - 8, 1000), Qt::TextWordWrap, item->text()).height();
      EXPECT_LE(words, place.height()) << item->text().toStdString();
    }
}

/// What a stop speaks of can be seen, and the bubble is beside it.
TEST_F(RoomTest, TheTourShowsWhatItSpeaksOf) {
  window->resize(960, 600);
  window->inspect().resetLayout();
  ASSERT_TRUE(settle());
  QTest::qWait(100);
  window->inspect().open("policy");  // in front of the prompt
  window->inspect().open("timeline");
  window->firstSteps().startTour();
  Tour& tour = *window->firstSteps().tour();
  const char* const parts[] = {"prompt", "atlas", "head_strip", "timeline", "effect", "policy"};
  ASSERT_EQ(tour.stops(), 6);
  for (const char* id : parts) {
    ASSERT_TRUE(settle());
    QTest::qWait(100);
    EXPECT_FALSE(dock(id)->visibleRegion().isEmpty()) << id << " is behind another panel";
    const QFrame* frame = window->findChild<QFrame*>("tourFrame");
    EXPECT_TRUE(frame->isVisible()) << id;
    const QWidget* body = window->panel(id)->body();
    const QRect around(body->mapTo(frame->parentWidget(), QPoint()), body->size());
    EXPECT_TRUE(frame->geometry().contains(around)) << id;
    EXPECT_FALSE(tour.geometry().intersects(around)) << id << " is under the bubble";
    tour.goTo(tour.stop() + 1);
  }
}

TEST_F(RoomTest, TabGoesThroughAPanelBeforeTheSignsOfItsHeader) {
  for (const char* id : {"prompt", "atlas", "timeline", "policy", "effect"}) {
    bool in_header = false;
    int n = 0;
    const Panel* panel = window->panel(id);
    const QWidget* const outside = window->rows().tools().budgetSlider();
    for (const QWidget* w = outside->nextInFocusChain(); w != outside; w = w->nextInFocusChain()) {
      if (!(w->focusPolicy() & Qt::TabFocus)) continue;
      if (panel->header()->isAncestorOf(w)) in_header = true, ++n;
      const bool late = in_header && panel->body()->isAncestorOf(w);
      EXPECT_FALSE(late) << id << ": " << w->accessibleName().toStdString();
    }
    EXPECT_GE(n, 1) << id;
  }
}

TEST_F(RoomTest, InTheLeastWindowTheToolsHaveRoomBesideEachOther) {
  for (const char* spec : {"keepkv:slots=17", "h2o:slots=17"}) window->controller().addLane(QString(spec));
  ASSERT_TRUE(settle());
  window->resize(860, 470);
  ASSERT_TRUE(settle());
  const ToolRow& tools = window->rows().tools();
  EXPECT_LE(tools.layout()->minimumSize().width(), tools.width());
  for (const QWidget* w : tools.findChildren<QWidget*>(Qt::FindDirectChildrenOnly))
    if (w->isVisible()) {
      EXPECT_GE(w->width(), std::min(w->minimumSizeHint().width(), w->maximumWidth())) << w->accessibleName().toStdString();
    }
}

TEST_F(RoomTest, ALargeScreenOpensALargeWindow) {
  const QTemporaryDir folder;
  const QSettings none(folder.filePath("none.ini"), QSettings::IniFormat);
  window->resize(860, 470);
  restoreGeometryOf(*window, none);
  const QSize screen = window->screen()->availableGeometry().size();
  EXPECT_GE(window->width(), screen.width() * 0.79);
  EXPECT_GE(window->height(), screen.height() * 0.79);
}

/// What was kept on a larger screen: nothing of the window lies outside of this one.
TEST_F(RoomTest, AKeptSizeFitsASmallerScreen) {
  const QTemporaryDir folder;
  QSettings kept(folder.filePath("kept.ini"), QSettings::IniFormat);
  const QRect screen = window->screen()->availableGeometry();
  window->setGeometry(QRect(screen.topLeft() + QPoint(2, 44), screen.size()));
  kept.setValue("geometry", window->saveGeometry());
  restoreGeometryOf(*window, kept);
  EXPECT_TRUE(window->isMaximized());
  window->showNormal();
  window->setGeometry(QRect(screen.topLeft() + QPoint(20, 60), QSize(900, 600)));
  kept.setValue("geometry", window->saveGeometry());
  restoreGeometryOf(*window, kept);
  EXPECT_FALSE(window->isMaximized()) << "what fits stays as it was";
  EXPECT_EQ(window->size(), QSize(900, 600));
}

/// Signs, arrows and knobs of a lecture grow with its type.
TEST_F(RoomTest, ALectureOnALargeScreenHasLargeSigns) {
  window->setAttribute(Qt::WA_DontShowOnScreen);
  window->resize(3840, 2160);
  window->showPage(MainWindow::Page::lecture);
  ASSERT_TRUE(settle());
  QTest::qWait(100);
  const auto inked = [](QWidget& widget, const QRect& in) {  // what is drawn on the colour in the middle of its edge
    const QImage drawn = widget.grab(in).toImage();
    QRect out;
    const QColor ground = drawn.pixelColor(drawn.width() / 2, drawn.height() / 6);
    for (int y = drawn.height() / 6; y < drawn.height() * 5 / 6; ++y)
      for (int x = drawn.width() / 6; x < drawn.width() * 5 / 6; ++x)
        if (std::abs(drawn.pixelColor(x, y).lightness() - ground.lightness()) > 40) out |= QRect(x, y, 1, 1);
    return out;
  };
  int n = 0;
  for (QToolButton* button : window->lectureMode().row().findChildren<QToolButton*>()) {
    if (!button->isVisible() || button->icon().isNull()) continue;
    ++n;
    EXPECT_GE(inked(*button, button->rect()).height(), button->height() / 4) << button->accessibleName().toStdString();
  }
  EXPECT_GE(n, 4);
  window->messages().show("A message", "its details");
  auto* cross = window->messages().findChild<QToolButton*>();
  EXPECT_GE(inked(*cross, cross->rect()).height(), window->messages().findChild<QLabel*>()->fontMetrics().xHeight() / 2);
  window->messages().clear();
  auto* policy = window->lectureMode().row().findChild<QComboBox*>();
  const int arrow = policy->height();  // the square at its right end
  EXPECT_GE(inked(*policy, QRect(policy->width() - arrow, 0, arrow, arrow)).width(), arrow / 6);
}

TEST_F(RoomTest, EnterPressesWhatHasTheKeyboardAsSpaceDoes) {
  QWidget host(window.get());
  QPushButton push("A", &host);
  QToolButton tool(&host);
  host.resize(200, 80);
  host.show();
  int pressed = 0;
  for (QAbstractButton* button : {static_cast<QAbstractButton*>(&push), static_cast<QAbstractButton*>(&tool)}) {
    QObject::connect(button, &QAbstractButton::clicked, &host, [&pressed] { ++pressed; });
    button->setFocusPolicy(Qt::StrongFocus);
    button->setFocus();
    for (const int key : {Qt::Key_Space, Qt::Key_Return, Qt::Key_Enter}) QTest::keyClick(button, Qt::Key(key));
  }
  EXPECT_EQ(pressed, 6);
  auto* maximise = window->panel("timeline")->header()->findChildren<QToolButton*>().last();
  for (QToolButton* b : window->panel("timeline")->header()->findChildren<QToolButton*>())
    if (b->accessibleName().startsWith("Maximise")) maximise = b;
  maximise->setFocus();
  QTest::keyClick(maximise, Qt::Key_Return);
  EXPECT_EQ(window->inspect().maximised(), window->panel("timeline"));
}

/// The share of the widget's pixels that differ once it has the keyboard.
int pixelsThatTellTheFocus(QWidget& widget) {
  widget.clearFocus();
  QTest::qWait(50);
  const QImage before = widget.grab().toImage();
  widget.setFocus(Qt::TabFocusReason);
  QTest::qWait(50);
  const QImage after = widget.grab().toImage();
  int out = 0;
  for (int y = 0; y < before.height(); ++y)
    for (int x = 0; x < before.width(); ++x) {
      const QColor a = before.pixelColor(x, y), b = after.pixelColor(x, y);
      if (std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) + std::abs(a.blue() - b.blue()) > 60) ++out;
    }
  return out;
}

TEST_F(RoomTest, WhatHasTheKeyboardIsSeen) {
  for (const char* theme : {"dark", "light"}) {
    window->theme().set(theme);
    window->showPage(MainWindow::Page::inspect);
    ASSERT_TRUE(settle());
    QWidget* strip = nullptr;
    for (QWidget* w : window->findChildren<QWidget*>())
      if (w->inherits("kvscope::GeneratedStrip") && w->isVisible()) strip = w;
    ASSERT_NE(strip, nullptr);
    EXPECT_GE(pixelsThatTellTheFocus(*strip), 2 * strip->width()) << theme;
    QPushButton* why = buttonOf(*window, "Why ");
    ASSERT_NE(why, nullptr);
    EXPECT_GE(pixelsThatTellTheFocus(*why), 2 * why->width()) << theme;
    window->showPage(MainWindow::Page::welcome);
    QTest::qWait(50);
    QCheckBox* box = nullptr;
    for (QCheckBox* b : window->findChildren<QCheckBox*>())
      if (b->isVisible()) box = b;
    ASSERT_NE(box, nullptr);
    EXPECT_GE(pixelsThatTellTheFocus(*box), box->width()) << theme;
    const QImage drawn = box->grab().toImage();  // the square itself, on its page
    int seen = 0;
    const QColor page = drawn.pixelColor(drawn.width() - 2, 1);
    for (int y = 4; y < drawn.height() - 4; ++y)
      for (int x = 2; x < 18; ++x) seen += std::abs(drawn.pixelColor(x, y).lightness() - page.lightness()) > 60 ? 1 : 0;
    EXPECT_GE(seen, 40) << theme;
    window->showPage(MainWindow::Page::inspect);
    why = buttonOf(*window, "Why ");
    why->setFocus(Qt::ShortcutFocusReason);
    QTest::keyClick(why, Qt::Key_Space);
    ASSERT_TRUE(settle());
    ASSERT_EQ(window->page(), MainWindow::Page::inspector);
    CanvasWidget* inspector = window->canvas("inspector");
    EXPECT_TRUE(inspector->hasFocus());
    const QImage shown = inspector->grab().toImage();
    const viz::Rgb accent = window->workspace().theme().accent;
    for (const QPoint& at : {QPoint(shown.width() / 2, 0), QPoint(1, shown.height() / 2)})
      EXPECT_EQ(shown.pixelColor(at), QColor(accent.r(), accent.g(), accent.b())) << theme;
  }
}

}  // namespace
}  // namespace kvscope
