// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/dock_area.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include <QAction>
#include <QApplication>
#include <QChildEvent>
#include <QDataStream>
#include <QDockWidget>
#include <QLayout>
#include <QScreen>
#include <QTabBar>

#include "app/window/commands/commands.h"
#include "app/window/look/restyle.h"
#include "app/window/look/style.h"

namespace kvscope {

namespace {

constexpr int kLeastOfAll = 80;  // px of a panel that gives way to another one's least height
constexpr int kOff = 24;         // px that a floating panel stands off its old place
constexpr int kTabs = 26;        // px of a row of tabs
constexpr const char* kLayout = "kvscope layout 2";
constexpr double kGuests = 0.27;  // of the height, where two others share a place above them

bool stands(const QDockWidget* dock) { return !dock->isHidden() && !dock->isFloating(); }

int leastOf(const QDockWidget* dock) { return dock->property(DockArea::kLeast).toInt(); }

int highest(const QList<QDockWidget*>& docks) {
  int out = 0;
  for (const QDockWidget* dock : docks) out = std::max(out, leastOf(dock));
  return out;
}

/// `total` in the proportions of `wanted`, none below its least height while there is room for all of these.
QList<int> shared(int total, const QList<int>& wanted, const QList<int>& least) {
  double sum = 0;
  for (const int w : wanted) sum += w;
  QList<int> out;
  int over = -total, widest = 0;
  for (qsizetype i = 0; i < wanted.size(); ++i) {
    out << std::max(least[i], static_cast<int>(std::lround(wanted[i] * total / std::max(1.0, sum))));
    over += out[i];
    if (out[i] > out[widest]) widest = static_cast<int>(i);
  }
  for (qsizetype i = out.size() - 1; i >= 0 && over > 0; --i) {
    const int given = std::clamp(out[i] - least[i], 0, over);
    out[i] -= given;
    over -= given;
  }
  out[widest] = std::max(kLeastOfAll, out[widest] - over);
  return out;
}

}  // namespace

DockArea::DockArea(QWidget* parent) : QMainWindow(parent) {
  m_settled.setSingleShot(true);
  m_settled.setInterval(0);
  connect(&m_settled, &QTimer::timeout, this, [this] {
    layOut();
    raiseFronts();
  });
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
  dock->setWindowTitle(floating ? commandText(entry) : entry);
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

void DockArea::addColumn(const QList<QDockWidget*>& docks, const QList<QDockWidget*>& guests) { m_columns.push_back({docks, guests}); }

void DockArea::setShares(const Shares& heights, const Shares& beside_guests, const Shares& widths) {
  m_heights = heights;
  m_beside_guests = beside_guests;
  m_widths = widths;
  for (Column& column : m_columns) column.fold = Fold::none;
}

void DockArea::childEvent(QChildEvent* event) {
  if (event->added()) event->child()->installEventFilter(this);
  QMainWindow::childEvent(event);
}

DockArea::Stacks DockArea::stacks() const {
  Stacks out;
  for (QDockWidget* dock : findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly))
    if (stands(dock) && dock->geometry().right() >= 0) out[dock->x()] << dock;  // tabs behind stand outside
  for (auto& stack : out) std::ranges::sort(stack.second, {}, [](const QDockWidget* dock) { return dock->y(); });
  return out;
}

const DockArea::Column* DockArea::columnOf(const QDockWidget* dock) const {
  const auto has_it = [dock](const Column& c) {
    return std::ranges::find(c.docks, dock) != c.docks.end() || std::ranges::find(c.guests, dock) != c.guests.end();
  };
  const auto found = std::ranges::find_if(m_columns, has_it);
  return found == m_columns.end() ? nullptr : &*found;
}

/// What a drag has changed: the other shares stay what they were, whatever pixels they are now.
void DockArea::remember(const Stacks& before) {
  const Stacks now = stacks();
  if (now.size() != before.size()) return;
  const auto as_it_was = [this](const QDockWidget* dock, auto length) {
    const auto known = m_sizes.constFind(const_cast<QDockWidget*>(dock));
    return known != m_sizes.cend() && length(*known) == length(dock->size());
  };
  bool widths = false;
  for (const auto& [x, docks] : now) {
    widths = widths || !as_it_was(docks.front(), [](const QSize& size) { return size.width(); });
    const Column* column = columnOf(docks.front());
    if (column && column->fold != Fold::none) continue;  // these are no shares to go back to
    if (std::ranges::all_of(docks, [&](const QDockWidget* d) { return as_it_was(d, [](const QSize& size) { return size.height(); }); }))
      continue;
    const bool beside = column && std::ranges::any_of(column->guests, stands);
    for (QDockWidget* dock : docks) (beside ? m_beside_guests : m_heights)[dock] = dock->height();
  }
  if (!widths) return;
  for (const auto& [x, docks] : now) {
    for (QDockWidget* dock : docks) m_widths[dock] = dock->width();
    if (const Column* column = columnOf(docks.front()))
      for (QDockWidget* dock : column->docks + column->guests) m_widths[dock] = docks.front()->width();
  }
}

bool DockArea::event(QEvent* event) {
  const bool presses = event->type() == QEvent::MouseButtonPress, releases = event->type() == QEvent::MouseButtonRelease;
  if (presses) {
    m_pressed = stacks();
    for (const auto& stack : m_pressed)
      for (QDockWidget* dock : stack.second) m_sizes[dock] = dock->size();
  }
  const bool taken = QMainWindow::event(event);
  if (releases && !m_pressed.empty()) remember(std::exchange(m_pressed, {}));
  return taken;
}

bool DockArea::eventFilter(QObject* watched, QEvent* event) {
  // Qt makes a bar of tabs whenever two panels share a place, and keeps it, empty, for the next two.
  if (auto* bar = qobject_cast<QTabBar*>(watched)) {
    if (event->type() == QEvent::Paint && bar->count() == 0) return true;  // its line would cross the panel that has its place
    bar->setFocusPolicy(bar->count() > 0 ? Qt::TabFocus : Qt::NoFocus);
    bar->setAccessibleName("Panels that share a place");
  }
  if (auto* dock = qobject_cast<QDockWidget*>(watched)) {
    if (event->type() == QEvent::MouseButtonDblClick) m_double_clicked = dock;
    if ((event->type() == QEvent::Move || event->type() == QEvent::Show) && !dock->isFloating()) m_places[dock] = dock->pos();
    if (event->type() == QEvent::ShowToParent || event->type() == QEvent::HideToParent) m_settled.start();
  }
  return QMainWindow::eventFilter(watched, event);
}

void DockArea::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  layOut();
  m_settled.start();  // what Qt makes of it comes later
}

