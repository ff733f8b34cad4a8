// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/budget_slider.h"

#include <QHelpEvent>
#include <QPainter>
#include <QStyleOptionSlider>
#include <QToolTip>

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

QPoint BudgetSlider::tick() const {
  const BreakPoint point = m_workspace.breakPoint(m_workspace.selection().lane);
  if (!point.marked() || point.slots < minimum() || point.slots > maximum()) return {};
  QStyleOptionSlider option;
  initStyleOption(&option);
  const QRect groove = style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderGroove, this);
  const QRect handle = style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, this);
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

}  // namespace kvscope
