// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/dock_area.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <QAction>
#include <QApplication>
#include <QChildEvent>
#include <QDataStream>
#include <QDockWidget>
#include <QScreen>
#include <QTabBar>

#include "app/window/look/restyle.h"
#include "app/window/look/style.h"

namespace kvscope {

namespace {

constexpr int kLeastOfAll = 80;  // px of a panel that gives way to another one's least height
constexpr int kOff = 24;         // px that a floating panel stands off its old place
constexpr int kTabs = 26;        // px of a row of tabs
constexpr const char* kLayout = "kvscope layout 1";
constexpr int kRounding = 3;  // px that a layout may differ from what it was asked for

}  // namespace

DockArea::DockArea(QWidget* parent) : QMainWindow(parent) {
  m_settled.setSingleShot(true);
  m_settled.setInterval(0);
  connect(&m_settled, &QTimer::timeout, this, [this] { remember(); });
}

QDockWidget* DockArea::take(QDockWidget* dock) {
  dock->setAcceptDrops(true);  // as the window does, where it floats
  connect(dock, &QDockWidget::topLevelChanged, this, [this, dock](bool floating) { showFloating(dock, floating); });
  return dock;
}

/// Qt puts a panel that is made to float exactly over its old place, without a frame: nothing would be seen to happen, but what is
/// behind it would be hidden.
void DockArea::showFloating(QDockWidget* dock, bool floating) {
  for (QWidget* part : {dock->titleBarWidget(), dock->widget()}) {
    if (!part) continue;
    part->setProperty("floating", floating);
    restyle(*part);
  }
  // The title of a window has no keys to mark; the menu has, and so have tabs.
  const QString entry = dock->toggleViewAction()->text();
  dock->setWindowTitle(floating ? QString(entry).replace("&&", "&") : entry);
  dock->toggleViewAction()->setText(entry);
  // Who drags it off puts it where it belongs.
  const bool dragged = QApplication::mouseButtons() != Qt::NoButton && m_double_clicked != dock;
  m_double_clicked = nullptr;
  // Not every desktop puts a new window in front of the one that has the keyboard.
  if (floating) QTimer::singleShot(0, dock, &QWidget::raise);
  if (!floating || dragged || dock->pos() != mapToGlobal(m_places[dock])) return;
  QTimer::singleShot(0, dock, [dock] {
    if (!dock->isFloating()) return;
    // To the side where the screen goes on.
    const QRect on = dock->screen()->availableGeometry(), moved = dock->frameGeometry().translated(kOff, kOff);
    dock->move(dock->pos() + QPoint(moved.right() > on.right() ? -kOff : kOff, moved.bottom() > on.bottom() ? -kOff : kOff));
  });
}

void DockArea::childEvent(QChildEvent* event) {
  if (event->added()) event->child()->installEventFilter(this);
  QMainWindow::childEvent(event);
}

std::map<int, QList<QDockWidget*>> DockArea::columns() const {
  std::map<int, QList<QDockWidget*>> out;
  for (QDockWidget* dock : findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly))
    if (!dock->isHidden() && !dock->isFloating() && dock->geometry().right() >= 0) out[dock->x()] << dock;  // tabs behind stand outside
  return out;
}

void DockArea::remember() {
  for (const auto& column : columns()) {
    const QList<QDockWidget*>& docks = column.second;
    const auto is_folded = [&docks](const Column& c) { return c.folded && c.docks.contains(docks.front()); };
    if (std::ranges::any_of(m_columns, is_folded)) continue;  // these are no shares to go back to
    const bool as_given = std::ranges::all_of(docks, [this](QDockWidget* dock) {
      const auto given = m_given.find(dock);
      return given != m_given.end() && std::abs(given->second - dock->height()) <= kRounding;
    });
    if (as_given) continue;  // or the shares would wander with every change
    for (QDockWidget* dock : docks) m_heights[dock] = m_given[dock] = dock->height();
  }
}

bool DockArea::eventFilter(QObject* watched, QEvent* event) {
  // Qt makes a bar of tabs whenever two panels share a place, and keeps it, empty, for the next two.
  if (auto* bar = qobject_cast<QTabBar*>(watched)) bar->setFocusPolicy(bar->count() > 0 ? Qt::TabFocus : Qt::NoFocus);
  if (auto* dock = qobject_cast<QDockWidget*>(watched)) {
    if (event->type() == QEvent::MouseButtonDblClick) m_double_clicked = dock;
    if ((event->type() == QEvent::Move || event->type() == QEvent::Show) && !dock->isFloating()) m_places[dock] = dock->pos();
    // While the area keeps its height, a change of a panel is intended: a drag between two, a layout, one more panel.
    const bool moves = event->type() == QEvent::Resize || event->type() == QEvent::Show || event->type() == QEvent::Hide;
    if (moves && height() == m_height) m_settled.start();
  }
  return QMainWindow::eventFilter(watched, event);
}