void DockArea::layOut() {
  for (Column& column : m_columns) fold(column);
  QWidget::layout()->activate();  // what was moved has its place: shares are given by where panels stand
  shareWidths();
  for (const auto& stack : stacks()) shareHeights(stack.second);
}

/// The height that there is.
void DockArea::shareHeights(const QList<QDockWidget*>& docks) {
  if (docks.size() < 2) return;
  int total = 0;
  for (const QDockWidget* dock : docks) total += dock->height();
  const Column* column = columnOf(docks.front());
  const Shares& shares = column && std::ranges::any_of(column->guests, stands) ? m_beside_guests : m_heights;
  QList<int> heights, least;
  for (QDockWidget* dock : docks) {
    const auto known = shares.find(dock);
    if (known == shares.end()) return;  // somebody's own layout
    heights << known->second;
    least << std::min(known->second, leastOf(dock));
  }
  if (column && column->fold != Fold::none) {  // the panels above have what the place of the tabs leaves them
    const qsizetype n = column->docks.size();
    const QList<QDockWidget*> last =
        column->docks.mid(n - 2) + (column->fold == Fold::with_guests ? column->guests : QList<QDockWidget*>());
    for (qsizetype i = 0; i < docks.size(); ++i) {
      if (std::ranges::find(last, docks[i]) != last.end())
        heights[i] = least[i] = highest(column->docks.mid(n - 2)) + kTabs;
      else if (column->guests.contains(docks[i]))
        heights[i] = std::max(least[i], static_cast<int>(kGuests * total));
      else
        heights[i] = 0;
    }
    heights.front() = std::max(1, total - std::accumulate(heights.begin() + 1, heights.end(), 0));
  }
  resizeDocks(docks, shared(total, heights, least), Qt::Vertical);
}

