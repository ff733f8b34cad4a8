// SPDX-License-Identifier: Apache-2.0
// What a screen reader and the Tab key meet, on every page.
#include <QAccessible>
#include <QComboBox>
#include <QSet>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/lecture/lecture_caption.h"
#include "window/lecture/lecture_fixture.h"

namespace kvscope {
namespace {

/// Every object of the tree that can take the focus, with the way to it.
void walk(QAccessibleInterface* at, const QString& way, QStringList& nameless, int& n_focusable) {
  if (!at || !at->isValid()) return;
  const QAccessible::State state = at->state();
  if (state.invisible && !way.isEmpty()) return;
  const QString name = at->text(QAccessible::Name);
  const QString here = way + "/" + (name.isEmpty() ? QString("role %1").arg(at->role()) : name.left(24));
  const QWidget* widget = qobject_cast<QWidget*>(at->object());
  // Parts of a list or a spin box speak for the whole.
  const bool part = widget && widget->parentWidget() &&
                    (widget->parentWidget()->inherits("QAbstractSpinBox") || widget->parentWidget()->inherits("QComboBox"));
  if (state.focusable && widget && widget->isVisible() && widget->focusPolicy() != Qt::NoFocus && !part) {
    ++n_focusable;
    if (name.trimmed().isEmpty()) nameless << here + " " + widget->metaObject()->className();
  }
  if (at->role() == QAccessible::Table || at->role() == QAccessible::List || at->role() == QAccessible::Tree ||
      at->role() == QAccessible::MenuBar)
    return;
  for (int i = 0; i < at->childCount(); ++i) walk(at->child(i), here, nameless, n_focusable);
}

/// Visible widgets that the Tab key should reach.
QSet<QWidget*> tabWidgets(QWidget* window) {
  QSet<QWidget*> out;
  for (QWidget* w : window->findChildren<QWidget*>()) {
    if (!w->isVisible() || !w->isEnabled() || w->isWindow() || !(w->focusPolicy() & Qt::TabFocus) || w->focusProxy()) continue;
    if (w->window() != window) continue;
    out << w;
  }
  return out;
}

class AccessTest : public LectureTest {
 protected:
  void expectAllReached(MainWindow::Page page) {
    window->showPage(page);
    ASSERT_TRUE(settle());
    QStringList nameless;
    int n_focusable = 0;
    walk(QAccessible::queryAccessibleInterface(window.get()), {}, nameless, n_focusable);
    EXPECT_TRUE(nameless.isEmpty()) << nameless.join("\n").toStdString();
    EXPECT_GT(n_focusable, 4);
    QSet<QWidget*> wanted = tabWidgets(window.get());
    ASSERT_FALSE(wanted.isEmpty());
    const qsizetype n = wanted.size();
    if (!QApplication::focusWidget()) (*wanted.begin())->setFocus();
    for (qsizetype i = 0; i < 4 * n; ++i) {
      wanted.remove(QApplication::focusWidget());
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    }
    QStringList missed;
    for (const QWidget* w : wanted) missed << QString("%1 \"%2\"").arg(w->metaObject()->className(), w->accessibleName());
    EXPECT_TRUE(missed.isEmpty()) << "Tab does not reach " << missed.join(", ").toStdString();
  }
};

TEST_F(AccessTest, EverythingThatTakesTheFocusHasANameAndIsReachedByTab) {
  for (const MainWindow::Page page :
       {MainWindow::Page::welcome, MainWindow::Page::inspect, MainWindow::Page::inspector, MainWindow::Page::compare}) {
    SCOPED_TRACE(static_cast<int>(page));
    expectAllReached(page);
  }
  openSample();
  SCOPED_TRACE("lecture");
  expectAllReached(MainWindow::Page::lecture);
}

TEST_F(AccessTest, TheButtonsThatACanvasDrawsAreButtons) {
  window->showPage(MainWindow::Page::compare);
  window->resize(1600, 1000);
  ASSERT_TRUE(settle());
  const CanvasWidget* canvas = window->canvas("compare");
  QAccessibleInterface* const tree = QAccessible::queryAccessibleInterface(window->canvas("compare"));
  const auto named = [&](const QString& name) -> QAccessibleInterface* {
    for (int i = 0; i < tree->childCount(); ++i)
      if (tree->child(i)->text(QAccessible::Name) == name) return tree->child(i);
    return nullptr;
  };
  const auto pair = [&] {
    for (const viz::Mark& mark : canvas->view().marks())
      if (mark.kind == "difference.strip") return mark.label;
    return std::string();
  };
  const std::string before = pair();
  QAccessibleInterface* const swap = named("Swap");
  ASSERT_NE(swap, nullptr);
  EXPECT_EQ(swap->role(), QAccessible::Button);
  EXPECT_TRUE(QRect(canvas->mapToGlobal(QPoint()), canvas->size()).contains(swap->rect()));
  EXPECT_NE(named("Remove B " + QString::fromStdString(snapshot().lanes[1].title)), nullptr);
  swap->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
  ASSERT_TRUE(settle());
  EXPECT_NE(pair(), before);
}

TEST_F(AccessTest, TheCaptionIsReadToWhoCannotSeeIt) {
  openSample();
  window->lectureMode().guide().goTo("sink");
  ASSERT_TRUE(settle());
  bool said = false;
  for (const QWidget* w : window->lectureMode().caption().findChildren<QWidget*>())
    said = said || w->accessibleName() == window->lectureMode().caption().text();
  EXPECT_TRUE(said);
  EXPECT_TRUE(window->lectureMode().caption().dots().accessibleName().contains("Sinks"));
}

}  // namespace
}  // namespace kvscope
