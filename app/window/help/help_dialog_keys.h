// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QAction;
class QKeySequenceEdit;
class QLabel;
class QToolButton;

namespace kvscope {

class KeyMap;

/// The line under the key sheet: gives the command that is selected there another key, or its own again.
class KeyEditor : public QWidget {
  Q_OBJECT

 public:
  KeyEditor(KeyMap& keys, QWidget* parent = nullptr);

  /// nullptr: what is selected has no key that could be changed; `why` says so.
  void show(QAction* action, const QString& why = {});
  QKeySequenceEdit& field() { return *m_field; }
  QToolButton& setButton() { return *m_set; }
  QToolButton& resetButton() { return *m_reset; }
  QToolButton& resetAllButton() { return *m_reset_all; }
  QString note() const;

 private:
  void refresh();

  KeyMap& m_keys;
  QAction* m_action = nullptr;
  QString m_why;
  QLabel *m_name, *m_note;
  QKeySequenceEdit* m_field;
  QToolButton *m_set, *m_reset, *m_reset_all;
};

}  // namespace kvscope
