// SPDX-License-Identifier: Apache-2.0
// The window by ear and without a mouse: what a screen reader is told, and where Tab and Esc lead.
#include <algorithm>

#include <QAccessible>
#include <QComboBox>
#include <QDockWidget>
#include <QFocusEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTextDocumentFragment>
#include <QTreeWidget>

#include "app/window/commands/command_palette.h"
#include "app/window/help/welcome_page.h"
#include "app/window/look/spoken.h"
#include "app/window/panels/effect/generated_strip.h"
#include "app/window/panels/policy/policy_panel_allocation.h"
#include "app/window/panels/runs/what_if_panel.h"
#include "app/window/panels/runs/what_if_panel_model.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/panel_paint.h"
#include "viz/reduce/generated.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

QString nameOf(QObject* of) {
  QAccessibleInterface* const i = QAccessible::queryAccessibleInterface(of);
  return i ? i->text(QAccessible::Name) : QString();
}

QString descriptionOf(QObject* of) { return QAccessible::queryAccessibleInterface(of)->text(QAccessible::Description); }

/// What was read aloud last of a text.
QString aloud(const QObject* text) { return text->property(kReadAloud).toString(); }

class SpokenTest : public WindowTest {
 protected:
  void select(int token) {
    viz::Selection s = window->workspace().selection();
    s.lane = 4;
    s.tokens = viz::TokenRange{token, token};
    s.step = 2;
    window->workspace().setSelection(s);
    QApplication::processEvents();
  }
  /// Evicts a token that every head keeps; whether it is computed.
  bool evict() {
    const StepRecord& record = *snapshot().lanes[4].steps[1];
    for (int t = record.position - 1; t > 0; --t) {
      if (!std::ranges::all_of(record.heads, [t](const HeadRecord& h) { return std::ranges::binary_search(h.pos, t); })) continue;
      select(t);
      window->canvas("atlas")->setFocus();
      QTest::keyClick(window->canvas("atlas"), Qt::Key_E);
      return settle();
    }
    return false;
  }
  QDockWidget* whatIf() const { return window->inspect().dock("what_if"); }
  QString firstHit(const QString& typed) const {
    window->palette().line().setText(typed);
    return window->palette().list().topLevelItem(0)->text(1);
  }
};

TEST_F(SpokenTest, WhatALabelShowsIsItsName) {
  for (const MainWindow::Page page :
       {MainWindow::Page::welcome, MainWindow::Page::inspect, MainWindow::Page::inspector, MainWindow::Page::compare}) {
    window->showPage(page);
    ASSERT_TRUE(settle());
    int n = 0;
    for (QLabel* label : window->findChildren<QLabel*>()) {
      const QString shown = QTextDocumentFragment::fromHtml(label->text()).toPlainText().simplified();
      if (!label->isVisible() || shown.isEmpty() || label->buddy()) continue;
      ++n;
      EXPECT_TRUE(QTextDocumentFragment::fromHtml(nameOf(label)).toPlainText().simplified().contains(shown))
          << shown.toStdString() << " is called " << nameOf(label).toStdString();
      EXPECT_FALSE(descriptionOf(label).contains("<p>")) << descriptionOf(label).toStdString();
    }
    EXPECT_GT(n, 2);
  }
}

TEST_F(SpokenTest, AListIsCalledByItsLabelFirst) {
  int n = 0;
  for (QComboBox* box : window->findChildren<QComboBox*>()) {
    if (!box->isVisible() || box->count() == 0) continue;
    ++n;
    ASSERT_FALSE(box->accessibleName().isEmpty());
    EXPECT_EQ(nameOf(box), box->accessibleName() + ": " + box->currentText());
    QAccessibleInterface* const i = QAccessible::queryAccessibleInterface(box);
    EXPECT_EQ(i->role(), QAccessible::ComboBox);
    ASSERT_NE(i->child(0), nullptr);
    EXPECT_EQ(i->indexOfChild(i->child(0)), 0);
  }
  EXPECT_GE(n, 4);
}