void DockArea::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  if (height() == m_height) return;
  m_height = -1;  // what follows is no choice of anybody
  share();
  QTimer::singleShot(0, this, [this] {
    fold();
    m_height = height();
    if (m_heights.empty()) remember();
  });
}

/// The height that there is, as the panels of each column had theirs last.
void DockArea::share() {
  for (const auto& [x, docks] : columns()) {
    int before = 0, now = 0;
    for (QDockWidget* dock : docks) {
      const auto known = m_heights.find(dock);
      before = known == m_heights.end() || before < 0 ? -1 : before + known->second;
      now += dock->height();
    }
    if (docks.size() < 2 || before <= 0) continue;
    QList<int> heights;
    int rest = now, widest = 0;
    for (qsizetype i = 0; i < docks.size(); ++i) {
      const int own = m_heights.at(docks[i]), least = std::min(own, docks[i]->property(kLeast).toInt());
      heights << std::max(least, static_cast<int>(std::lround(static_cast<double>(own) * now / before)));
      rest -= heights.back();
      if (heights[i] > heights[widest]) widest = static_cast<int>(i);
    }
    heights[widest] = std::max(kLeastOfAll, heights[widest] + rest);
    for (qsizetype i = 0; i < docks.size(); ++i) m_given[docks[i]] = heights[i];
    resizeDocks(docks, heights, Qt::Vertical);
  }
}

QByteArray DockArea::layout() const {
  QByteArray out;
  QDataStream to(&out, QIODevice::WriteOnly);
  QMap<QString, int> heights;
  for (const auto& [dock, height] : m_heights) heights[dock->objectName()] = height;
  QList<bool> folded;
  for (const Column& column : m_columns) folded << column.folded;
  to << QByteArray(kLayout) << saveState() << heights << folded;
  return out;
}

void DockArea::setLayout(const QByteArray& layout) {
  QDataStream from(layout);
  QByteArray kind, state;
  QMap<QString, int> heights;
  QList<bool> folded;
  from >> kind;
  if (kind != kLayout) {
    restoreState(layout);
    return fold();
  }
  from >> state >> heights >> folded;
  restoreState(state);
  m_heights.clear();
  for (QDockWidget* dock : findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly))
    if (const auto known = heights.constFind(dock->objectName()); known != heights.cend()) m_heights[dock] = *known;
  for (std::size_t i = 0; i < m_columns.size() && static_cast<qsizetype>(i) < folded.size(); ++i)
    m_columns[i].folded = folded[static_cast<qsizetype>(i)];
  share();
  fold();
}

void DockArea::fold() {
  QList<QDockWidget*> heads;
  QList<int> widths;
  for (const auto& [x, docks] : columns()) heads << docks.front(), widths << docks.front()->width();
  bool changed = false;
  for (Column& column : m_columns) {
    changed = fold(column) || changed;
    if (column.folded && column.docks.size() > 2) {  // the panel above has what the place of the tabs leaves it
      QDockWidget *const first = column.docks.front(), *const front = column.docks[1], *const behind = column.docks.back();
      const int place = std::max(front->property(kLeast).toInt(), behind->property(kLeast).toInt()) + kTabs;
      resizeDocks({first, front}, {std::max(1, height() - place - kGutter), place}, Qt::Vertical);
    }
  }
  // A panel that comes back has taken from the width of every column.
  if (changed) resizeDocks(heads, widths, Qt::Horizontal);
}

bool DockArea::fold(Column& column) {
  const QList<QDockWidget*>& docks = column.docks;
  int least = static_cast<int>(docks.size() - 1) * kGutter;
  for (const QDockWidget* dock : docks) {
    if (dock->isHidden() || dock->isFloating()) return false;  // somebody's own layout
    least += dock->property(kLeast).toInt();
  }
  QDockWidget *const front = docks[docks.size() - 2], *const behind = docks.back();
  const bool wanted = height() < least, are_tabs = tabifiedDockWidgets(front).contains(behind);
  if (are_tabs && !wanted && !column.folded) column.folded = m_heights.empty();  // as the last window was left, which was a low one
  if (wanted == are_tabs || (!wanted && !column.folded)) {
    column.folded = column.folded && are_tabs;  // or they were laid out anew meanwhile
    return false;
  }
  column.folded = wanted;
  if (wanted) {
    tabifyDockWidget(front, behind);
    const bool needs_more = behind->property(kLeast).toInt() > front->property(kLeast).toInt();
    (needs_more ? behind : front)->raise();
    return true;
  }
  removeDockWidget(behind);
  addDockWidget(Qt::LeftDockWidgetArea, behind);  // or Qt takes the place for one of tabs still
  splitDockWidget(front, behind, Qt::Vertical);
  behind->show();
  QList<int> heights;
  for (QDockWidget* dock : docks) {
    const auto known = m_heights.find(dock);
    heights << std::max(dock->property(kLeast).toInt(), known == m_heights.end() ? 0 : known->second);
  }
  resizeDocks(docks, heights, Qt::Vertical);
  return true;
}

}  // namespace kvscope
