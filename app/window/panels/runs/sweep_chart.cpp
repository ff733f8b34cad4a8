// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/sweep_chart.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

constexpr double kKiB = 1024;  // bytes stand along an axis in these: its round numbers are theirs
constexpr double kReach = 11;  // pixels around a marker that take a click

}  // namespace

SweepChart::SweepChart(Workspace& workspace, const SweepData& sweep, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_data(sweep), m_theme(&workspace.theme()) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName("Quality and budget");
  for (auto signal : {&Workspace::themeChanged, &Workspace::selectionChanged, &Workspace::snapshotChanged})
    connect(&workspace, signal, this, [this] { update(); });
  connect(&workspace, &Workspace::breakPointsChanged, this, &SweepChart::refresh);
}

void SweepChart::setMetric(SweepMetric metric) {
  m_metric = metric;
  refresh();
}

void SweepChart::setBudget(Budget budget) {
  m_budget = budget;
  refresh();
}

void SweepChart::setLogX(bool on) {
  m_log_x = on;
  refresh();
}

void SweepChart::setLogY(bool on) {
  m_log_y = on;
  refresh();
}

void SweepChart::refresh() {
  const auto& points = m_data.points();
  if (std::ranges::find(points, m_current, &SweepPoint::spec) == points.end())
    m_current = points.empty() ? std::string() : points.front().spec;
  const QStringList words =
      QStringList(
          QString("%1, %2; %3 of %4 runs measured").arg(nameOf(m_metric), unitOf(m_metric)).arg(m_data.nMeasured()).arg(points.size())) +
      sweepBreakWords(m_workspace);
  setAccessibleDescription(words.join("; "));
  update();
}

double SweepChart::bytesOfSlots(double n) const {
  const std::vector<LaneSnapshot>& lanes = m_workspace.snapshot().lanes;
  return lanes.empty() || !(lanes.front().slots > 0) ? kNotAvailable : lanes.front().kv_bytes / lanes.front().slots * n;
}

double SweepChart::x(const SweepMark& mark) const {
  if (m_budget == Budget::bytes) {
    const double bytes = mark.mean(SweepMetric::bytes);
    return (std::isfinite(bytes) ? bytes : bytesOfSlots(mark.slots)) / kKiB;
  }
  if (m_budget == Budget::share && m_data.nPrompt() > 0) return 100.0 * mark.slots / m_data.nPrompt();
  const double held = mark.held();
  return m_budget == Budget::held && std::isfinite(held) ? held : mark.slots;
}

double SweepChart::x(const SweepBreak& at) const {
  if (m_budget == Budget::bytes) return bytesOfSlots(at.held > 0 ? at.held : at.slots) / kKiB;
  if (m_budget == Budget::share && m_data.nPrompt() > 0) return 100.0 * at.slots / m_data.nPrompt();
  return m_budget == Budget::held && at.held > 0 ? at.held : at.slots;
}

QStringList SweepChart::budgetLines(const SweepMark& mark) const {
  const double n = m_data.nPrompt();
  const QString share = qs(viz::format_percent(n > 0 ? mark.slots / n : kNotAvailable));
  QStringList out{mark.of_bytes ? QString("%1 of the bytes asked, those of %2 slots in full precision").arg(share).arg(mark.slots)
                                : QString("%1 slots asked, %2 of %3").arg(mark.slots).arg(share, qs(viz::format_count(m_data.nPrompt())))};
  if (std::isfinite(mark.held())) out << QString("%1 slots held, mean per head at the end").arg(qs(viz::format_mean(mark.held())));
  if (const double bytes = mark.mean(SweepMetric::bytes); m_budget == Budget::bytes && std::isfinite(bytes))
    out << QString("%1 of keys and values at the end").arg(qs(viz::format_bytes(bytes)));
  return out;
}

