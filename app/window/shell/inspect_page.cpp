// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/inspect_page.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QKeyEvent>
#include <QLayout>
#include <QMainWindow>
#include <QMenu>
#include <QStackedWidget>

#include "app/window/commands/command_table.h"
#include "app/window/commands/commands.h"
#include "app/window/rows/window_rows.h"
#include "app/window/shell/dock_area.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panels.h"

namespace kvscope {

namespace {

constexpr int kLeastTab = 162;                    // px with the header
constexpr int kColumnWidths[] = {392, 828, 348};  // of the design at 1600 x 1000, in proportion elsewhere
constexpr int kColumnHeight = 840;                // there
constexpr double kTabShare = 0.27;                // of the column's height
using Kind = viz::Place::Kind;

}  // namespace

InspectPage::InspectPage(WindowRows& rows, Pages& pages, Panels& panels, QWidget& picture)
    : m_rows(rows), m_pages(pages), m_panels(panels) {
  QWidget* page = pageWithMargins(&rows.pages());
  m_area = new DockArea(page);
  m_area->setWindowFlags(Qt::Widget);
  m_area->setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks);
  for (Panel* panel : panels.all()) {
    const viz::Place& place = panel->place();
    if (place.kind == Kind::page) continue;
    QDockWidget* dock = m_area->take(panel->makeDock(m_area));
    m_docks.push_back(dock);
    dock->installEventFilter(this);
    if (place.kind == Kind::dock) {
      m_columns[static_cast<std::size_t>(place.column)].emplace_back(dock, place);
      dock->setProperty(DockArea::kLeast, place.least_height);
      continue;
    }
    m_tabs.push_back(dock);
    dock->setProperty(DockArea::kLeast, kLeastTab);
    panel->offerClose();
    connect(panel, &Panel::closeRequested, this, [this, panel, dock] {
      if (m_maximised == panel) toggleMaximised(panel);
      dock->close();
    });
  }
  for (auto& column : m_columns) {
    std::ranges::stable_sort(column, {}, [](const auto& d) { return d.second.row; });
    QList<QDockWidget*> docks;
    for (const auto& [dock, place] : column) docks << dock;
    m_area->addColumn(docks, &column == &m_columns[1] ? QList<QDockWidget*>(m_tabs.begin(), m_tabs.end()) : QList<QDockWidget*>());
  }
  connect(&panels, &Panels::maximiseRequested, this, &InspectPage::toggleMaximised);
  page->layout()->addWidget(m_area);
  pages.add(Page::inspect, page, {"inspect", &picture, "&Inspect", "Alt+1"});
  arrange();
}

void InspectPage::arrange() {
  if (QWidget* page = m_area->parentWidget(); !page->isVisible()) {  // behind another page it has had no size yet
    page->resize(m_rows.pages().size());
    page->layout()->setGeometry(page->rect());
  }
  for (QDockWidget* d : m_docks) {
    d->setFloating(false);
    m_area->removeDockWidget(d);
  }
  QDockWidget* beside = nullptr;
  for (const auto& column : m_columns) {
    QDockWidget* head = column.front().first;
    beside ? m_area->splitDockWidget(beside, head, Qt::Horizontal) : m_area->addDockWidget(Qt::LeftDockWidgetArea, head);
    beside = head;
  }
  for (const auto& column : m_columns)
    for (std::size_t i = 1; i < column.size(); ++i) m_area->splitDockWidget(column[i - 1].first, column[i].first, Qt::Vertical);
  // One place for what is opened now and then: a tab each, as wide as the column above.
  m_area->splitDockWidget(m_columns[1].back().first, m_tabs.front(), Qt::Vertical);
  for (std::size_t i = 1; i < m_tabs.size(); ++i) m_area->tabifyDockWidget(m_tabs.front(), m_tabs[i]);
  for (QDockWidget* d : m_docks) d->show();
  for (QDockWidget* d : m_tabs) d->hide();
  giveShares();
  m_area->layOut();
}

