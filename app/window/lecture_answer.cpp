// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture_answer.h"

#include <algorithm>

#include <QMouseEvent>

#include "app/window/panel_paint.h"
#include "app/window/workspace.h"

namespace kvscope {

namespace {
constexpr double kRow = 21.5, kChip = 19.5;  // px at 100 %
}

LectureAnswer::LectureAnswer(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("what follows the text");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::themeChanged, &Workspace::staleChanged})
    connect(&workspace, signal, this, [this] { refresh(); });
  refresh();
}

bool LectureAnswer::both() const { return m_workspace.selection().lane > 0; }

QSize LectureAnswer::sizeHint() const { return {px(*this, 300), px(*this, kRow * 2)}; }

void LectureAnswer::refresh() {
  m_cells.clear();
  if (const LaneSnapshot* lane = m_workspace.lane()) m_cells = generatedCells(m_workspace.snapshot(), *lane);
  QStringList full, own;
  for (const GeneratedCell& cell : m_cells) {
    full << cell.reference;
    own << cell.says;
  }
  setAccessibleDescription(both() ? QString("full cache: %1; this run: %2").arg(full.join(' '), own.join(' ')) : full.join(' '));
  update();
}

int LectureAnswer::labelWidth() const {
  const QFontMetrics metrics(typeFont(*this, Type::body));
  const QString title = m_workspace.lane() ? qs(m_workspace.lane()->title) : QString();
  return std::max(metrics.horizontalAdvance("full cache"), std::min(metrics.horizontalAdvance(title), px(*this, 120))) + px(*this, 14);
}

/// So that the step shown is among them.
int LectureAnswer::firstShown() const {
  const int step = m_workspace.step();
  const auto at = std::find_if(m_cells.begin(), m_cells.end(), [step](const GeneratedCell& c) { return c.step == step; });
  if (at == m_cells.end()) return 0;
  const QFontMetrics metrics(typeFont(*this, Type::text, true, TypeFace::tabular));
  int room = width() - labelWidth(), first = static_cast<int>(at - m_cells.begin());
  const int shown = first;
  for (int i = shown; i >= 0; --i) {
    const GeneratedCell& c = m_cells[static_cast<std::size_t>(i)];
    room -= std::max(metrics.horizontalAdvance(c.reference), metrics.horizontalAdvance(c.says)) + px(*this, 12);
    if (room < 0) break;
    first = i;
  }
  return first;
}

std::vector<QRect> LectureAnswer::columns() const {
  std::vector<QRect> out(m_cells.size());
  const QFontMetrics metrics(typeFont(*this, Type::text, true, TypeFace::tabular));
  int x = labelWidth();
  for (std::size_t i = static_cast<std::size_t>(firstShown()); i < m_cells.size(); ++i) {
    const GeneratedCell& c = m_cells[i];
    const int w = std::max({metrics.horizontalAdvance(c.reference), both() ? metrics.horizontalAdvance(c.says) : 0, px(*this, 6)}) + px(*this, 8);
    if (x + w > width()) break;
    out[i] = QRect(x, 0, w, height());
    x += w + px(*this, 4);
  }
  return out;
}

QRect LectureAnswer::rectOf(int cell) const {
  const std::vector<QRect> all = columns();
  if (cell < 0 || cell >= static_cast<int>(all.size()) || all[static_cast<std::size_t>(cell)].isEmpty()) return {};
  const QRect& column = all[static_cast<std::size_t>(cell)];
  return {column.left(), both() ? px(*this, kRow) : 0, column.width(), px(*this, kChip)};
}

void LectureAnswer::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const viz::Theme& theme = m_workspace.theme();
  if (m_workspace.stale()) painter.setOpacity(0.8);
  if (m_cells.empty()) return;
  const QColor changed = toColor(theme.changed), text = toColor(theme.text);
  const double radius = px(*this, 3);
  const int chip = px(*this, kChip), row = px(*this, kRow), label = labelWidth() - px(*this, 12);
  painter.setFont(typeFont(*this, Type::body));
  painter.setPen(toColor(theme.secondary));
  paintLine(painter, QRect(0, 0, label, chip), Qt::AlignLeft, "full cache");
  if (both() && m_workspace.lane()) paintLine(painter, QRect(0, row, label, chip), Qt::AlignLeft, qs(m_workspace.lane()->title));
  const std::vector<QRect> all = columns();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].isEmpty()) continue;
    const GeneratedCell& cell = m_cells[i];
    const bool now = cell.step == m_workspace.step();
    for (int line = 0; line < (both() ? 2 : 1); ++line) {
      const QRectF box(all[i].left(), line * row, all[i].width(), chip);
      const bool differs = line == 1 && !cell.same;
      painter.setFont(typeFont(*this, Type::text, now || differs, TypeFace::tabular));
      if (differs) {
        QPen pen(changed, px(*this, 1));
        painter.setPen(pen);
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), radius, radius);
      }
      painter.setPen(differs ? changed : text);
      paintLine(painter, box.toRect(), Qt::AlignHCenter, line == 0 ? cell.reference : cell.says);
    }
    if (now) {
      painter.setPen(QPen(toColor(theme.accent), px(*this, 1.5)));
      painter.setBrush(Qt::NoBrush);
      painter.drawRoundedRect(QRectF(all[i].left() - 1, 1, all[i].width() + 2, (both() ? row : 0) + chip - 1), radius, radius);
    }
  }
}

void LectureAnswer::mousePressEvent(QMouseEvent* event) {
  const std::vector<QRect> all = columns();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].contains(event->position().toPoint())) continue;
    viz::Selection selection = m_workspace.selection();
    const LaneSnapshot* lane = m_workspace.lane();
    if (lane && m_cells[i].step + 1 < static_cast<int>(lane->steps.size()))
      selection.step = m_cells[i].step;
    else
      selection.step.reset();
    m_workspace.setSelection(selection);
  }
}

}  // namespace kvscope
