// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "app/window/panels/runs/run_grid_model.h"

class QLabel;
class QLineEdit;
class QTableView;

namespace kvscope {

/// Policies × budgets (× seeds where a policy draws lots) to choose runs from.
class RunGrid : public QWidget {
  Q_OBJECT

 public:
  RunGrid(Workspace& workspace, SessionController& controller, RunGridModel::For what, const QString& budgets, QWidget* parent = nullptr);

  RunGridModel& model() { return *m_model; }
  QTableView& table() { return *m_table; }
  QLineEdit& budgets() { return *m_budgets; }
  QLineEdit& seeds() { return *m_seeds; }
  QLineEdit& finder() { return *m_find; }
  /// The keyboard is at its first cell.
  void begin();

 Q_SIGNALS:
  void changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void layOutTable();
  void readBudgets();
  void layRows();
  void readSeeds();
  void find();
  void toFirst();
  void say();

  Workspace& m_workspace;
  RunGridModel* m_model;
  QLineEdit *m_budgets, *m_seeds;
  QLabel* m_words;
  QLineEdit* m_find;
  QTableView* m_table;
  QString m_wrong_budget, m_wrong_seed;
};

}  // namespace kvscope
