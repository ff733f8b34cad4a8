// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/effect/generated_strip.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/generated.h"

namespace kvscope {

namespace {

// px at 100 %
constexpr int kCellWidth = 31;       // with the gap
constexpr int kBox = 20, kBar = 24;  // heights of a token's box and of a bar of p = 1

/// What the rows hold; "fed" is the one that every run goes on from. A run that is fed another's text would say its own, place by place:
/// the row is no text that it wrote.
struct RowNames {
  QString reference, says, p;
};

RowNames rowNames(const Snapshot& snapshot, const QString& run) {
  const bool self = snapshot.follow == "self";
  return {self                        ? "reference"
          : snapshot.follow == "file" ? "text, fed"
                                      : "reference, fed",
          run + (self ? " says, fed" : " would say"), "p, " + run};
}

}  // namespace

GeneratedStrip::GeneratedStrip(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("generated tokens");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::themeChanged, &Workspace::dimmedChanged}) {
    connect(&workspace, signal, this, [this] { refresh(); });
  }
  connect(&workspace, &Workspace::hoverChanged, this, qOverload<>(&QWidget::update));
  refresh();
}

void GeneratedStrip::refresh() {
  const Snapshot& snapshot = m_workspace.snapshot();
  m_cells.clear();
  m_n_differ = 0;
  m_next_differs = false;
  m_lane = m_workspace.selection().lane;
  m_n_generated = std::max(0, static_cast<int>(snapshot.tokens.size()) - snapshot.n_prompt);
  const LaneSnapshot* lane = m_workspace.lane();
  m_lane_title = lane ? qs(lane->title) : QString();
  if (lane) {
    m_cells = generatedCells(snapshot, *lane);
    // The last cell is the choice after the last token, no token yet: it is no part of their count.
    const auto end_of_tokens = m_cells.begin() + std::min(static_cast<int>(m_cells.size()), m_n_generated);
    m_n_differ = static_cast<int>(std::count_if(m_cells.begin(), end_of_tokens, [](const Cell& c) { return !c.same; }));
    m_next_differs = end_of_tokens != m_cells.end() && !m_cells.back().same;
  }
  keepCurrentVisible();
  const QString answers = lane ? qs(viz::answers_text(snapshot, *lane)) : QString();
  setAccessibleDescription(answers.isEmpty() ? heading() : answers + "; " + heading());
  updateGeometry();
  update();
}

int GeneratedStrip::currentCell() const {
  const int step = m_workspace.step();
  const auto it = std::find_if(m_cells.begin(), m_cells.end(), [&](const Cell& c) { return c.step == step; });
  return it == m_cells.end() ? -1 : static_cast<int>(it - m_cells.begin());
}

void GeneratedStrip::keepCurrentVisible() {
  const int n = visibleCells(), last = std::max(0, static_cast<int>(m_cells.size()) - n);
  const int current = currentCell();
  if (current >= 0 && current < n && !m_own_step) m_first = 0;
  if (current >= 0 && current < m_first) m_first = current;
  if (current >= 0 && current >= m_first + n) m_first = current - n + 1;
  m_first = std::clamp(m_first, 0, last);
}

GeneratedStrip::Heading GeneratedStrip::headingParts() const {
  Heading h;
  h.count = m_n_generated == 0 ? QString("nothing yet · next token") : counted(m_n_generated, "token", "tokens");
  const int n = visibleCells(), shown = std::min(n, static_cast<int>(m_cells.size()) - m_first);
  if (shown < static_cast<int>(m_cells.size())) {
    const int first = m_first + 1, last = std::min(m_first + shown, m_n_generated);
    const QString next = m_first + shown > m_n_generated ? " and the next" : "";
    h.shown = m_first == 0    ? QString(", first %1%2 shown").arg(last).arg(next)
              : first <= last ? QString(", %1–%2%3 shown").arg(first).arg(last).arg(next)
                              : QString(", the next shown");
  }
  if (m_n_differ > 0) {
    h.differ = counted(m_n_differ, "top choice differs", "top choices differ");
    h.brief = counted(m_n_differ, "differs", "differ");
    if (m_next_differs) h.next = ", so does the next";
  } else {
    h.differ = m_next_differs ? "only the next top choice differs" : "same top choices";
    h.brief = m_next_differs ? "only the next differs" : h.differ;
  }
  h.goes_on = qs(viz::goes_on_from(m_workspace.snapshot()));
  return h;
}