TEST_F(SpokenTest, CanvasesSayWhatThePictureShowsBehindTheCell) {
  select(8);
  for (const char* id : {"atlas", "head_strip", "head_grid", "timeline"}) {
    CanvasWidget* const canvas = window->canvas(id);
    const QString said = descriptionOf(canvas), cell = canvas->cursorText();
    EXPECT_TRUE(said.startsWith(cell)) << id;
    EXPECT_GT(said.size(), cell.size() + 20) << id << ": " << said.toStdString();
  }
  const Snapshot& s = snapshot();
  const QString answers = qs(viz::answers_text(s, s.lanes[4]));
  ASSERT_TRUE(answers.contains("; this run: "));
  EXPECT_TRUE(window->findChild<GeneratedStrip*>()->accessibleDescription().startsWith(answers));
  EXPECT_TRUE(descriptionOf(window->canvas("compare")).contains(answers));
  EXPECT_TRUE(window->findChild<AllocationCurve*>()->accessibleDescription().contains("budget"));
}

TEST_F(SpokenTest, TheHitsOfThePaletteAreCalledByTheirCommands) {
  window->palette().open();
  QTest::keyClicks(&window->palette().line(), "which head");
  QAccessibleInterface* const list = QAccessible::queryAccessibleInterface(&window->palette().list());
  QStringList names;
  for (int i = 0; i < list->childCount(); ++i) names << list->child(i)->text(QAccessible::Name);
  EXPECT_TRUE(names.contains("Run: Which head breaks the answer?")) << names.join("\n").toStdString();
}

TEST_F(SpokenTest, ThePaletteFindsWordsBeforeLettersAndWhatButtonsSay) {
  window->palette().open();
  EXPECT_EQ(firstHit("saves"), "What would have saved the answer? (What saves it?)");
  EXPECT_EQ(firstHit("What saves it?"), "What would have saved the answer? (What saves it?)");
  EXPECT_EQ(firstHit("Which head?"), "Which head breaks the answer?");
  EXPECT_EQ(firstHit("Why evicted?"), "Why evicted?");
  EXPECT_EQ(firstHit("session save"), "Save session") << "in any order";
  EXPECT_TRUE(firstHit("sinks").contains("Sinks")) << firstHit("sinks").toStdString();
  EXPECT_EQ(window->palette().list().topLevelItem(0)->text(0), "Lessons");
  EXPECT_EQ(firstHit("rtl"), "Reset the layout") << "letters, where nothing has the words";
  EXPECT_NE(firstHit("back to"), "Back to mine") << "there is nothing to go back to";
}

