// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/budget_slider.h"

#include <cmath>

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QStyleOptionSlider>
#include <QToolTip>
#include <QWheelEvent>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

BudgetSlider::BudgetSlider(Workspace& workspace, QWidget* parent) : QSlider(Qt::Horizontal, parent), m_workspace(workspace) {
  const auto refresh = [this] {
    setAccessibleDescription(m_workspace.breakPoint(m_workspace.selection().lane).both());
    update();
  };
  for (auto signal : {&Workspace::breakPointsChanged, &Workspace::selectionChanged}) connect(&workspace, signal, this, refresh);
}

QRect BudgetSlider::part(QStyle::SubControl part) const {
  QStyleOptionSlider option;
  initStyleOption(&option);
  return style()->subControlRect(QStyle::CC_Slider, &option, part, this);
}

QPoint BudgetSlider::tick() const {
  const BreakPoint point = m_workspace.breakPoint(m_workspace.selection().lane);
  if (!point.marked() || point.slots < minimum() || point.slots > maximum()) return {};
  const QRect groove = part(QStyle::SC_SliderGroove), handle = part(QStyle::SC_SliderHandle);
  const int along = QStyle::sliderPositionFromValue(minimum(), maximum(), point.slots, groove.width() - handle.width());
  return {groove.left() + along + handle.width() / 2, handle.center().y()};
}

void BudgetSlider::paintEvent(QPaintEvent* event) {
  QSlider::paintEvent(event);
  const QPoint at = tick();
  if (at.isNull()) return;
  // Above and below the groove, so that it is seen beside the handle, too.
  QPainter painter(this);
  const int reach = px(*this, 10), gap = px(*this, 4), width = px(*this, 2);
  const QColor colour = toColor(isEnabled() ? m_workspace.theme().text : m_workspace.theme().disabled);
  painter.fillRect(at.x() - width / 2, at.y() - reach, width, reach - gap, colour);
  painter.fillRect(at.x() - width / 2, at.y() + gap, width, reach - gap, colour);
}

bool BudgetSlider::event(QEvent* event) {
  const QString words = m_workspace.breakPoint(m_workspace.selection().lane).both();
  if (event->type() != QEvent::ToolTip || words.isEmpty()) return QSlider::event(event);
  QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), toolTip().isEmpty() ? words : toolTip() + '\n' + words, this);
  return true;
}

void BudgetSlider::mousePressEvent(QMouseEvent* event) {
  const int beside = px(*this, 10);
  const QPoint at = event->position().toPoint();
  if (event->button() != Qt::LeftButton || !part(QStyle::SC_SliderHandle).adjusted(-beside, -height(), beside, height()).contains(at))
    return QSlider::mousePressEvent(event);
  m_grip = Grip{event->position().x(), value()};
  setSliderDown(true);
}

void BudgetSlider::mouseMoveEvent(QMouseEvent* event) {
  if (!m_grip) return QSlider::mouseMoveEvent(event);
  const int room = part(QStyle::SC_SliderGroove).width() - part(QStyle::SC_SliderHandle).width();
  if (room <= 0) return;
  const double moved = (event->position().x() - m_grip->x) * (maximum() - minimum()) / room;
  setSliderPosition(m_grip->value + static_cast<int>(std::lround(moved)));
}

void BudgetSlider::mouseReleaseEvent(QMouseEvent* event) {
  if (!m_grip || event->button() != Qt::LeftButton) return QSlider::mouseReleaseEvent(event);
  m_grip.reset();
  setSliderDown(false);
}

void BudgetSlider::wheelEvent(QWheelEvent* event) {
  constexpr int kNotch = 120;
  m_wheel += event->angleDelta().y();
  const int notches = m_wheel / kNotch;
  m_wheel -= notches * kNotch;
  if (notches != 0) setValue(value() + notches * (event->modifiers() & Qt::ControlModifier ? pageStep() : singleStep()));
  event->accept();
}

}  // namespace kvscope