QString GeneratedStrip::heading() const {
  if (m_cells.empty()) return m_workspace.lane() ? "no step after the prompt yet" : "";
  return headingParts().words();
}

/// How many differ is what is looked for: the other words go first.
QString GeneratedStrip::headingWithin(const QFontMetrics& metrics, int room) const {
  if (m_cells.empty()) return factsThatFit(metrics, room, heading());
  const Heading h = headingParts();
  Heading brief = h;
  brief.differ = h.brief;
  for (const QString& words : {h.words(), brief.words(), h.count + h.shown + " · " + h.brief + h.next, h.count + h.shown + " · " + h.brief,
                               h.count + " · " + h.brief, h.brief})
    if (metrics.horizontalAdvance(words) <= room) return words;
  return factsThatFit(metrics, room, brief.words());
}

// ---- geometry

GeneratedStrip::Rows GeneratedStrip::rows() const {
  const auto u = [this](double v) { return px(*this, v); };
  QFontMetrics metrics(typeFont(*this, Type::body));
  const RowNames names = rowNames(m_workspace.snapshot(), m_lane_title);
  const int label =
      std::max({metrics.horizontalAdvance(names.reference), metrics.horizontalAdvance(names.says), metrics.horizontalAdvance(names.p)});
  Rows r{};
  r.left = std::min(label + u(6), std::max(u(72), width() * 2 / 5));
  r.reference = u(34);
  r.says = u(58);
  r.bar = u(83);
  r.p = u(107);
  r.bottom = u(126);
  const int n = std::max(1, (width() - r.left) / u(kCellWidth));
  r.cell_width = std::max(1, (width() - r.left) / n);
  if (const int cells = static_cast<int>(m_cells.size()); cells > 0 && cells < n) {  // where there is room, words are whole
    int need = r.cell_width;
    for (const Cell& cell : m_cells)
      need = std::max({need, metrics.horizontalAdvance(cell.reference) + u(8), metrics.horizontalAdvance(cell.says) + u(10)});
    r.cell_width = std::min(need, (width() - r.left) / cells);
  }
  return r;
}

int GeneratedStrip::visibleCells() const {
  const Rows r = rows();
  return std::max(1, (width() - r.left) / r.cell_width);
}

QSize GeneratedStrip::sizeHint() const { return {px(*this, 360), px(*this, 132)}; }
QSize GeneratedStrip::minimumSizeHint() const { return {px(*this, 160), px(*this, 132)}; }

QRect GeneratedStrip::rectOf(int cell) const {
  const Rows r = rows();
  if (cell < m_first || cell >= m_first + visibleCells()) return {};
  return {r.left + (cell - m_first) * r.cell_width, r.reference, r.cell_width, r.bottom - r.reference};
}

int GeneratedStrip::cellAt(const QPoint& point) const {
  const Rows r = rows();
  if (point.x() < r.left || point.y() < r.reference) return -1;
  const int cell = m_first + (point.x() - r.left) / r.cell_width;
  return cell < std::min(static_cast<int>(m_cells.size()), m_first + visibleCells()) ? cell : -1;
}

// ---- painting

void GeneratedStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  paintHorizontalLine(painter, m_workspace.theme(), 0, width(), 0);
  paintHeading(painter);
  if (m_cells.empty()) return;
  painter.setOpacity(1 - m_workspace.dim());
  const Rows r = rows();
  paintLabels(painter, r);
  const int current = currentCell(), end = std::min(static_cast<int>(m_cells.size()), m_first + visibleCells());
  for (int i = m_first; i < end; ++i) paintCell(painter, r, i, current);
  paintFrames(painter, current, end);
}

void GeneratedStrip::paintHeading(QPainter& painter) const {
  const viz::Theme& theme = m_workspace.theme();
  painter.setFont(typeFont(*this, Type::body, true));
  painter.setPen(toColor(theme.text));
  const QRect head(0, px(*this, 8), width(), px(*this, 20));
  painter.drawText(head, Qt::AlignVCenter, "Generated");
  const int after = painter.fontMetrics().horizontalAdvance("Generated") + px(*this, 10);
  painter.setFont(typeFont(*this, Type::body));
  painter.setPen(toColor(theme.secondary));
  const QRect facts = head.adjusted(after, 0, 0, 0);
  paintLine(painter, facts, Qt::AlignLeft, headingWithin(painter.fontMetrics(), facts.width()));
}