TEST_F(SpokenTest, ALessonIsLeftByThePaletteToo) {
  window->document().putAside();
  window->palette().open();
  QTest::keyClicks(&window->palette().line(), "back to");
  EXPECT_EQ(window->palette().list().topLevelItem(0)->text(1), "Back to mine");
  QTest::keyClick(&window->palette().line(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  window->palette().open();
  EXPECT_NE(firstHit("back to"), "Back to mine");
}

TEST_F(SpokenTest, TabGoesThroughAnEmptyPanelOfEditsByHand) {
  window->resize(1600, 1000);
  window->inspect().open("what_if");
  ASSERT_TRUE(settle());
  auto* panel = window->findChild<WhatIfPanel*>();
  ASSERT_TRUE(panel->isVisible());
  ASSERT_EQ(panel->model().rowCount(), 0);
  panel->setFocus(Qt::TabFocusReason);
  ASSERT_TRUE(panel->isAncestorOf(QApplication::focusWidget())) << "it takes the keyboard";
  QSet<QWidget*> met;
  for (int i = 0; i < 120; ++i) {
    QWidget* const at = QApplication::focusWidget();
    met << at;
    QTest::keyClick(at, Qt::Key_Tab);
    ASSERT_NE(QApplication::focusWidget(), at) << "Tab ends at " << at->accessibleName().toStdString();
  }
  EXPECT_GT(met.size(), 30);
}

TEST_F(SpokenTest, AnEditLeavesTheKeyboardWhereItIsAndEscEndsTheVisit) {
  window->resize(1100, 600);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(evict());
  ASSERT_TRUE(whatIf()->isVisible());
  EXPECT_FALSE(whatIf()->isFloating()) << "in a low window it is a tab of the panels above";
  EXPECT_FALSE(whatIf()->visibleRegion().isEmpty());
  EXPECT_EQ(QApplication::activeWindow(), window.get());
  EXPECT_TRUE(window->canvas("atlas")->hasFocus());
  whatIf()->close();
  window->showPage(MainWindow::Page::compare);
  window->inspect().open("what_if");
  ASSERT_TRUE(whatIf()->isFloating()) << "over another page it visits";
  whatIf()->activateWindow();
  ASSERT_TRUE(waitFor([this] { return QApplication::activeWindow() == whatIf(); }, 5000));
  QTest::keyClick(whatIf(), Qt::Key_Escape);
  ASSERT_TRUE(waitFor([this] { return QApplication::activeWindow() == window.get(); }, 5000));
  EXPECT_FALSE(whatIf()->isVisible());
}

TEST_F(SpokenTest, WhatCameOfSomethingIsReadAloud) {
  window->resize(1600, 1000);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(evict());
  const auto* said = window->findChild<WhatIfPanel*>()->findChild<QLabel*>("secondary");
  ASSERT_FALSE(said->text().isEmpty());
  EXPECT_EQ(aloud(said), said->text());
  const auto* sentence = window->findChild<CrumbRow*>()->findChild<ElidedLabel*>("facts");
  EXPECT_EQ(aloud(sentence), sentence->text()) << "what the run came to";
  window->rows().say("It is done");
  EXPECT_EQ(aloud(window->findChild<QLabel*>("passingWords")), "It is done");
  window->messages().show("something went wrong", {});
  EXPECT_EQ(aloud(&window->messages()), "Something went wrong.");
  auto* status = window->findChild<StatusRow*>();
  status->setQueued(1, false);
  status->setQueued(0, false);
  EXPECT_TRUE(std::ranges::any_of(status->findChildren<QLabel*>(), [](const QLabel* l) { return aloud(l).contains("all are done"); }));
}

TEST_F(SpokenTest, AnEditByHandIsCalledInTheMenuAsWhereItIsTakenBack) {
  ASSERT_TRUE(evict());
  const QString offered = window->model().undo.group().undoText();
  EXPECT_TRUE(offered.contains("evicted in all heads")) << offered.toStdString();
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(window->findChild<QLabel*>("passingWords")->accessibleName(), "Undone: " + offered);
}

TEST_F(SpokenTest, TheSampleOpensWithTheKeyboardOnWhatItCameTo) {
  window->showPage(MainWindow::Page::welcome);
  ASSERT_TRUE(settle());
  auto* card = qobject_cast<WelcomeCard*>(QApplication::focusWidget());
  ASSERT_NE(card, nullptr);
  QTest::keyClick(card, Qt::Key_Return);
  ASSERT_TRUE(settle());
  QWidget* const at = QApplication::focusWidget();
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(at->objectName(), "facts");
  EXPECT_TRUE(nameOf(at).contains("says")) << nameOf(at).toStdString();
  EXPECT_EQ(QAccessible::queryAccessibleInterface(at)->role(), QAccessible::Notification);
  EXPECT_EQ(aloud(at), nameOf(at)) << "the finding is heard";
  QFocusEvent back(QEvent::FocusIn, Qt::ActiveWindowFocusReason);
  QApplication::sendEvent(at, &back);  // another window was looked at meanwhile
  const QImage with = at->grab().toImage();
  EXPECT_EQ(with.pixelColor(at->width() / 2, 0), toColor(window->workspace().theme().accent)) << "and has a ring";
  QTest::keyClick(at, Qt::Key_Tab);
  QWidget* const next = QApplication::focusWidget();
  EXPECT_EQ(next->parentWidget(), at->parentWidget()) << "the questions about it follow";
}

TEST_F(SpokenTest, TabFollowsTheRowOfTheSentence) {
  auto* row = window->findChild<CrumbRow*>();
  select(8);
  QList<int> places;
  QWidget* first = nullptr;
  for (QWidget* w : row->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
    if (w->isVisible() && w->isEnabled() && w->focusPolicy() & Qt::TabFocus && (!first || w->x() < first->x())) first = w;
  ASSERT_NE(first, nullptr);
  first->setFocus(Qt::TabFocusReason);
  while (QApplication::focusWidget()->parentWidget() == row && places.size() < 20) {
    places << QApplication::focusWidget()->x();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  EXPECT_GT(places.size(), 3);
  EXPECT_TRUE(std::ranges::is_sorted(places));
}

}  // namespace
}  // namespace kvscope
