// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/panels.h"

#include <algorithm>

#include <QApplication>

#include "app/window/session/workspace.h"

namespace kvscope {

Panel& Panels::add(const QString& id, const QString& title, QWidget* content, const viz::Place& place) {
  auto* panel = new Panel(id, title, content, place, &m_owner);
  m_all.push_back(panel);
  connect(panel, &Panel::badgeClicked, this, [this] { limitSteps(m_workspace, std::nullopt); });
  connect(panel, &Panel::maximiseRequested, this, [this, panel] { Q_EMIT maximiseRequested(panel); });
  return *panel;
}

Panel* Panels::of(const QString& id) const {
  const auto found = std::ranges::find(m_all, id, &Panel::id);
  return found == m_all.end() ? nullptr : *found;
}

Panel* Panels::withFocus() const {
  const QWidget* const focus = QApplication::focusWidget();
  const auto has_it = [focus](const Panel* p) { return focus && (p->body()->isAncestorOf(focus) || p->header()->isAncestorOf(focus)); };
  const auto found = std::ranges::find_if(m_all, has_it);
  return found == m_all.end() ? nullptr : *found;
}

void Panels::applyTheme() {
  for (Panel* panel : m_all) panel->applyTheme(m_workspace.theme());
}

void Panels::orderFocus() {
  for (const Panel* panel : m_all) {
    std::vector<QWidget*> order, signs;
    for (QWidget* w = panel->header()->nextInFocusChain(); w != panel->header(); w = w->nextInFocusChain()) {
      if ((w->focusPolicy() & Qt::TabFocus) == 0) continue;
      if (panel->body()->isAncestorOf(w)) order.push_back(w);
      if (panel->header()->isAncestorOf(w)) signs.push_back(w);
    }
    if (order.empty()) continue;
    order.insert(order.end(), signs.begin(), signs.end());
    for (std::size_t i = 1; i < order.size(); ++i) QWidget::setTabOrder(order[i - 1], order[i]);
  }
}

void limitSteps(Workspace& workspace, const std::optional<viz::StepRange>& steps) {
  viz::Selection selection = workspace.selection();
  selection.steps = steps;
  workspace.setSelection(selection);
}

}  // namespace kvscope
