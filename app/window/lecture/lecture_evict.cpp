// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_evict.h"

#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/session/hand_edits.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

LectureEvict::LectureEvict(Workspace& workspace, HandEdits& hand, PromptEditor& editor, QWidget* parent)
    : QPushButton("Evict by hand (E)", parent), m_workspace(workspace), m_hand(hand), m_editor(editor) {
  setObjectName("chipActive");
  setAccessibleName("Evict by hand");
  setCursor(Qt::PointingHandCursor);
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged}) connect(&workspace, signal, this, [this] { refresh(); });
  connect(&hand, &HandEdits::changed, this, [this] { refresh(); });
  connect(&editor, &PromptEditor::focusChanged, this, [this] { refresh(); });
  connect(this, &QPushButton::clicked, &hand, [&hand] { hand.edit(WhatIf::Kind::evict); });
  hide();
}

void LectureEvict::refresh() {
  const bool offered = m_hand.obstacleOf(WhatIf::Kind::evict).isEmpty();
  setVisible(offered);
  if (!offered) return;
  const bool writing = m_editor.writing();
  setText(writing ? "Evict by hand (Esc, E)" : "Evict by hand (E)");
  const viz::TokenRange& range = *m_workspace.selection().tokens;
  const QString which = qs(viz::quoted(viz::token_range_text(m_workspace.snapshot().tokens, range.first, range.last, 16)));
  QString help = QString("Evict %1 in %2, in a run beside this one; Ctrl+Z takes it back").arg(which, m_hand.scopeWords());
  if (writing) help += ". While you edit text, letters type: press Esc, then E";
  setToolTip(help);
  setAccessibleName(text() + ": " + help);
}

}  // namespace kvscope
