// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSlider>

namespace kvscope {

class Workspace;

/// A slider of the selected run's budget in slots, with a tick where the run begins to answer as the full cache does, if somebody asked.
class BudgetSlider : public QSlider {
  Q_OBJECT

 public:
  BudgetSlider(Workspace& workspace, QWidget* parent);
  /// Middle of the tick; nothing where there is none.
  QPoint tick() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  Workspace& m_workspace;
};

}  // namespace kvscope