/// Of the design. The first panel of the middle column, the atlas, has what the others leave it; so has the last of the right one.
void InspectPage::giveShares() {
  DockArea::Shares heights, beside_tabs, widths;
  for (std::size_t c = 0; c < m_columns.size(); ++c) {
    int rest = kColumnHeight, rest_beside = kColumnHeight - kGutter - static_cast<int>(kTabShare * kColumnHeight);
    for (const auto& [dock, place] : m_columns[c]) {
      heights[dock] = static_cast<int>(place.share * kColumnHeight);
      beside_tabs[dock] = static_cast<int>(place.share_beside_tabs * kColumnHeight);
      const int gap = dock == m_columns[c].front().first ? 0 : kGutter;
      rest -= heights[dock] + gap;
      rest_beside -= beside_tabs[dock] + gap;
      widths[dock] = kColumnWidths[c];
    }
    if (c == 1) heights[m_columns[c].front().first] = rest, beside_tabs[m_columns[c].front().first] = rest_beside;
    if (c == 2) heights[m_columns[c].back().first] += rest;  // the table has rows to give
  }
  for (QDockWidget* dock : m_tabs) beside_tabs[dock] = static_cast<int>(kTabShare * kColumnHeight), widths[dock] = kColumnWidths[1];
  m_area->setShares(heights, beside_tabs, widths);
}

QDockWidget* InspectPage::dock(const QString& panel) const {
  const auto found = std::ranges::find(m_docks, "dock_" + panel, &QDockWidget::objectName);
  return found == m_docks.end() ? nullptr : *found;
}

void InspectPage::open(const QString& panel, Keys keys) { open(*dock(panel), keys); }

void InspectPage::open(QDockWidget& dock, Keys keys) {
  dock.setAttribute(Qt::WA_ShowWithoutActivating, keys == Keys::left);
  if (!m_pages.shows(Page::inspect) && !dock.isFloating()) {
    const QWidget& over = m_rows.pages();
    const QSize size(over.width() / 2, over.height() / 3);
    m_visiting.push_back(&dock);
    dock.setFloating(true);
    dock.setGeometry(QRect(over.mapToGlobal(QPoint((over.width() - size.width()) / 2, over.height() - size.height() - kGutter)), size));
  }
  dock.show();
  if (!dock.isFloating()) m_area->layOut();  // in a low window it becomes a tab of the panels above
  dock.raise();
  dock.setAttribute(Qt::WA_ShowWithoutActivating, false);
  if (dock.isFloating() && keys == Keys::taken) dock.activateWindow();
}

/// Esc, where nothing in the panel wants it, leaves one that floats: to the window, and one that only visits goes.
bool InspectPage::eventFilter(QObject* watched, QEvent* event) {
  auto* dock = qobject_cast<QDockWidget*>(watched);
  if (!dock || !dock->isFloating() || event->type() != QEvent::KeyPress || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape)
    return QObject::eventFilter(watched, event);
  if (std::ranges::find(m_visiting, dock) != m_visiting.end()) dock->close();
  m_area->window()->activateWindow();
  return true;
}

void InspectPage::goTo(Panel& panel) {
  QDockWidget* const of_panel = dock(panel.id());
  m_pages.show(of_panel ? Page::inspect : m_pages.of(panel.id()));
  if (m_maximised && m_maximised != &panel) toggleMaximised(m_maximised);
  if (of_panel) open(*of_panel);
  focusFirst(*panel.content());
}

void InspectPage::focusFirst(QWidget& in) {
  for (QWidget* w = &in; w; w = w->nextInFocusChain() == &in ? nullptr : w->nextInFocusChain()) {
    if (w != &in && !in.isAncestorOf(w)) continue;
    if ((w->focusPolicy() & Qt::TabFocus) == 0 || !w->isVisible() || !w->isEnabled()) continue;
    return w->setFocus(Qt::ShortcutFocusReason);
  }
}

bool InspectPage::focusSeen(const std::function<bool()>& step) {
  const auto is_seen = [](const QWidget* w) {
    while (w && !qobject_cast<const QDockWidget*>(w)) w = w->parentWidget();
    return !w || !w->visibleRegion().isEmpty();
  };
  constexpr int kMost = 500;  // in panels that are not seen
  bool taken = step();
  for (int n = 0; taken && n < kMost && !is_seen(QApplication::focusWidget()); ++n) taken = step();
  return taken;
}

