// SPDX-License-Identifier: Apache-2.0
// A canvas in words: its facts and numbers, what is under the cursor, what its words mean.
#include <QAccessible>
#include <QRectF>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/help/glossary.h"

namespace kvscope {

/// The legend or column under the mouse, else the main words of the view.
QString CanvasWidget::whatIsAt(const QPoint& at) const {
  for (const viz::Mark& m : m_view.marks()) {
    if ((m.kind != "legend" && m.kind != "column") || !QRectF(QPointF(m.min.x, m.min.y), QPointF(m.max.x, m.max.y)).contains(at)) continue;
    if (const QString about = Glossary::builtIn().about(QString::fromStdString(m.label)); !about.isEmpty()) return about;
  }
  return Glossary::builtIn().aboutView(m_view.id());
}

QString CanvasWidget::facts() const {
  if (!m_surface) return {};
  const ImGuiScope scope(m_surface->context());
  return QString::fromStdString(m_view.facts(frame()));
}

viz::Table CanvasWidget::table() const {
  const ImGuiScope scope(m_surface ? m_surface->context() : ImGui::GetCurrentContext());
  return m_view.table(frame());
}

QString CanvasWidget::cursorText() const {
  const ImGuiScope scope(m_surface ? m_surface->context() : ImGui::GetCurrentContext());
  return QString::fromStdString(m_view.cursor_text(frame()));
}

QString CanvasWidget::description() const {
  const QString cursor = cursorText();
  const ImGuiScope scope(m_surface ? m_surface->context() : ImGui::GetCurrentContext());
  const QString summary = QString::fromStdString(m_view.summary(frame()));
  return cursor.isEmpty() || summary.isEmpty() ? cursor + summary : cursor + ". " + QString::fromUtf8(m_view.title()) + ": " + summary;
}

void CanvasWidget::announce() {
  if (!hasFocus() || !QAccessible::isActive()) return;
  const QString text = cursorText();
  if (text == m_announced) return;
  m_announced = text;
  QAccessibleValueChangeEvent change(this, text);
  QAccessible::updateAccessibility(&change);
  QAccessibleEvent described(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&described);
}

}  // namespace kvscope
