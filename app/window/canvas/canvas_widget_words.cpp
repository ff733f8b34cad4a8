// SPDX-License-Identifier: Apache-2.0
// A canvas in words: its facts and numbers, what is under the cursor, what its words mean.
#include <algorithm>
#include <iterator>
#include <string_view>

#include <QAccessible>
#include <QRectF>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/help/glossary.h"

namespace kvscope {

/// The legend, column or row of a card under the mouse, else what was chosen to be shown and the main words of the view.
QString CanvasWidget::whatIsAt(const QPoint& at) const {
  constexpr std::string_view kinds[] = {"legend", "column", "slot.row", "cost"};
  const Glossary& glossary = Glossary::builtIn();
  for (const viz::Mark& m : m_view.marks()) {
    const bool of_words = std::ranges::find(kinds, m.kind) != std::end(kinds);
    if (!of_words || !QRectF(QPointF(m.min.x, m.min.y), QPointF(m.max.x, m.max.y)).contains(at)) continue;
    const QString label = QString::fromStdString(m.label);
    QString about = m.kind == "slot.row" ? glossary.about("slot: " + label) : QString();  // the rank of a slot is none of a word
    if (about.isEmpty()) about = glossary.about(label);
    if (!about.isEmpty()) return about;
  }
  const QString all = glossary.aboutView(m_view.id());
  QString chosen;
  for (const viz::Option& option : m_view.options()) {
    if (option.current < 0 || option.current >= static_cast<int>(option.choices.size())) continue;
    const QString about = glossary.about(QString::fromStdString(option.choices[static_cast<std::size_t>(option.current)]));
    if (!all.contains(about)) chosen += about;
  }
  return chosen + all;
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
