// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/pages.h"

#include <algorithm>

#include <QAction>
#include <QActionGroup>
#include <QMenu>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QStringList>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/commands/command_table.h"
#include "app/window/look/style.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/window_rows.h"
#include "app/window/shell/panels.h"

namespace kvscope {

namespace {

const QStringList kNames = {"inspect", "inspector", "compare", "sweep", "lecture", "welcome"};

}  // namespace

QWidget* pageWithMargins(QWidget* parent) {
  auto* page = new QWidget(parent);
  page->setObjectName("inspectArea");
  page->setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(kGutter, kGutter - 1, kGutter, kGutter);
  return page;
}

Pages::Pages(WindowRows& rows) : m_rows(rows) {
  connect(&rows.crumbs(), &CrumbRow::pageRequested, this, [this](int page) { show(static_cast<Page>(page)); });
  connect(&rows.tools(), &ToolRow::compareToggled, this, [this](bool on) { show(on ? Page::compare : Page::inspect); });
}

void Pages::add(Page page, QWidget* widget, const Entry& entry) {
  m_rows.pages().addWidget(widget);
  m_known.push_back({page, widget, entry});
  std::ranges::stable_sort(m_known, {}, &Known::page);
}

void Pages::addPanels(const Panels& panels) {
  for (Panel* panel : panels.all()) {
    if (panel->place().kind != viz::Place::Kind::page) continue;
    const qsizetype named = kNames.indexOf(panel->id());
    const auto number = named < 0 ? kNames.size() + static_cast<qsizetype>(m_known.size()) : named;
    QWidget* page = pageWithMargins(&m_rows.pages());
    page->layout()->addWidget(panel->makePage(page));
    add(static_cast<Page>(number), page,
        {panel->id(), panel->content()->focusProxy() ? panel->content()->focusProxy() : panel->content(), panel->place().menu,
         panel->place().key});
  }
}

Pages::Known* Pages::find(Page page) {
  const auto found = std::ranges::find(m_known, page, &Known::page);
  return found == m_known.end() ? nullptr : &*found;
}

Page Pages::page() const {
  const auto found = std::ranges::find(m_known, m_rows.pages().currentWidget(), &Known::widget);
  return found == m_known.end() ? Page::inspect : found->page;
}

Page Pages::of(const QString& name) const {
  const auto found = std::ranges::find_if(m_known, [&](const Known& k) { return k.entry.name == name; });
  return found == m_known.end() || found->page == Page::welcome ? Page::inspect : found->page;
}

QString Pages::name() const { return shows(Page::welcome) ? kNames.front() : find(page())->entry.name; }

QWidget* Pages::widget(Page page) const {
  const Known* known = find(page);
  return known ? known->widget : nullptr;
}

void Pages::fillMenu(Commands& commands, QMenu* menu) {
  auto* group = new QActionGroup(&commands.window());
  for (Known& known : m_known) {
    if (known.entry.menu.isEmpty()) continue;
    const auto go = [this, page = known.page] { show(page); };
    known.action = commands.choice(menu, group, {known.entry.menu, {QKeySequence(known.entry.key)}, go}, false);
  }
}

void Pages::show(Page page) {
  const bool other = !shows(page);
  Q_EMIT aboutToShow(page);
  const Known* known = find(page);
  const bool from_welcome = shows(Page::welcome) && page != Page::welcome;
  m_rows.pages().setCurrentWidget(known->widget);
  if (page != Page::welcome) m_rows.crumbs().setPage(static_cast<int>(page));
  m_rows.crumbs().setWelcome(page == Page::welcome);
  const QSignalBlocker quiet(m_rows.tools().compareButton());
  m_rows.tools().compareButton()->setChecked(page == Page::compare);
  const Known* named = known->action ? known : find(Page::inspect);  // the welcome stands over the layout Inspect
  if (named->action) named->action->setChecked(true);
  // By key what has the keyboard is seen, too; by mouse nothing looks chosen.
  const bool by_key = m_rows.pages().window()->testAttribute(Qt::WA_KeyboardFocusChange);
  const Qt::FocusReason why = by_key ? Qt::ShortcutFocusReason : Qt::OtherFocusReason;
  if (from_welcome && page == Page::inspect)
    m_rows.crumbs().focusSentence(why);
  else if (known->entry.focus && (other || page != Page::inspect))  // on Inspect whatever has it keeps it
    known->entry.focus->setFocus(why);
}

}  // namespace kvscope
