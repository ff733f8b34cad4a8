// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/help_dialog_keys.h"

#include <QAction>
#include <QHBoxLayout>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/commands/commands.h"
#include "app/window/commands/key_map.h"

namespace kvscope {

KeyEditor::KeyEditor(KeyMap& keys, QWidget* parent)
    : QWidget(parent),
      m_keys(keys),
      m_name(new QLabel(this)),
      m_note(new QLabel(this)),
      m_field(new QKeySequenceEdit(this)),
      m_set(new QToolButton(this)),
      m_reset(new QToolButton(this)),
      m_reset_all(new QToolButton(this)) {
  auto* lines = new QVBoxLayout(this);
  lines->setContentsMargins(0, 0, 0, 0);
  lines->setSpacing(4);
  auto* line = new QHBoxLayout;
  line->setSpacing(8);
  m_field->setAccessibleName("new key");
  for (QWidget* part : m_field->findChildren<QWidget*>()) part->setAccessibleName("new key");  // which has the keyboard
  m_field->setToolTip("Press the new shortcut");
  m_set->setText("Set");
  m_set->setToolTip("Make this the command's only shortcut");
  m_reset->setText("Default");
  m_reset->setToolTip("Restore the command's default shortcut");
  m_reset_all->setText("All defaults");
  m_reset_all->setToolTip("Restore all default shortcuts");
  line->addWidget(m_name);
  line->addWidget(m_field, 1);
  line->addWidget(m_set);
  line->addWidget(m_reset);
  line->addWidget(m_reset_all);
  m_note->setWordWrap(true);
  lines->addLayout(line);
  lines->addWidget(m_note);
  connect(m_field, &QKeySequenceEdit::keySequenceChanged, this, [this](const QKeySequence& keys_pressed) {
    if (keys_pressed.count() > 1) m_field->setKeySequence(QKeySequence(keys_pressed[0]));  // one key is enough to remember
    refresh();
  });
  connect(m_set, &QToolButton::clicked, this, [this] { m_keys.set(*m_action, m_field->keySequence()); });
  connect(m_reset, &QToolButton::clicked, this, [this] { m_keys.reset(*m_action); });
  connect(m_reset_all, &QToolButton::clicked, this, [this] { m_keys.resetAll(); });
  connect(&m_keys, &KeyMap::keysChanged, this, [this] { show(m_action, m_why); });
  show(nullptr);
}

void KeyEditor::show(QAction* action, const QString& why) {
  m_action = action;
  m_why = why;
  const QSignalBlocker quiet(m_field);
  m_field->setKeySequence(action ? action->shortcut() : QKeySequence());
  refresh();
}

QString KeyEditor::note() const { return m_note->text(); }

void KeyEditor::refresh() {
  const QKeySequence key = m_field->keySequence();
  m_name->setText(m_action ? QString("Key of “%1”").arg(commandText(m_action->text())) : QString("Key"));
  const QString refusal = m_action ? m_keys.refusal(key) : QString();
  const QAction* holder = m_action ? m_keys.holder(key) : nullptr;
  const bool same = m_action && key == m_action->shortcut();
  const bool changed = m_action && m_keys.changed(*m_action);
  if (!m_action) {
    m_note->setText(m_why.isEmpty() ? QString("Select a command to give it another key.") : m_why);
  } else if (same && changed) {
    m_note->setText("Changed by you.");
  } else if (same) {
    m_note->setText("Click the field and press the new shortcut. Backspace clears it.");
  } else if (!refusal.isEmpty()) {
    m_note->setText(refusal + ".");
  } else if (holder && holder != m_action) {
    m_note->setText(QString("%1 is the key of “%2” in %3: Set takes it from there.")
                        .arg(key.toString(QKeySequence::NativeText), commandText(holder->text()), commandArea(*holder)));
  } else {
    m_note->setText(key.isEmpty() ? QString("Set leaves it without a key.")
                                  : QString("%1 is free.").arg(key.toString(QKeySequence::NativeText)));
  }
  m_field->setEnabled(m_action != nullptr);
  m_set->setEnabled(m_action && !same && refusal.isEmpty());
  m_reset->setEnabled(changed);
  m_reset_all->setEnabled(m_keys.nChanged() > 0);
}

}  // namespace kvscope