QStringList SweepChart::budgetWords() const {
  const QString log = m_log_x ? ", log" : "";
  if (m_budget == Budget::bytes) return {"KV bytes" + log, "at the end"};
  if (m_budget == Budget::held) return {"slots held" + log, "mean per head at the end"};
  const auto& points = m_data.points();
  const auto of_bytes = std::ranges::count_if(points, &SweepPoint::of_bytes);
  const bool percent = m_budget == Budget::share;
  if (of_bytes > 0) {
    const bool all = of_bytes == static_cast<std::ptrdiff_t>(points.size());
    const QString of = all ? "of the bytes" : "of tokens, or bytes", slots = all ? "as slots in full" : "slots, or as such";
    return percent ? QStringList{of + log, slots} : QStringList{slots + log, of};
  }
  const QString of = QString("of %1").arg(qs(viz::format_count(m_data.nPrompt())));
  return percent ? QStringList{of + log, "slots asked"} : QStringList{"slots asked" + log, of};
}

SweepChart::Layout SweepChart::layout(const QRect& area) const {
  Layout out;
  out.series = m_data.series();
  std::vector<std::string> policies;
  for (const SweepSeries& s : out.series) policies.push_back(s.policy);
  out.looks = looksOf(policies, m_workspace.snapshot());
  const QFontMetricsF names(uiFont(12, true));
  double widest = 0;
  for (const QString& words : budgetWords()) widest = std::max(widest, QFontMetricsF(uiFont(11)).horizontalAdvance(words));
  for (const SweepSeries& s : out.series) widest = std::max(widest, names.horizontalAdvance(qs(s.title)));
  out.plot = QRectF(area).adjusted(66, 40, -(26 + std::min(widest, kLongestName)), -46);
  std::vector<double> xs, ys;
  for (const SweepSeries& s : out.series) {
    for (const SweepMark& m : s.marks) {
      xs.push_back(x(m));
      for (const double v : {m.mean(m_metric), m.least(m_metric), m.most(m_metric)}) ys.push_back(v);
    }
  }
  if (!out.series.empty()) out.breaks = sweepBreaks(m_workspace);
  for (const SweepBreak& at : out.breaks) xs.push_back(x(at));
  out.x = AxisScale(xs, m_log_x, false);
  for (SweepBreak& at : out.breaks) at.x = out.plot.left() + out.x.at(x(at)) * out.plot.width();
  out.y = AxisScale(ys, m_log_y && spansTwoDecades(out.series, m_metric), true);
  for (std::size_t i = 0; i < out.series.size(); ++i) {
    std::vector<Place> row;
    for (const SweepMark& m : out.series[i].marks) {
      Place p{static_cast<int>(i), &m, {}, m.measured() && std::isfinite(m.mean(m_metric))};
      p.at.setX(out.plot.left() + out.x.at(x(m)) * out.plot.width());
      if (p.measured) p.at.setY(out.plot.bottom() - out.y.at(m.mean(m_metric)) * out.plot.height());
      row.push_back(p);
    }
    // What is not measured lies on the line between its neighbours, or at the foot.
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (row[k].measured) continue;
      std::size_t before = k, after = k;
      while (before > 0 && !row[before].measured) --before;
      while (after + 1 < row.size() && !row[after].measured) ++after;
      if (row[before].measured && row[after].measured)
        row[k].at.setY(row[before].at.y() + (row[after].at.y() - row[before].at.y()) * (row[k].at.x() - row[before].at.x()) /
                                                std::max(1e-9, row[after].at.x() - row[before].at.x()));
      else
        row[k].at.setY(out.plot.bottom());
    }
    out.places.push_back(std::move(row));
  }
  return out;
}

bool SweepChart::Layout::measured() const {
  return std::ranges::any_of(places, [](const std::vector<Place>& row) { return std::ranges::any_of(row, &Place::measured); });
}

QPointF SweepChart::markerOf(const std::string& spec) const {
  const Layout shown = layout(rect());
  for (const auto& row : shown.places)
    for (const Place& p : row)
      for (const SweepPoint* point : p.mark->points)
        if (point->spec == spec) return p.at;
  return {};
}

int SweepChart::under(const QPointF& at, const Layout& shown) const {
  int best = -1, i = 0;
  double nearest = kReach;
  for (const auto& row : shown.places) {
    for (const Place& p : row) {
      const double d = std::hypot(p.at.x() - at.x(), p.at.y() - at.y());
      if (d < nearest) nearest = d, best = i;
      ++i;
    }
  }
  return best;
}

