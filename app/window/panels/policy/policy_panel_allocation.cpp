// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/policy_panel_allocation.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>

#include "app/window/session/hand/head_budgets.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "policy/catalog.h"
#include "snapshot/held_bytes.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr double kNarrowest = 5;  // pixels a column; below that a column is a layer

}  // namespace

std::vector<AllocationColumn> allocationColumns(const Workspace& workspace, bool by_layer) {
  std::vector<AllocationColumn> out;
  const StepRecord* step = workspace.stepRecord();
  if (!step) return out;
  std::vector<int> n;
  for (const HeadRecord& head : step->heads) {
    if (!by_layer || out.empty() || out.back().layer != head.layer) {
      out.push_back({head.layer, by_layer ? -1 : head.kv_head, 0, 0, false});
      n.push_back(0);
    }
    AllocationColumn& c = out.back();
    c.budget = head.budget < 0 || c.budget < 0 ? -1 : c.budget + head.budget;
    c.slots += only_figures(head) ? head.n_slots : static_cast<double>(head.pos.size());
    c.overridden = c.overridden || head.overridden;
    ++n.back();
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].budget >= 0) out[i].budget /= n[i];
    out[i].slots /= n[i];
  }
  return out;
}

AllocationCurve::AllocationCurve(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("budget of every head");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::staleChanged, &Workspace::themeChanged})
    connect(&workspace, signal, this, [this] { refresh(); });
  refresh();
}

int AllocationCurve::fullHeight() const { return px(*this, 84); }

QSize AllocationCurve::sizeHint() const { return {px(*this, 320), fullHeight() - m_given}; }

void AllocationCurve::give(int height) {
  if (height == m_given) return;
  m_given = height;
  updateGeometry();
}

void AllocationCurve::refresh() {
  const ModelConfig& model = m_workspace.snapshot().model;
  const int n = model.n_layers * model.n_kv_heads;
  m_by_layer = n > 0 && plot().width() / n < kNarrowest;
  m_columns = allocationColumns(m_workspace, m_by_layer);
  m_cursor = std::clamp(m_cursor, 0, std::max(0, static_cast<int>(m_columns.size()) - 1));
  // The keys go to a head that is selected; a result that comes takes them from no other.
  const int selected = selectedColumn();
  if (selected >= 0 && selected != m_selected) m_cursor = selected;
  m_selected = selected;
  describe();
  update();
}

/// The column that the keys change.
void AllocationCurve::describe() {
  setAccessibleDescription(m_columns.empty() ? QString() : words(m_columns[static_cast<std::size_t>(m_cursor)]));
}

int AllocationCurve::nOverridden() const {
  return static_cast<int>(std::ranges::count_if(m_columns, [](const AllocationColumn& c) { return c.overridden; }));
}

bool AllocationCurve::editable() const {
  const LaneSnapshot* lane = m_workspace.lane();
  return lane && m_workspace.selection().lane > 0 && lane->slots_asked >= 0 && !m_columns.empty();
}

int AllocationCurve::selectedColumn() const {
  const viz::Selection& s = m_workspace.selection();
  for (std::size_t i = 0; i < m_columns.size(); ++i)
    if (s.layer == m_columns[i].layer && (m_columns[i].kv_head < 0 || s.kv_head == m_columns[i].kv_head)) return static_cast<int>(i);
  return -1;
}

QRectF AllocationCurve::plot() const { return QRectF(rect()).adjusted(px(*this, 30), px(*this, 22), -1, -px(*this, 15)); }

QRectF AllocationCurve::resetRect() const {
  if (nOverridden() == 0) return {};
  const double w = QFontMetricsF(typeFont(*this, Type::caption)).horizontalAdvance("reset all") + px(*this, 4);
  return {width() - w, 0, w, static_cast<double>(px(*this, 18))};
}

double AllocationCurve::top() const {
  double most = 1;
  for (const AllocationColumn& c : m_columns) most = std::max({most, c.budget, c.slots});
  if (m_drag) most = std::max(most, static_cast<double>(m_drag->slots));
  return most * 1.12;
}

