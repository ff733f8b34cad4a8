// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_hand.h"

#include <algorithm>

#include <QEvent>
#include <QHBoxLayout>
#include <QPushButton>

#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/session/hand/hand_edits.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "viz/reduce/slot.h"

namespace kvscope {

LectureHand::LectureHand(Workspace& workspace, HandEdits& hand, PromptEditor& editor, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_hand(hand), m_editor(editor), m_evict(nullptr), m_why(nullptr), m_restore(nullptr) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(m_evict = button("Evict"));
  row->addWidget(m_why = button("Why?"));
  row->addWidget(m_restore = button("Restore"));
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged}) connect(&workspace, signal, this, [this] { refresh(); });
  connect(&hand, &HandEdits::changed, this, [this] { refresh(); });
  connect(&editor, &PromptEditor::focusChanged, this, [this] { refresh(); });
  const auto edit = [this](QPushButton* b, WhatIf::Kind kind) {
    connect(b, &QPushButton::clicked, this, [this, kind] {
      m_hand.edit(kind);
      Q_EMIT edited();
    });
  };
  edit(m_evict, WhatIf::Kind::evict);
  edit(m_restore, WhatIf::Kind::restore);
  connect(m_why, &QPushButton::clicked, this, &LectureHand::whyAsked);
  setFocusProxy(m_evict);
  refresh();
}

QPushButton* LectureHand::button(const QString& name) {
  auto* b = new QPushButton(name, this);
  b->setObjectName("chipActive");
  b->setCursor(Qt::PointingHandCursor);
  return b;
}

/// None of the selected tokens has a slot of its own in the head that is looked at, whatever other heads have.
bool LectureHand::gone() const {
  const viz::Selection& s = m_workspace.selection();
  const viz::HeadPick pick = viz::pick_head(m_workspace.snapshot(), s);
  if (!s.tokens || pick.values == nullptr) return false;
  for (int token = s.tokens->first; token <= s.tokens->last; ++token)
    if (token > pick.record->position || viz::has_own_slot(pick, token)) return false;
  return true;
}

void LectureHand::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange)
    QMetaObject::invokeMethod(this, &LectureHand::refresh, Qt::QueuedConnection);  // once all have it
}

void LectureHand::setOnPaper(bool on) {
  m_on_paper = on;
  refresh();
}

void LectureHand::refresh() {
  const bool away = gone();
  m_evict->setVisible(!away && m_hand.obstacleOf(WhatIf::Kind::evict).isEmpty());
  m_why->setVisible(away);
  m_restore->setVisible(away && !m_editor.writing() && m_hand.obstacleOf(WhatIf::Kind::restore).isEmpty());
  setVisible(!m_on_paper && (!m_evict->isHidden() || away));
  if (isHidden()) return;
  const bool writing = m_editor.writing();
  const viz::TokenRange& range = *m_workspace.selection().tokens;
  const QString which = qs(viz::quoted(viz::token_range_text(m_workspace.read(), range.first, range.last, 16)));
  const auto word = [&](QPushButton* b, const QString& name, const QString& key, QString help) {
    b->setText(QString(writing ? "%1 (Esc, %2)" : "%1 (%2)").arg(name, key));
    if (writing) help += QString(". While you edit text, letters type: press Esc, then %1").arg(key);
    b->setToolTip(help);
    b->setAccessibleName(b->text() + ": " + help);
  };
  const QString beside = QString("%1 in %2, in a run beside this one; Ctrl+Z takes it back").arg(which, m_hand.scopeWords());
  const QString where = " in " + qs(m_workspace.editScope());  // where there is room; what is said of the edit names them, too
  word(m_why, "Why?", "W", QString("Why %1 has no slot of its own in this head: below").arg(which));
  const int room = parentWidget()->width() * 7 / 10 - (away ? m_why->sizeHint().width() : 0);  // the title makes do with the rest
  const auto words = [&](const QPushButton& b, const QString& verb) {
    const int around = b.sizeHint().width() - b.fontMetrics().horizontalAdvance(b.text()) +
                       b.fontMetrics().horizontalAdvance(writing ? " (Esc, E)" : " (R)");
    return fitting(b.fontMetrics(), room - around, {verb + where, verb});
  };
  word(m_evict, words(*m_evict, "Evict"), "E", "Evict " + beside);
  word(m_restore, words(*m_restore, "Restore"), "R", "Restore " + beside + ". It stays from there on");
}

}  // namespace kvscope
