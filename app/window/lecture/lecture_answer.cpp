// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_answer.h"

#include <algorithm>
#include <numeric>

#include <QMouseEvent>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

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
  // While the text is read nobody has asked yet.
  const StepRecord* step = m_workspace.stepRecord();
  m_unread = step != nullptr && step->position < m_workspace.snapshot().n_prompt - 1;
  if (const LaneSnapshot* lane = m_workspace.lane(); lane != nullptr && !m_unread) m_cells = generatedCells(m_workspace.snapshot(), *lane);
  QStringList full, own;
  for (const GeneratedCell& cell : m_cells) {
    full << cell.reference;
    own << cell.says;
  }
  setToolTip(m_cells.empty() ? QString() : QString("What follows the text, %1 tokens: Left and Right go through them").arg(m_cells.size()));
  if (m_unread)
    setAccessibleDescription("no answer yet: the text is still being read");
  else
    setAccessibleDescription(both() ? QString("full cache: %1; this run: %2").arg(full.join(' '), own.join(' ')) : full.join(' '));
  update();
}

int LectureAnswer::labelWidth() const {
  const QFontMetrics metrics(typeFont(*this, Type::text));
  const QString title = m_workspace.lane() ? qs(m_workspace.lane()->title) : QString();
  return std::max(metrics.horizontalAdvance("full cache"), std::min(metrics.horizontalAdvance(title), px(*this, 120))) + px(*this, 14);
}

int LectureAnswer::chipWidth(const GeneratedCell& cell) const {
  const QFontMetrics metrics(typeFont(*this, Type::text, true, TypeFace::tabular));
  const int text = std::max(metrics.horizontalAdvance(cell.reference), both() ? metrics.horizontalAdvance(cell.says) : 0);
  return std::max(text, px(*this, 6)) + px(*this, 12);
}

/// Of "+12 …", which says at an end of the chips how many go on there.
int LectureAnswer::signWidth() const {
  return QFontMetrics(typeFont(*this, Type::text)).horizontalAdvance(QString("+%1 …").arg(m_cells.size())) + px(*this, 8);
}

LectureAnswer::Shown LectureAnswer::shown() const {
  const std::size_t n = m_cells.size();
  const int room = width() - labelWidth(), sign = signWidth();
  std::vector<int> widths;
  for (const GeneratedCell& cell : m_cells) widths.push_back(chipWidth(cell));
  if (n == 0 || std::accumulate(widths.begin(), widths.end(), 0) <= room) return {0, n};
  const auto at =
      std::find_if(m_cells.begin(), m_cells.end(), [step = m_workspace.step()](const GeneratedCell& c) { return c.step == step; });
  const std::size_t now = at == m_cells.end() ? 0 : static_cast<std::size_t>(at - m_cells.begin());
  // What came before the step first, then what follows.
  const auto signs = [&](const Shown& s) { return (s.first > 0 ? sign : 0) + (s.end < n ? sign : 0); };
  Shown out{now, now + 1};
  int used = widths[now];
  while (out.first > 0 && used + widths[out.first - 1] + signs({out.first - 1, out.end}) <= room) used += widths[--out.first];
  while (out.end < n && used + widths[out.end] + signs({out.first, out.end + 1}) <= room) used += widths[out.end++];
  return out;
}

std::vector<QRect> LectureAnswer::columns() const {
  std::vector<QRect> out(m_cells.size());
  const Shown those = shown();
  int x = labelWidth() + (those.first > 0 ? signWidth() : 0);
  for (std::size_t i = those.first; i < those.end; ++i) {
    const int w = chipWidth(m_cells[i]);
    out[i] = QRect(x, 0, w - px(*this, 4), height());
    x += w;
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
  if (m_cells.empty() && !m_unread) return;
  const QColor changed = toColor(theme.changed), text = toColor(theme.text);
  const double radius = px(*this, 3);
  const int chip = px(*this, kChip), row = px(*this, kRow), label = labelWidth() - px(*this, 12);
  painter.setFont(typeFont(*this, Type::text));
  painter.setPen(toColor(theme.secondary));
  paintLine(painter, QRect(0, 0, label, chip), Qt::AlignLeft, "full cache");
  if (both() && m_workspace.lane()) paintLine(painter, QRect(0, row, label, chip), Qt::AlignLeft, qs(m_workspace.lane()->title));
  if (m_unread) {
    const QRect room(labelWidth(), 0, width() - labelWidth(), (both() ? row : 0) + chip);
    return paintLine(painter, room, Qt::AlignLeft,
                     fitting(painter.fontMetrics(), room.width(), {"no answer yet: the text is being read", "no answer yet"}));
  }
  const Shown those = shown();
  const QRect middle(0, 0, width(), (both() ? row : 0) + chip);
  if (those.first > 0) paintLine(painter, middle.adjusted(labelWidth(), 0, 0, 0), Qt::AlignLeft, QString("+%1 …").arg(those.first));
  if (those.end < m_cells.size()) paintLine(painter, middle, Qt::AlignRight, QString("… +%1").arg(m_cells.size() - those.end));
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