void InspectPage::goToNext(int step) {
  std::vector<Panel*> visible;
  std::ranges::copy_if(m_panels.all(), std::back_inserter(visible), [](const Panel* p) { return p->body()->isVisible(); });
  if (visible.empty()) return;
  const auto n = static_cast<std::ptrdiff_t>(visible.size());
  const auto at = std::ranges::find(visible, m_panels.withFocus()) - visible.begin();
  const std::ptrdiff_t next = at == n ? (step > 0 ? 0 : n - 1) : (at + step + n) % n;
  goTo(*visible[static_cast<std::size_t>(next)]);
}

void InspectPage::endVisits() {
  const bool active = std::ranges::any_of(m_visiting, [](const QDockWidget* dock) { return dock->isActiveWindow(); });
  for (QDockWidget* dock : std::exchange(m_visiting, {})) dock->setFloating(false);
  if (active) m_area->window()->activateWindow();  // what was its own window is none any more: keys and menus are this one's again
}

QByteArray InspectPage::state() const { return m_maximised ? m_before_maximise : m_area->layout(); }

void InspectPage::restore(const QByteArray& state) { m_area->setLayout(state); }

void InspectPage::resetLayout() {
  if (m_maximised) toggleMaximised(m_maximised);
  m_pages.show(Page::inspect);
  arrange();
}

void InspectPage::toggleMaximised(Panel* panel) {
  if (!m_pages.shows(Page::inspect)) {  // those panels have the whole page already
    m_pages.show(Page::inspect);
    return;
  }
  if (m_maximised) {
    restore(m_before_maximise);
    m_maximised->setMaximised(false);
    m_maximised->content()->setFocus();  // the panels that came back must not take it
    m_maximised = nullptr;
    return;
  }
  m_before_maximise = m_area->layout();
  if (QDockWidget* own = dock(panel->id()); own && own->isFloating()) {  // it fills this window, not one of its own, until it is put back
    own->setFloating(false);
    m_area->window()->activateWindow();
  }
  for (QDockWidget* dock : m_docks) dock->setVisible(dock->objectName() == "dock_" + panel->id());
  m_maximised = panel;
  panel->setMaximised(true);
  panel->content()->setFocus();
}

void InspectPage::fillPanelsMenu(Commands& commands, QMenu* panels, QMenu* go) {
  for (Panel* panel : m_panels.all()) {
    QDockWidget* dock = this->dock(panel->id());
    if (!dock) continue;
    QAction* toggle = dock->toggleViewAction();
    panels->addAction(toggle);
    const QKeySequence key(panel->place().key);
    connect(toggle, &QAction::triggered, this, [this, dock, panel, has_key = !key.isEmpty()](bool on) {
      if (!on) return;
      open(*dock);
      if (has_key) panel->content()->setFocus(Qt::ShortcutFocusReason);
    });
    if (key.isEmpty()) continue;
    toggle->setShortcut(key);
    commands.adopt({toggle});
  }
  for (Panel* p : m_panels.all()) commands.add(go, {asLabel(p->title()), {}, [this, p] { goTo(*p); }});
}

void InspectPage::fillLayoutMenu(Commands& commands, QMenu* menu) {
  commands.add(menu, {{"&Maximise the panel with the focus",
                       {Qt::Key_F11},
                       [this] {
                         if (m_maximised) return toggleMaximised(m_maximised);
                         Panel* const with_focus = m_panels.withFocus();
                         toggleMaximised(with_focus ? with_focus : m_panels.of(m_columns[1].front().first->objectName().mid(5)));
                       }},
                      {"&Detach the panel with the focus, or put it back",
                       {Qt::CTRL | Qt::Key_F11},
                       [this] { detachWithFocus(); },
                       "A double click on its header does the same; Reset the layout brings all back"},
                      {"&Reset the layout", {}, [this] { resetLayout(); }}});
}

void InspectPage::detachWithFocus() {
  QWidget* const focus = QApplication::focusWidget();
  for (QDockWidget* dock : m_docks) {
    if (!focus || !dock->isAncestorOf(focus)) continue;
    if (m_maximised && !dock->isFloating()) toggleMaximised(m_maximised);  // a window of its own has the panel's usual size
    dock->setFloating(!dock->isFloating());
    dock->activateWindow();
    return focus->setFocus();
  }
}

}  // namespace kvscope