QRectF AllocationCurve::columnRect(int layer, int kv_head) const {
  const QRectF area = plot();
  const ModelConfig& model = m_workspace.snapshot().model;
  if (m_columns.empty() || model.n_layers == 0) return {};
  // A gap between layers, so that a layer is seen as one.
  const double gap = m_by_layer ? 0 : px(*this, 4);
  const double w = (area.width() - gap * (model.n_layers - 1)) / static_cast<double>(m_columns.size());
  for (std::size_t i = 0; i < m_columns.size(); ++i) {
    const AllocationColumn& c = m_columns[i];
    if (c.layer != layer || (c.kv_head >= 0 && c.kv_head != kv_head)) continue;
    return {area.left() + static_cast<double>(i) * w + gap * c.layer, area.top(), w, area.height()};
  }
  return {};
}

int AllocationCurve::columnAt(const QPointF& at) const {
  for (std::size_t i = 0; i < m_columns.size(); ++i) {
    const QRectF r = columnRect(m_columns[i].layer, m_columns[i].kv_head);
    if (at.x() >= r.left() && at.x() < r.right() && at.y() >= r.top() - 6 && at.y() <= r.bottom() + 12) return static_cast<int>(i);
  }
  return -1;
}

int AllocationCurve::slotsAt(double y) const {
  const QRectF area = plot();
  return std::max(1, static_cast<int>(std::lround((area.bottom() - y) / area.height() * top())));
}

/// A head's own budget gives way to that of its layer, and one that it has from there goes with those of the others.
QString AllocationCurve::withoutOwnBudget(const AllocationColumn& c) const {
  const LaneEdits now = lane_spec_of_result(m_workspace.lane()->spec).edits, then = withBudget(now, c.layer, c.kv_head, std::nullopt);
  const HeadChoice place = headOrLayer(c.layer, c.kv_head);
  const auto covering = [&place](const BudgetOverride& b) { return covers(b, place); };
  if (std::ranges::any_of(then.budgets, covering)) return c.kv_head < 0 ? "as set for more layers" : "as its layer";
  const bool shared = std::ranges::any_of(now.budgets, [&](const BudgetOverride& b) { return covering(b) && b.heads != place; });
  return shared ? "all that were set with it, as the policy allocates them" : "as the policy allocates it";
}

QString AllocationCurve::words(const AllocationColumn& c) const {
  const QString place = c.kv_head < 0 ? QString("layer %1, mean of its heads").arg(c.layer) : qs(viz::head_name(c.layer, c.kv_head));
  const QString budget = c.budget < 0 ? QString("no limit") : QString("budget %1 slots").arg(qs(viz::format_mean(c.budget)));
  QString out =
      QString("%1\n%2%3\n%4 used after this step").arg(place, budget, c.overridden ? ", set by hand" : "", qs(viz::format_mean(c.slots)));
  if (editable())
    out += (c.kv_head < 0 ? QString("\ndrag or ↑ ↓: budget of this layer")
                          : QString("\ndrag or ↑ ↓: budget of this head · Shift and drag: of its layer")) +
           (c.overridden ? "\ndouble click or Delete: " + withoutOwnBudget(c) : QString());
  return out;
}

void AllocationCurve::paintColumn(QPainter& painter, int i, double most) const {
  const viz::Theme& theme = m_workspace.theme();
  const QColor accent = toColor(theme.accent), fill = toColor(theme.category[static_cast<std::size_t>(Category::kept)]);
  const AllocationColumn& c = m_columns[static_cast<std::size_t>(i)];
  const QRectF r = columnRect(c.layer, c.kv_head);
  const bool dragged = m_drag && m_drag->moved &&
                       (m_drag->column == i || (m_drag->layer && m_columns[static_cast<std::size_t>(m_drag->column)].layer == c.layer));
  const double budget = dragged ? m_drag->slots : c.budget;
  const auto bar = [&](double v) {
    const double h = std::clamp(v / most, 0.0, 1.0) * r.height();
    return QRectF(r.left() + 0.5, r.bottom() - h, std::max(1.0, r.width() - 1.5), h);
  };
  // Filled: slots that are used; outlined: what may be used.
  painter.setPen(Qt::NoPen);
  painter.setBrush(mix(toColor(theme.panel), fill, m_workspace.stale() ? 0.55 : 0.75));
  painter.drawRect(bar(budget < 0 ? c.slots : std::min(c.slots, budget)));
  if (c.slots > budget && budget >= 0) {  // grew since it was compressed once
    painter.setBrush(mix(toColor(theme.panel), fill, 0.3));
    painter.drawRect(QRectF(bar(c.slots).left(), bar(c.slots).top(), bar(c.slots).width(), bar(c.slots).height() - bar(budget).height()));
  }
  if (budget >= 0) {
    painter.setPen(QPen(dragged || c.overridden ? accent : toColor(theme.text), dragged || c.overridden ? 2 : 1.4));
    painter.drawLine(bar(budget).topLeft(), bar(budget).topRight());
  }
  if (c.overridden) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(accent);
    painter.drawEllipse(QPointF(r.center().x(), bar(budget).top() - 5), 2.2, 2.2);
  }
  const bool selected = i == selectedColumn(), cursor = hasFocus() && i == m_cursor;
  if (selected || cursor || i == m_hovered) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(selected || cursor ? accent : toColor(theme.disabled), 1));
    painter.drawRect(r.adjusted(-0.5, 0, 0, 0));
  }
}

