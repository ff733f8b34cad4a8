// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/what_if_actions.h"

#include <algorithm>
#include <utility>

#include <QAction>
#include <QActionGroup>
#include <QMenu>

#include "app/window/commands/command_table.h"
#include "app/window/panels/policy/policy_panel_allocation.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/runs/what_if_panel.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/window_model.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panels.h"
#include "policy/catalog.h"

namespace kvscope {

WhatIfActions::WhatIfActions(WindowModel& model, Panels& panels) : m_model(model) {
  panels.addTalking("what_if", "What-if", new WhatIfPanel(model.workspace, model.hand));
  connect(&model.hand, &HandEdits::said, this, [this, last = QString()](const QString& words) mutable {
    const QString before = std::exchange(last, words);
    Q_EMIT said(words, before);
  });
}

void WhatIfActions::follow(AllocationCurve& curve) {
  HandEdits& hand = m_model.hand;
  Workspace& workspace = m_model.workspace;
  connect(&curve, &AllocationCurve::budgetRequested, &hand, [&hand, &workspace](int layer, int kv_head, int n) {
    hand.setBudget(workspace.selection().lane, layer, kv_head, n < 0 ? std::nullopt : std::optional(n));
  });
  connect(&curve, &AllocationCurve::resetRequested, &hand, [&hand, &workspace] { hand.resetBudgets(workspace.selection().lane); });
  connect(&curve, &AllocationCurve::headSelected, &workspace, [&workspace](int layer, int kv_head) {
    viz::Selection selection = workspace.selection();
    selection.layer = layer;
    selection.kv_head = kv_head < 0 ? std::nullopt : std::optional(kv_head);
    workspace.setSelection(selection);
  });
}

void WhatIfActions::fillMenu(Commands& commands, QMenu* menu, const std::vector<PromptEditor*>& editors) {
  m_menu = menu;
  HandEdits& hand = m_model.hand;
  constexpr std::pair<const char*, WhatIf::Kind> kEdits[] = {{"&Pin the selected tokens\tP", WhatIf::Kind::pin},
                                                             {"&Evict the selected tokens\tE", WhatIf::Kind::evict},
                                                             {"&Merge the selected tokens into…\tM", WhatIf::Kind::merge},
                                                             {"&Restore the selected tokens\tR", WhatIf::Kind::restore}};
  std::vector<QAction*> needing;
  for (const auto& [text, kind] : kEdits) needing.push_back(commands.add(menu, {text, {}, [&hand, kind = kind] { hand.edit(kind); }}));
  menu->addSeparator();
  fillScopes(commands);
  menu->addSeparator();
  QAction* question = commands.add(menu, {"The &question begins at the selected token", {}, [this] { beginQuestion(); }});
  QAction* full = commands.add(menu, {"Give the head its &full cache",
                                      {},
                                      [this] {
                                        const viz::Selection& s = m_model.workspace.selection();
                                        if (s.layer && s.kv_head)
                                          m_model.answer.make(QString("L%1 H%2 in full").arg(*s.layer).arg(*s.kv_head),
                                                              [&] { m_model.hand.giveFullCache(*s.layer, *s.kv_head); });
                                      },
                                      "The selected head of the run keeps every token of the text so far, the others keep their budgets"});
  QAction* head = commands.add(menu, {"Give the head its &allocated budget again", {}, [this] {
                                        const viz::Selection& s = m_model.workspace.selection();
                                        if (s.layer && s.kv_head) m_model.hand.setBudget(s.lane, *s.layer, *s.kv_head, std::nullopt);
                                      }});
  QAction* all = commands.add(menu, {"Give all heads of the run their allocated budgets again", {}, [this] {
                                       m_model.hand.resetBudgets(m_model.workspace.selection().lane);
                                     }});
  m_of_head = {full, head};
  const auto refresh = [this, needing, question, full, head, all, editors] {
    const bool can = m_model.hand.obstacle().isEmpty();
    const bool writing = std::ranges::any_of(editors, &PromptEditor::writing);
    needing.front()->setText(m_model.hand.unpins() ? "Un&pin the selected tokens\tP" : "&Pin the selected tokens\tP");
    for (QAction* a : needing) {
      a->setEnabled(can);
      a->setText(a->text().section('\t', 0, 0) + (writing ? "\tEsc, " : "\t") + a->text().right(1));
    }
    question->setEnabled(runOfQuestion().has_value());
    const viz::Selection& s = m_model.workspace.selection();
    const LaneEdits edits = m_model.hand.edits(s.lane);
    const HeadChoice chosen{{s.layer.value_or(-1)}, {s.kv_head.value_or(-1)}};
    const LaneSnapshot* lane = m_model.workspace.lane();
    full->setEnabled(s.layer && s.kv_head && lane && lane->slots_asked >= 0 && m_model.hand.changeable());
    head->setEnabled(std::ranges::any_of(edits.budgets, [&](const BudgetOverride& b) { return b.heads == chosen; }));
    all->setEnabled(!edits.budgets.empty());
  };
  connect(&hand, &HandEdits::changed, this, refresh);
  refresh();
  for (PromptEditor* editor : editors) {
    connect(editor, &PromptEditor::focusChanged, this, refresh);
    offerIn(*editor);
  }
}

/// The selected run with the question at the selected token and what follows it; nothing where its policy does not ask for one.
std::optional<LaneSpec> WhatIfActions::runOfQuestion() const {
  const viz::Selection& s = m_model.workspace.selection();
  const std::vector<LaneSpec>& lanes = m_model.controller.request().lanes;
  const int n_prompt = m_model.workspace.snapshot().n_prompt;
  if (!s.tokens || s.tokens->first >= n_prompt || s.lane < 1 || s.lane >= static_cast<int>(lanes.size())) return std::nullopt;
  const LaneSpec& lane = lanes[static_cast<std::size_t>(s.lane)];
  return lane.name.empty() ? std::nullopt : with_question(lane, n_prompt - s.tokens->first);
}

void WhatIfActions::beginQuestion() {
  if (const std::optional<LaneSpec> run = runOfQuestion()) m_model.controller.setLaneSpec(m_model.workspace.selection().lane, *run);
}

void WhatIfActions::fillScopes(Commands& commands) {
  HandEdits& hand = m_model.hand;
  auto* scopes = new QActionGroup(&commands.window());
  constexpr std::pair<const char*, HandEdits::Scope> kScopes[] = {{"Edits hold in the selected &head", HandEdits::Scope::head},
                                                                  {"Edits hold in all heads of its &layer", HandEdits::Scope::layer},
                                                                  {"Edits hold in &all heads", HandEdits::Scope::all}};
  for (const auto& [text, scope] : kScopes) {
    QAction* a = commands.choice(m_menu, scopes, {text, {}, [&hand, scope = scope] { hand.setScope(scope); }}, hand.scope() == scope);
    connect(&hand, &HandEdits::changed, a, [&hand, a, scope = scope] { a->setChecked(hand.scope() == scope); });
  }
}

void WhatIfActions::offerIn(PromptEditor& editor) {
  editor.setContextMenuPolicy(Qt::CustomContextMenu);
  connect(&editor, &QWidget::customContextMenuRequested, this, [this, &editor](const QPoint& at) {
    // The token under the mouse is meant, unless it is one of those selected.
    const int token = editor.tokenAt(at);
    viz::Selection selection = m_model.workspace.selection();
    const auto has = [token](const viz::TokenRange& r) { return r.first <= token && token <= r.last; };
    if (token >= 0 && !std::ranges::any_of(viz::all_tokens(selection), has)) {
      selection.select({token, token});
      m_model.workspace.setSelection(selection);
    }
    QMenu* standard = editor.createStandardContextMenu(at);
    standard->setAttribute(Qt::WA_DeleteOnClose);
    for (QAction* own : standard->actions())  // the text has no order of its own
      if (own->objectName() == "edit-undo" || own->objectName() == "edit-redo") own->setVisible(false);
    standard->addSeparator();
    standard->addMenu(m_menu);
    standard->popup(editor.viewport()->mapToGlobal(at));
  });
}

bool WhatIfActions::key(int key) {
  HandEdits& hand = m_model.hand;
  if (key == Qt::Key_Escape && hand.choosingTarget()) {
    hand.cancel();
    return true;
  }
  switch (key) {
    case Qt::Key_P:
      hand.edit(WhatIf::Kind::pin);
      return true;
    case Qt::Key_E:
      hand.edit(WhatIf::Kind::evict);
      return true;
    case Qt::Key_M:
      hand.edit(WhatIf::Kind::merge);
      return true;
    case Qt::Key_R:
      hand.edit(WhatIf::Kind::restore);
      return true;
    default:
      return false;
  }
}

}  // namespace kvscope