QString SweepChart::describe(const SweepSeries& series, const SweepMark& mark) const {
  QStringList lines = QStringList(qs(series.title)) + budgetLines(mark);
  if (!mark.measured()) {
    const bool refused = !mark.points.front()->failure.isEmpty();
    lines << (refused ? mark.points.front()->failure : QString("not measured yet: this place says nothing"));
    return lines.join('\n');
  }
  const std::size_t n = mark.nSeeds(false), n_measured = mark.nSeeds(true);
  const QString seeds = n_measured < n ? QString("%1 of %2").arg(n_measured).arg(n) : QString::number(n);
  for (int m = 0; m < kSweepMetrics; ++m) {
    const auto metric = static_cast<SweepMetric>(m);
    QString line = QString("%1 %2").arg(nameOf(metric), valueText(metric, mark.mean(metric)));
    if (n > 1)
      line += QString(" (%1 seeds: %2 to %3)").arg(seeds).arg(valueText(metric, mark.least(metric)), valueText(metric, mark.most(metric)));
    lines << line;
  }
  lines << "click or Enter: open this run";
  return lines.join('\n');
}

void SweepChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  m_theme = &m_workspace.theme();
  paintOn(painter, rect());
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(toColor(m_workspace.theme().accent), 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void SweepChart::mouseMoveEvent(QMouseEvent* event) {
  const Layout shown = layout(rect());
  int i = under(event->position(), shown);
  setCursor(i < 0 ? Qt::ArrowCursor : Qt::PointingHandCursor);
  std::string hovered;
  for (const auto& row : shown.places) {
    if (i >= 0 && i < static_cast<int>(row.size()))
      hovered = shown.series[static_cast<std::size_t>(row[static_cast<std::size_t>(i)].series)].policy;
    i -= static_cast<int>(row.size());
  }
  if (hovered == m_hovered) return;
  m_hovered = hovered;
  update();
}

void SweepChart::leaveEvent(QEvent*) {
  m_hovered.clear();
  update();
}

void SweepChart::mouseReleaseEvent(QMouseEvent* event) {
  const Layout shown = layout(rect());
  int i = under(event->position(), shown);
  for (const auto& row : shown.places) {
    if (i >= 0 && i < static_cast<int>(row.size())) {
      m_current = row[static_cast<std::size_t>(i)].mark->points.front()->spec;
      update();
      Q_EMIT opened(qs(m_current));
      return;
    }
    i -= static_cast<int>(row.size());
  }
}

void SweepChart::keyPressEvent(QKeyEvent* event) {
  const Layout shown = layout(rect());
  std::size_t series = 0, mark = 0;
  for (std::size_t s = 0; s < shown.series.size(); ++s)
    for (std::size_t m = 0; m < shown.series[s].marks.size(); ++m)
      for (const SweepPoint* p : shown.series[s].marks[m].points)
        if (p->spec == m_current) series = s, mark = m;
  if (shown.series.empty()) return QWidget::keyPressEvent(event);
  switch (event->key()) {
    case Qt::Key_Left:
      mark = mark == 0 ? 0 : mark - 1;
      break;
    case Qt::Key_Right:
      ++mark;
      break;
    case Qt::Key_Up:
      series = series == 0 ? 0 : series - 1;
      break;
    case Qt::Key_Down:
      series = std::min(series + 1, shown.series.size() - 1);
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      Q_EMIT opened(qs(m_current));
      return;
    default:
      return QWidget::keyPressEvent(event);
  }
  const std::vector<SweepMark>& marks = shown.series[series].marks;
  const SweepMark& to = marks[std::min(mark, marks.size() - 1)];
  m_current = to.points.front()->spec;
  setAccessibleDescription(describe(shown.series[series], to));
  update();
}

bool SweepChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Layout shown = layout(rect());
  int i = under(QPointF(help->pos()), shown);
  for (const auto& row : shown.places) {
    if (i >= 0 && i < static_cast<int>(row.size())) {
      const Place& p = row[static_cast<std::size_t>(i)];
      QToolTip::showText(help->globalPos(), describe(shown.series[static_cast<std::size_t>(p.series)], *p.mark), this);
      return true;
    }
    i -= static_cast<int>(row.size());
  }
  if (const SweepBreak* at = sweepBreakAt(QPointF(help->pos()), shown.plot, shown.breaks))
    QToolTip::showText(help->globalPos(), at->words + '\n' + at->how, this);
  else
    QToolTip::hideText();
  return true;
}

}  // namespace kvscope
