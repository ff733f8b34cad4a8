// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QSlider>
#include <QStyle>

namespace kvscope {

class Workspace;

/// A slider of the selected run's budget in slots, with a tick where the run begins to say the full cache's token of the step
/// that is shown, if somebody asked.
/// The knob moves from where it was, wherever on it or just beside it one took hold; a notch of the wheel and an arrow are one slot.
class BudgetSlider : public QSlider {
  Q_OBJECT

 public:
  BudgetSlider(Workspace& workspace, QWidget* parent);
  /// Middle of the tick; nothing where there is none.
  QPoint tick() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  struct Grip {
    double x = 0;
    int value = 0;
  };
  QRect part(QStyle::SubControl part) const;

  Workspace& m_workspace;
  std::optional<Grip> m_grip;  // where the knob was taken, and what it said then
  int m_wheel = 0;             // eighths of a degree that make no notch yet
};

}  // namespace kvscope