void DockArea::shareWidths() {
  QList<QDockWidget*> heads;
  QList<int> widths, least;
  int total = 0;
  for (const auto& [x, docks] : stacks()) {
    const auto known = m_widths.find(docks.front());
    if (known == m_widths.end()) return;
    heads << docks.front();
    widths << known->second;
    least << 1;
    total += docks.front()->width();
  }
  const auto gaps = static_cast<int>(heads.size() - 1) * kGutter;
  if (heads.size() < 2 || std::abs(total + gaps - width()) > kGutter) return;  // some stand over two columns
  resizeDocks(heads, shared(width() - gaps, widths, least), Qt::Horizontal);
}

QList<QDockWidget*> DockArea::inFront() const {
  QList<QDockWidget*> out;
  for (QDockWidget* dock : findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly))
    if (stands(dock) && dock->geometry().right() >= 0 && !tabifiedDockWidgets(dock).isEmpty()) out << dock;
  return out;
}

/// Those that a restored layout had in front: Qt forgets it where panels become tabs only now.
void DockArea::raiseFronts() {
  if (m_fronts.isEmpty() || !isVisible()) return;
  for (const QString& name : std::exchange(m_fronts, {}))
    if (auto* dock = findChild<QDockWidget*>(name, Qt::FindDirectChildrenOnly); dock && stands(dock)) dock->raise();
}

QByteArray DockArea::layout() const {
  QByteArray out;
  QDataStream to(&out, QIODevice::WriteOnly);
  const auto named = [](const Shares& shares) {
    QMap<QString, int> by_name;
    for (const auto& [dock, length] : shares) by_name[dock->objectName()] = length;
    return by_name;
  };
  QList<int> folds;
  for (const Column& column : m_columns) folds << static_cast<int>(column.fold);
  QStringList fronts;
  for (const QDockWidget* dock : inFront()) fronts << dock->objectName();
  to << QByteArray(kLayout) << saveState() << named(m_heights) << named(m_beside_guests) << named(m_widths) << folds << fronts;
  return out;
}

void DockArea::setLayout(const QByteArray& layout) {
  QDataStream from(layout);
  QByteArray kind, state;
  QMap<QString, int> heights, beside_guests, widths;
  QList<int> folds;
  from >> kind;
  if (kind == kLayout)
    from >> state >> heights >> beside_guests >> widths >> folds >> m_fronts;  // the last are new: older ones have none
  else
    state = layout;
  restoreState(state);
  const auto take = [this](const QMap<QString, int>& by_name, Shares& shares) {
    for (QDockWidget* dock : findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly))
      if (const auto known = by_name.constFind(dock->objectName()); known != by_name.cend()) shares[dock] = *known;
  };
  take(heights, m_heights);
  take(beside_guests, m_beside_guests);
  take(widths, m_widths);
  for (std::size_t i = 0; i < m_columns.size() && static_cast<qsizetype>(i) < folds.size(); ++i)
    m_columns[i].fold = static_cast<Fold>(std::clamp(folds[static_cast<qsizetype>(i)], 0, static_cast<int>(Fold::all)));
  layOut();
  m_settled.start();
}

DockArea::Fold DockArea::wanted(const Column& column) const {
  const bool beside = std::ranges::any_of(column.guests, stands);
  const int guests = beside ? highest(column.guests) + kTabs + kGutter : 0;
  int apart = guests, last_two = highest(column.docks.mid(column.docks.size() - 2)) + kTabs;
  for (qsizetype i = 0; i < column.docks.size(); ++i) {
    const int least = leastOf(column.docks[i]) + (i > 0 ? kGutter : 0);
    apart += least;
    if (i + 2 < column.docks.size()) last_two += least + kGutter;
  }
  if (height() >= apart) return Fold::none;
  if (column.docks.size() > 2 && height() < last_two) return Fold::all;
  return beside && height() < last_two + guests ? Fold::with_guests : Fold::last_two;
}

