// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "policy/text/lane_edits.h"

class QComboBox;
class QHBoxLayout;
class QLabel;
class QTableView;
class QToolButton;

namespace kvscope {

class HandEdits;
class WhatIfModel;
class Workspace;

/// What-if (V10): buttons for the selected tokens, the list of what was done by hand with its measured effect, and the answer of the fork
/// beside that of its baseline and of the full cache.
class WhatIfPanel : public QWidget {
  Q_OBJECT

 public:
  WhatIfPanel(Workspace& workspace, HandEdits& edits, QWidget* parent = nullptr);

  /// For the panel's header: "run F, forked from run E".
  QString facts() const;
  WhatIfModel& model() { return *m_model; }
  QTableView& table() { return *m_table; }
  QString answer() const;

 Q_SIGNALS:
  void factsChanged();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void fitTools();
  void refresh();
  QToolButton* button(const QString& text, const QString& help);

  Workspace& m_workspace;
  HandEdits& m_edits;
  WhatIfModel* m_model;
  QTableView* m_table;
  QComboBox* m_scope;
  QLabel *m_said, *m_answer, *m_empty;
  QToolButton *m_buttons[4], *m_remove, *m_drop;
  QHBoxLayout *m_tools, *m_more_tools;
};

}  // namespace kvscope