void AllocationCurve::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const viz::Theme& theme = m_workspace.theme();
  const QColor secondary = toColor(theme.secondary), line = toColor(theme.line), accent = toColor(theme.accent);
  painter.setFont(typeFont(*this, Type::body));
  painter.setPen(secondary);
  const QRectF area = plot();
  const int n_over = nOverridden();
  const LaneSnapshot* const lane = m_workspace.lane();
  QString title = lane != nullptr && lane->slots_asked < 0 && n_over == 0 ? "Slots by " : "Budget by ";
  title += m_by_layer ? "layer" : "head";
  if (n_over > 0) title += QString(" · %1 by hand").arg(n_over);
  painter.drawText(QRectF(0, 0, width(), px(*this, 18)), Qt::AlignLeft | Qt::AlignVCenter, title);
  if (const QRectF reset = resetRect(); !reset.isEmpty()) {
    painter.setFont(typeFont(*this, Type::caption));
    painter.setPen(accent);
    painter.drawText(reset, Qt::AlignRight | Qt::AlignVCenter, "reset all");
  } else if (m_hovered >= 0 && m_hovered < static_cast<int>(m_columns.size())) {
    const AllocationColumn& c = m_columns[static_cast<std::size_t>(m_hovered)];
    const QString value = c.budget < 0 ? QString("no limit") : qs(viz::format_mean(c.budget)) + " slots";
    painter.setPen(toColor(theme.text));
    painter.drawText(QRectF(0, 0, width(), px(*this, 18)), Qt::AlignRight | Qt::AlignVCenter,
                     (c.kv_head < 0 ? QString("L%1").arg(c.layer) : qs(viz::head_name(c.layer, c.kv_head))) + ": " + value);
  }
  if (m_columns.empty()) return;
  const double most = top();
  painter.setFont(typeFont(*this, Type::caption));
  const int n_numbers = std::clamp(static_cast<int>(area.height() / px(*this, 14)), 1, 5);  // that have room above each other
  for (const double v : viz::nice_ticks(0, most, n_numbers)) {
    const double y = std::round(area.bottom() - v / most * area.height()) + 0.5;
    if (y < area.top()) continue;
    painter.setPen(QPen(line, 1, v == 0 ? Qt::SolidLine : Qt::DotLine));
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setPen(secondary);
    painter.drawText(QRectF(0, y - 8, area.left() - 5, 16), Qt::AlignRight | Qt::AlignVCenter, QString::number(v));
  }
  int labelled = -1;
  for (std::size_t i = 0; i < m_columns.size(); ++i) {
    const AllocationColumn& c = m_columns[i];
    const QRectF r = columnRect(c.layer, c.kv_head);
    paintColumn(painter, static_cast<int>(i), most);
    if (c.layer != labelled) {
      labelled = c.layer;
      const int n_kv = m_by_layer ? 1 : std::max(1, m_workspace.snapshot().model.n_kv_heads);
      const double w = r.width() * n_kv;
      const int every = std::max(1, static_cast<int>(std::ceil(24 / std::max(1.0, w))));
      if (c.layer % every == 0) {
        painter.setPen(secondary);
        const QString name = QString("L%1").arg(c.layer);
        const double advance = QFontMetricsF(painter.font()).horizontalAdvance(name);
        const double x = std::clamp(r.left() + (w - advance) / 2, 0.0, width() - advance);  // a name under the last column is whole
        painter.drawText(QRectF(x, area.bottom() + 1, advance + 1, px(*this, 14)), Qt::AlignLeft | Qt::AlignVCenter, name);
      }
    }
  }
  if (hasFocus()) {  // the frame of its column alone looks like that of the selected head
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(accent, 1));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
  }
  if (m_drag && m_drag->moved) {
    const AllocationColumn& c = m_columns[static_cast<std::size_t>(m_drag->column)];
    const QRectF r = columnRect(c.layer, c.kv_head);
    const QString text = QString::number(m_drag->slots);
    const double w = QFontMetricsF(painter.font()).horizontalAdvance(text) + 10, x = std::clamp(r.center().x() - w / 2, 0.0, width() - w);
    const QRectF tag(x, std::max(0.0, r.bottom() - m_drag->slots / most * r.height() - 20), w, 15);
    painter.setPen(Qt::NoPen);
    painter.setBrush(accent);
    painter.drawRoundedRect(tag, 3, 3);
    painter.setPen(toColor(theme.on_accent));
    painter.drawText(tag, Qt::AlignCenter, text);
  }
}

