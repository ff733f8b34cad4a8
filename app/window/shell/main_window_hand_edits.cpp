// SPDX-License-Identifier: Apache-2.0
// Changes by hand: the What-if panel, its menu and keys.
#include <algorithm>
#include <utility>

#include <QAction>
#include <QActionGroup>
#include <QDockWidget>
#include <QKeyEvent>
#include <QMenu>

#include "app/window/lecture/lecture_page.h"
#include "app/window/shell/main_window.h"
#include "app/window/panels/policy/policy_panel_allocation.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/shell/rows.h"
#include "app/window/panels/runs/what_if_panel.h"

namespace kvscope {

void MainWindow::addWhatIfPanel() {
  auto* content = new WhatIfPanel(m_workspace, m_hand);
  Panel* panel = addPanel("what_if", "What-if", content);
  connect(content, &WhatIfPanel::factsChanged, panel, [=] { panel->setFacts(content->facts()); });
  panel->setFacts(content->facts());
  connect(&m_hand, &HandEdits::said, this, [this, last = QString()](const QString& words) mutable {
    const QString before = std::exchange(last, words);
    if (words.isEmpty()) return m_messages->takeBack(before);
    if (page() != Page::inspect || m_maximised) {  // the panel is not to be seen there
      m_messages->show(words, words);
      return;
    }
    showDock("what_if");
  });
}

void MainWindow::connectAllocation(AllocationCurve& curve) {
  connect(&curve, &AllocationCurve::budgetRequested, &m_hand, [this](int layer, int kv_head, int n) {
    m_hand.setBudget(m_workspace.selection().lane, layer, kv_head, n < 0 ? std::nullopt : std::optional(n));
  });
  connect(&curve, &AllocationCurve::resetRequested, &m_hand, [this] { m_hand.resetBudgets(m_workspace.selection().lane); });
  connect(&curve, &AllocationCurve::headSelected, this, [this](int layer, int kv_head) {
    viz::Selection selection = m_workspace.selection();
    selection.layer = layer;
    selection.kv_head = kv_head < 0 ? std::nullopt : std::optional(kv_head);
    m_workspace.setSelection(selection);
  });
}

void MainWindow::buildHandMenu(QMenu* menu) {
  m_hand_menu = menu->addMenu("Change by &hand");
  struct Item {
    const char* text;
    WhatIf::Kind kind;
  };
  constexpr Item kItems[] = {{"&Pin the selected tokens\tP", WhatIf::Kind::pin},
                             {"&Evict the selected tokens\tE", WhatIf::Kind::evict},
                             {"&Merge the selected tokens into…\tM", WhatIf::Kind::merge},
                             {"&Restore the selected tokens\tR", WhatIf::Kind::restore}};
  std::vector<QAction*> needing;
  for (const Item& item : kItems) needing.push_back(action(m_hand_menu, item.text, {}, [this, kind = item.kind] { m_hand.edit(kind); }));
  m_hand_menu->addSeparator();
  auto* scopes = new QActionGroup(this);
  constexpr const char* kScopes[] = {"Edits hold in the selected &head", "Edits hold in all heads of its &layer",
                                     "Edits hold in &all heads"};
  for (int i = 0; i < 3; ++i) {
    const auto scope = static_cast<HandEdits::Scope>(i);
    QAction* a = action(m_hand_menu, kScopes[i], {}, [this, scope] { m_hand.setScope(scope); });
    a->setCheckable(true);
    scopes->addAction(a);
    const auto refresh = [this, a, scope] { a->setChecked(m_hand.scope() == scope); };
    connect(&m_hand, &HandEdits::changed, a, refresh);
    refresh();
  }
  m_hand_menu->addSeparator();
  QAction* head = action(m_hand_menu, "Give the head its &allocated budget again", {}, [this] {
    const viz::Selection& s = m_workspace.selection();
    if (s.layer && s.kv_head) m_hand.setBudget(s.lane, *s.layer, *s.kv_head, std::nullopt);
  });
  QAction* all = action(m_hand_menu, "Give all heads of the run their allocated budgets again", {}, [this] { m_hand.resetBudgets(m_workspace.selection().lane); });
  const auto refresh = [this, needing, head, all] {
    const bool can = m_hand.obstacle().isEmpty();
    const bool writing = std::ranges::any_of(std::initializer_list<PromptPanel*>{m_prompt, &m_lecture->prompt()}, [](PromptPanel* p) { return p->editor().hasFocus(); });
    for (QAction* a : needing) {
      a->setEnabled(can);
      a->setText(a->text().section('\t', 0, 0) + (writing ? "\tEsc, " : "\t") + a->text().right(1));
    }
    const viz::Selection& s = m_workspace.selection();
    const LaneEdits edits = m_hand.edits(s.lane);
    const HeadChoice chosen{{s.layer.value_or(-1)}, {s.kv_head.value_or(-1)}};
    head->setEnabled(std::ranges::any_of(edits.budgets, [&](const BudgetOverride& b) { return b.heads == chosen; }));
    all->setEnabled(!edits.budgets.empty());
  };
  connect(&m_hand, &HandEdits::changed, this, refresh);
  refresh();

  for (PromptPanel* prompt : {m_prompt, &m_lecture->prompt()}) {
    connect(&prompt->editor(), &PromptEditor::focusChanged, this, refresh);
    offerHandEdits(prompt->editor());
  }
}

void MainWindow::offerHandEdits(PromptEditor& editor) {
  editor.setContextMenuPolicy(Qt::CustomContextMenu);
  connect(&editor, &QWidget::customContextMenuRequested, this, [this, &editor](const QPoint& at) {
    // The token under the mouse is meant, unless it is one of those selected.
    const int token = editor.tokenAt(at);
    viz::Selection selection = m_workspace.selection();
    const auto has = [token](const viz::TokenRange& r) { return r.first <= token && token <= r.last; };
    if (token >= 0 && !std::ranges::any_of(viz::all_tokens(selection), has)) {
      selection.select({token, token});
      m_workspace.setSelection(selection);
    }
    QMenu* standard = editor.createStandardContextMenu(at);
    standard->setAttribute(Qt::WA_DeleteOnClose);
    standard->addSeparator();
    standard->addMenu(m_hand_menu);
    standard->popup(editor.viewport()->mapToGlobal(at));
  });
}

bool MainWindow::editByKey(int key) {
  if (key == Qt::Key_Escape && m_hand.choosingTarget()) {
    m_hand.cancel();
    return true;
  }
  switch (key) {
    case Qt::Key_P: m_hand.edit(WhatIf::Kind::pin); return true;
    case Qt::Key_E: m_hand.edit(WhatIf::Kind::evict); return true;
    case Qt::Key_M: m_hand.edit(WhatIf::Kind::merge); return true;
    case Qt::Key_R: m_hand.edit(WhatIf::Kind::restore); return true;
    default: return false;
  }
}

}  // namespace kvscope