void GeneratedStrip::paintLabels(QPainter& painter, const Rows& r) const {
  painter.setFont(typeFont(*this, Type::body));
  painter.setPen(toColor(m_workspace.theme().secondary));
  const int room = r.left - px(*this, 4);
  const auto label = [&](int y, int height, std::initializer_list<QString> words) {
    paintLine(painter, QRect(0, y, room, height), Qt::AlignLeft, fitting(painter.fontMetrics(), room, words));
  };
  const RowNames names = rowNames(m_workspace.snapshot(), m_lane_title);
  label(r.reference, px(*this, kBox), {names.reference, names.reference.section(',', 0, 0)});
  label(r.says, px(*this, kBox), {names.says, names.says.section(',', 0, 0), m_lane_title});
  label(r.bar, px(*this, kBar) + px(*this, 4), {names.p, "p"});
}

void GeneratedStrip::paintCell(QPainter& painter, const Rows& r, int i, int current) const {
  const Cell& cell = m_cells[static_cast<std::size_t>(i)];
  const viz::Theme& theme = m_workspace.theme();
  const QColor text = toColor(theme.text), secondary = toColor(theme.secondary), changed = toColor(theme.changed);
  const QFont plain = typeFont(*this, Type::body), bold = typeFont(*this, Type::body, true);
  const QRectF place = QRectF(rectOf(i)).adjusted(1, 0, -1, 0);
  const auto tokenBox = [&](double y, const QString& token, const QColor& fill, const QColor& ink, const QFont& font) {
    const QRectF area(place.left(), y, place.width(), px(*this, kBox));
    if (fill.isValid()) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(fill);
      painter.drawRoundedRect(area, px(*this, 3), px(*this, 3));
    }
    painter.setPen(ink);
    painter.setFont(font);
    painter.drawText(area, Qt::AlignCenter | Qt::TextSingleLine,
                     painter.fontMetrics().elidedText(token, Qt::ElideRight, static_cast<int>(area.width()) - 1));
  };
  tokenBox(r.reference, cell.reference, toColor(theme.raised), current >= 0 && i <= current ? text : toColor(theme.disabled), plain);
  tokenBox(r.says, cell.says, cell.same ? QColor() : changed, cell.same ? secondary : inkOn(theme, changed), cell.same ? plain : bold);
  const int full = px(*this, kBar);
  painter.fillRect(QRectF(place.left(), r.bar, place.width(), full), toColor(theme.raised));
  if (!std::isnan(cell.p)) {
    const QColor kept = toColor(theme.category[static_cast<std::size_t>(Category::kept)]);
    const double height = std::max(1.0, full * std::clamp(cell.p, 0.0, 1.0));
    painter.fillRect(QRectF(place.left(), r.bar + full - height, place.width(), height),
                     mix(kept, toColor(theme.panel), theme.dark ? 0.1 : 0.05));
  }
  painter.setPen(i == current ? text : secondary);
  painter.setFont(plain);
  painter.drawText(QRectF(place.left(), r.p + px(*this, 2), place.width(), px(*this, 16)), Qt::AlignCenter,
                   qs(viz::format_probability_short(cell.p)));
}

void GeneratedStrip::paintFrames(QPainter& painter, int current, int end) const {
  const viz::Theme& theme = m_workspace.theme();
  const int out = px(*this, 3), radius = px(*this, 4);
  painter.setBrush(Qt::NoBrush);
  if (current >= m_first && current < end) {
    painter.setPen(QPen(toColor(theme.accent), 1.5));
    painter.drawRoundedRect(QRectF(rectOf(current)).adjusted(-0.5, -out, 0.5, px(*this, 1)), radius, radius);
  }
  const auto hovered = m_workspace.hover().step;
  for (int i = m_first; hovered && i < end; ++i) {
    if (m_cells[static_cast<std::size_t>(i)].step != *hovered || i == current) continue;
    painter.setPen(QPen(toColor(theme.secondary), 1));
    painter.drawRoundedRect(QRectF(rectOf(i)).adjusted(0, -out, 0, px(*this, 1)), radius, radius);
  }
  if (hasFocus()) {
    painter.setOpacity(1);
    painter.setPen(QPen(toColor(theme.text), 2));
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), radius, radius);
  }
}

// ---- interaction