void AllocationCurve::mousePressEvent(QMouseEvent* event) {
  if (resetRect().contains(event->position())) {
    Q_EMIT resetRequested();
    return;
  }
  const int column = columnAt(event->position());
  if (column < 0 || event->button() != Qt::LeftButton) return;
  m_cursor = column;
  m_drag = Drag{column, m_by_layer || (event->modifiers() & Qt::ShiftModifier), false, 0};
}

void AllocationCurve::mouseMoveEvent(QMouseEvent* event) {
  m_hovered = columnAt(event->position());
  setCursor(resetRect().contains(event->position()) ? Qt::PointingHandCursor
            : m_hovered >= 0 && editable()          ? Qt::SizeVerCursor
                                                    : Qt::ArrowCursor);
  if (m_drag && editable()) {
    const int slots = slotsAt(event->position().y());
    m_drag->moved = m_drag->moved || slots != static_cast<int>(std::lround(m_columns[static_cast<std::size_t>(m_drag->column)].budget));
    m_drag->slots = slots;
  }
  update();
}

void AllocationCurve::mouseReleaseEvent(QMouseEvent*) {
  if (!m_drag) return;
  const Drag drag = *m_drag;
  m_drag.reset();
  const AllocationColumn& c = m_columns[static_cast<std::size_t>(drag.column)];
  if (drag.moved)
    Q_EMIT budgetRequested(c.layer, drag.layer ? -1 : c.kv_head, drag.slots);
  else
    Q_EMIT headSelected(c.layer, c.kv_head);
  update();
}

void AllocationCurve::mouseDoubleClickEvent(QMouseEvent* event) {
  const int column = columnAt(event->position());
  if (column < 0 || !m_columns[static_cast<std::size_t>(column)].overridden) return;
  const AllocationColumn c = m_columns[static_cast<std::size_t>(column)];
  Q_EMIT budgetRequested(c.layer, c.kv_head, -1);
}

void AllocationCurve::keyPressEvent(QKeyEvent* event) {
  const int n = static_cast<int>(m_columns.size());
  const int step = event->modifiers() & Qt::ShiftModifier ? 10 : 1;
  if (n == 0) return QWidget::keyPressEvent(event);
  const AllocationColumn c = m_columns[static_cast<std::size_t>(m_cursor)];
  const int now = static_cast<int>(std::lround(c.budget));
  switch (event->key()) {
    case Qt::Key_Left:
      m_cursor = std::max(0, m_cursor - step);
      break;
    case Qt::Key_Right:
      m_cursor = std::min(n - 1, m_cursor + step);
      break;
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (!editable() || c.budget < 0) return;
      Q_EMIT budgetRequested(c.layer, c.kv_head, std::max(1, now + (event->key() == Qt::Key_Up ? step : -step)));
      return;
    case Qt::Key_Delete:
      if (c.overridden) Q_EMIT budgetRequested(c.layer, c.kv_head, -1);
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      Q_EMIT headSelected(c.layer, c.kv_head);
      return;
    default:
      return QWidget::keyPressEvent(event);
  }
  describe();
  update();
}

void AllocationCurve::leaveEvent(QEvent*) {
  m_hovered = -1;
  update();
}

bool AllocationCurve::event(QEvent* event) {
  if (event->type() == QEvent::Resize) refresh();
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int column = columnAt(QPointF(help->pos()));
  if (column < 0)
    QToolTip::hideText();
  else
    QToolTip::showText(help->globalPos(), words(m_columns[static_cast<std::size_t>(column)]), this);
  return true;
}

}  // namespace kvscope