DockArea::Fold DockArea::now(const Column& column) const {
  QDockWidget *const front = column.docks[column.docks.size() - 2], *const behind = column.docks.back();
  const auto together = [this](QDockWidget* a, QDockWidget* b) { return tabifiedDockWidgets(a).contains(b); };
  if (column.docks.size() > 2 && together(column.docks.front(), front) && together(front, behind)) return Fold::all;
  if (!column.guests.isEmpty() && (together(front, column.guests.front()) || together(behind, column.guests.front())))
    return Fold::with_guests;
  return together(front, behind) ? Fold::last_two : Fold::none;
}

void DockArea::fold(Column& column) {
  if (!std::ranges::all_of(column.docks, stands)) return;  // somebody's own layout
  const bool beside = std::ranges::any_of(column.guests, stands);
  const Fold before = now(column);
  Fold next = wanted(column);
  if (before == Fold::with_guests && next == Fold::last_two && !beside) next = before;  // those that are closed take no room
  if (next == before || (next < before && column.fold == Fold::none)) {
    column.fold = std::min(column.fold, before);  // or they were laid out anew meanwhile
    return;
  }
  column.fold = next;
  QWidget* const with_focus = QApplication::focusWidget();
  // One that was opened stays in front of those of its place.
  const QList<QDockWidget*> in_front = inFront();
  QDockWidget* guest = nullptr;
  for (QDockWidget* one : column.guests)
    if (stands(one) && (in_front.contains(one) || (!guest && tabifiedDockWidgets(one).isEmpty()))) guest = one;
  if (next < before) pullApart(column, before);
  if (next < Fold::with_guests && guest) guest->raise();
  if (next == Fold::none) return;
  putTogether(column, next);
  QDockWidget *const front = column.docks[column.docks.size() - 2], *const behind = column.docks.back();
  QDockWidget* shown = next == Fold::all ? column.docks.front() : leastOf(behind) > leastOf(front) ? behind : front;
  if (guest && next >= Fold::with_guests) shown = guest;
  for (QDockWidget* dock : next == Fold::all ? column.docks : column.docks.last(2))
    if (with_focus && dock->isAncestorOf(with_focus)) shown = dock;
  shown->raise();
  if (with_focus && isAncestorOf(with_focus)) with_focus->setFocus();
}

/// As many of the column as this asks for, from below, are tabs in one place.
void DockArea::putTogether(const Column& column, Fold next) {
  const QList<QDockWidget*>& docks = column.docks;
  for (qsizetype i = next == Fold::all ? 1 : docks.size() - 1; i < docks.size(); ++i)
    if (!tabifiedDockWidgets(docks[i - 1]).contains(docks[i])) tabifyDockWidget(docks[i - 1], docks[i]);
  if (next < Fold::with_guests) return;
  for (QDockWidget* guest : column.guests) {
    const bool stood = stands(guest);
    if (guest->isFloating()) continue;
    tabifyDockWidget(docks.back(), guest);
    guest->setVisible(stood);
  }
}

/// Every panel of the column has a place of its own again, and the guests one below.
void DockArea::pullApart(const Column& column, Fold now) {
  const qsizetype first = now == Fold::all ? 1 : column.docks.size() - 1;  // of those that leave the place
  QList<std::pair<QDockWidget*, bool>> guests;
  for (QDockWidget* guest : column.guests)
    if (!guest->isFloating()) guests.emplace_back(guest, stands(guest));
  QList<QDockWidget*> moved = column.docks.mid(first);
  for (const auto& [guest, stood] : guests) moved << guest;
  for (QDockWidget* dock : moved) removeDockWidget(dock);
  for (QDockWidget* dock : moved) addDockWidget(Qt::LeftDockWidgetArea, dock);  // or Qt takes the place for one of tabs still
  for (qsizetype i = first; i < column.docks.size(); ++i) splitDockWidget(column.docks[i - 1], column.docks[i], Qt::Vertical);
  for (qsizetype i = 0; i < guests.size(); ++i) {
    if (i == 0)
      splitDockWidget(column.docks.back(), guests[i].first, Qt::Vertical);
    else
      tabifyDockWidget(guests.front().first, guests[i].first);
  }
  for (QDockWidget* dock : column.docks.mid(first)) dock->show();
  for (const auto& [guest, stood] : guests) guest->setVisible(stood);
}

}  // namespace kvscope