void GeneratedStrip::goTo(int cell) {
  if (cell < 0 || cell >= static_cast<int>(m_cells.size())) return;
  viz::Selection selection = m_workspace.selection();
  selection.step = m_cells[static_cast<std::size_t>(cell)].step;
  if (cell + 1 == static_cast<int>(m_cells.size())) selection.step.reset();  // the last step follows what comes
  m_own_step = true;
  m_workspace.setSelection(selection);
  m_own_step = false;
}

void GeneratedStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) goTo(cellAt(event->position().toPoint()));
}

void GeneratedStrip::mouseMoveEvent(QMouseEvent* event) {
  const int cell = cellAt(event->position().toPoint());
  viz::Hover hover;
  if (cell >= 0) hover.step = m_cells[static_cast<std::size_t>(cell)].step;
  m_workspace.setHover(hover);
}

void GeneratedStrip::leaveEvent(QEvent* event) {
  if (m_workspace.hover().step) m_workspace.setHover({});
  QWidget::leaveEvent(event);
}

void GeneratedStrip::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  m_wheel += std::abs(delta.x()) > std::abs(delta.y()) ? delta.x() : delta.y();
  const int notches = m_wheel / 120;
  m_wheel -= notches * 120;
  m_first = std::clamp(m_first - notches, 0, std::max(0, static_cast<int>(m_cells.size()) - visibleCells()));
  update();
  event->accept();
}

void GeneratedStrip::keyPressEvent(QKeyEvent* event) {
  const int current = currentCell(), last = static_cast<int>(m_cells.size()) - 1;
  switch (event->key()) {
    case Qt::Key_Left:
      goTo(std::max(0, current - 1));
      break;
    case Qt::Key_Right:
      goTo(std::min(last, current + 1));
      break;
    case Qt::Key_Home:
      goTo(0);
      break;
    case Qt::Key_End:
      goTo(last);
      break;
    default:
      QWidget::keyPressEvent(event);
  }
}

void GeneratedStrip::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  keepCurrentVisible();
}

bool GeneratedStrip::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const int i = cellAt(help->pos());
  const QString words = i >= 0 ? helpOf(m_cells[static_cast<std::size_t>(i)]) : helpOfRow(help->pos());
  if (words.isEmpty())
    QToolTip::hideText();
  else
    QToolTip::showText(help->globalPos(), words.toHtmlEscaped().replace("\n", "<br>"), this);
  return true;
}

QString GeneratedStrip::helpOfRow(const QPoint& at) const {
  const Rows r = rows();
  if (m_cells.empty() || at.x() >= r.left) return {};
  if (at.y() < r.reference) return heading();
  const Snapshot& snapshot = m_workspace.snapshot();
  const bool self = snapshot.follow == "self", given = snapshot.follow == "file";
  if (at.y() < r.says)
    return given  ? QString("the given text: what every run is fed, token by token")
           : self ? QString("the full cache's own text")
                  : QString("the full cache's text: what every run is fed, token by token");
  if (at.y() < r.bar) {
    if (self) return m_lane_title + "'s own text: it is fed what it says";
    return QString(
               "%1's top choice at each place, asked after %2 tokens before it:\nno text that it wrote. Run > Runs follow > "
               "their own text has that.")
        .arg(m_lane_title, given ? "the given" : "the full cache's");
  }
  return QString("%1's probability of the token %2 there").arg(m_lane_title, given ? "fed" : "that the full cache says");
}

QString GeneratedStrip::helpOf(const Cell& cell) const {
  const auto token = [](const QString& text) { return qs(viz::quoted(text.toStdString())); };
  // Its own text is what the reference says; another one it is fed, and a token that was drawn for all need not be its choice.
  const bool self = m_workspace.snapshot().follow == "self", given = m_workspace.snapshot().follow == "file";
  const bool other = given || (!self && cell.choice != cell.reference);
  QStringList lines{QString("step %1").arg(cell.step)};
  if (other) lines << "fed " + token(cell.reference);
  lines << "reference says " + token(other ? cell.choice : cell.reference) << m_lane_title + " says " + token(cell.says);
  lines << QString("p of the %1 token %2").arg(other ? "fed" : "reference's", qs(viz::format_probability(cell.p)));
  lines << qs(viz::goes_on_from(m_workspace.snapshot()));
  return lines.join('\n');
}

}  // namespace kvscope
