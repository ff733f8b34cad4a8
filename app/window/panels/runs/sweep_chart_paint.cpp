// SPDX-License-Identifier: Apache-2.0
// What the curves look like.
#include <algorithm>
#include <cmath>

#include <QPainterPath>

#include "app/window/panels/runs/curve_paint.h"
#include "app/window/panels/runs/sweep_chart.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

QString tickText(double v, bool percent) {
  if (v == 0) return "0";
  QString text = v >= 1000 ? qs(viz::format_count(std::lround(v))) : QString::number(v, 'g', 3);
  return percent ? text + " %" : text;
}

QString valueTick(SweepMetric metric, double v) {
  if (v == 0) return "0";
  switch (metric) {
    case SweepMetric::top1:
      return QString("%1 %").arg(std::lround(100 * v));
    case SweepMetric::bytes:
      return qs(viz::format_bytes(v));
    case SweepMetric::ms:
      return qs(viz::format_ms(v));
    default:
      return v < 1e-3 && v >= 1e-7 ? QString::number(v, 'f', static_cast<int>(std::ceil(-std::log10(v)))) : QString::number(v, 'g', 3);
  }
}

}  // namespace

QColor SweepChart::colourOf(const Layout& shown, std::size_t series) const {
  const SweepSeries& one = shown.series[series];
  const bool current = std::ranges::any_of(one.marks, [this](const SweepMark& mark) {
    return std::ranges::find(mark.points, m_current, &SweepPoint::spec) != mark.points.end();
  });
  return shown.looks[series].colour(*m_theme, one.policy == m_hovered || current);
}

QImage SweepChart::picture(const QSize& size, double scale, const viz::Theme& theme) const {
  QImage image(size * scale, QImage::Format_RGB32);
  image.setDevicePixelRatio(scale);
  QPainter painter(&image);
  m_theme = &theme;
  paintOn(painter, QRect(QPoint(0, 0), size));
  m_theme = &m_workspace.theme();
  return image;
}

void SweepChart::paintOn(QPainter& painter, const QRect& area) const {
  const viz::Theme& theme = *m_theme;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(area, toColor(theme.panel));
  const Layout shown = layout(area);
  if (shown.series.empty()) {
    painter.setFont(uiFont(13));
    painter.setPen(toColor(theme.secondary));
    painter.drawText(area.adjusted(40, 0, -40, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     "Choose policies and budgets on the left: each policy becomes a curve of its quality over its budget.");
    return;
  }
  paintAxes(painter, shown);
  paintSweepBreaks(painter, shown.plot, theme, shown.breaks);
  if (!shown.breaks.empty()) {
    painter.setFont(uiFont(11));
    painter.setPen(toColor(theme.secondary));
    const QRectF room(shown.plot.left() + 160, shown.plot.top() - 34, area.right() - 12 - shown.plot.left() - 160, 18);
    const QStringList words = sweepFlagWords();
    painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter,
                     fitting(painter.fontMetrics(), static_cast<int>(room.width()), {words[0], words[1], words[2]}));
  }
  painter.setFont(uiFont(12));
  const bool pointed = !m_hovered.empty();
  for (std::size_t s = 0; s < shown.series.size(); ++s)
    if (!pointed || shown.series[s].policy != m_hovered) paintCurve(painter, shown, s, pointed);
  for (std::size_t s = 0; s < shown.series.size(); ++s)
    if (pointed && shown.series[s].policy == m_hovered) paintCurve(painter, shown, s, false);
  paintLabels(painter, shown);
  if (shown.measured()) return;
  const QString nothing = m_data.nMeasured() > 0
                              ? "No step follows the text, so that there is nothing to take a mean of: generate tokens, and measure then."
                              : "Nothing is measured yet: the button on the left runs what is chosen, each marker one run.";
  constexpr int kHow = Qt::AlignCenter | Qt::TextWordWrap;
  painter.setFont(uiFont(13));
  painter.fillRect(painter.boundingRect(shown.plot, kHow, nothing).adjusted(-8, -4, 8, 4),
                   toColor(theme.panel));  // the line of the budget ends there
  painter.setPen(toColor(theme.secondary));
  painter.drawText(shown.plot, kHow, nothing);
}

void SweepChart::paintAxes(QPainter& painter, const Layout& shown) const {
  const viz::Theme& theme = *m_theme;
  const QRectF& plot = shown.plot;
  const QColor secondary = toColor(theme.secondary);
  QFont caption = uiFont(11);
  painter.setFont(caption);
  QString unit = unitOf(m_metric);
  if (shown.y.logarithmic()) unit += ", log scale";
  painter.setPen(toColor(theme.text));
  const QFont bold = uiFont(12, true);
  painter.setFont(bold);
  const QString name = nameOf(m_metric);
  painter.drawText(QPointF(plot.left() - 52, plot.top() - 18), name);
  painter.setFont(caption);
  painter.setPen(secondary);
  painter.drawText(QPointF(plot.left() - 52 + QFontMetricsF(bold).horizontalAdvance(name) + 8, plot.top() - 18), unit);
  paintValueAxis(painter, plot, shown.y, shown.measured() ? shown.y.ticks(7) : std::vector<double>(), theme,
                 [this](double v) { return valueTick(m_metric, v); });
  if (m_budget == Budget::held || m_budget == Budget::bytes)
    paintMeasured(painter, shown);
  else
    paintBudgets(painter, shown);
  painter.setPen(secondary);
  painter.setFont(caption);
  double below = plot.bottom() + 6;
  for (const QString& words : budgetWords()) {
    painter.drawText(QRectF(plot.right() + 14, below, 150, 16), Qt::AlignLeft | Qt::AlignVCenter, words);
    below += 15;
  }
}

/// What came out is any numbers: the axis has round ones.
void SweepChart::paintMeasured(QPainter& painter, const Layout& shown) const {
  const viz::Theme& theme = *m_theme;
  const QRectF& plot = shown.plot;
  const bool bytes = m_budget == Budget::bytes;
  painter.setFont(uiFont(11));
  for (const double v : shown.x.ticks(8)) {
    const double x = plot.left() + shown.x.at(v) * plot.width();
    if (x > plot.right() + 1) continue;
    painter.setPen(QPen(toColor(theme.disabled), 1));
    painter.drawLine(QPointF(x, plot.bottom() + 1), QPointF(x, plot.bottom() + 5));
    painter.setPen(toColor(theme.text));
    painter.drawText(QRectF(x - 40, plot.bottom() + 6, 80, 16), Qt::AlignCenter,
                     bytes ? qs(viz::format_bytes(1024 * v)) : tickText(v, false));
  }
}

void SweepChart::paintBudgets(QPainter& painter, const Layout& shown) const {
  const viz::Theme& theme = *m_theme;
  const QRectF& plot = shown.plot;
  const bool percent = m_budget == Budget::share;
  const QFont caption = uiFont(11);
  // A label per budget, as far as there is room.
  std::vector<int> budgets;
  for (const SweepSeries& s : shown.series)
    for (const SweepMark& m : s.marks) budgets.push_back(m.slots);
  std::ranges::sort(budgets);
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  const LaneSnapshot* lane = m_workspace.lane();
  const int selected = lane ? lane->slots_asked : -1;
  double free_from = -1e9;
  for (const int slots : budgets) {
    SweepMark mark{slots, {}};
    const double x = plot.left() + shown.x.at(SweepChart::x(mark)) * plot.width();
    painter.setPen(QPen(toColor(theme.disabled), 1));
    painter.drawLine(QPointF(x, plot.bottom() + 1), QPointF(x, plot.bottom() + 5));
    const double n = m_data.nPrompt();
    const QString share = n > 0 ? tickText(std::round(1000.0 * slots / n) / 10, true) : QString();
    const QString main = percent ? share : tickText(slots, false), second = percent ? tickText(slots, false) : share;
    const double half = std::max(QFontMetricsF(caption).horizontalAdvance(main), QFontMetricsF(caption).horizontalAdvance(second)) / 2;
    if (x - half < free_from) continue;
    free_from = x + half + 8;
    const bool accent = slots == selected;
    painter.setFont(accent ? uiFont(11, true) : caption);
    painter.setPen(accent ? toColor(theme.accent) : toColor(theme.text));
    painter.drawText(QRectF(x - 40, plot.bottom() + 6, 80, 16), Qt::AlignCenter, main);
    painter.setFont(caption);
    painter.setPen(toColor(theme.disabled));
    painter.drawText(QRectF(x - 40, plot.bottom() + 21, 80, 16), Qt::AlignCenter, second);
  }
  if (selected > 0 && !budgets.empty() && selected >= budgets.front() && selected <= budgets.back()) {
    const double x = std::round(plot.left() + shown.x.at(SweepChart::x(SweepMark{selected, {}})) * plot.width()) + 0.5;
    QPen pen(toColor(theme.accent), 1);
    pen.setDashPattern({3, 3});
    painter.setPen(pen);
    painter.drawLine(QPointF(x, plot.top() - 8), QPointF(x, plot.bottom()));
    const QString words = QString("run %1, %2").arg(qs(viz::lane_letter(m_workspace.selection().lane)), counted(selected, "slot", "slots"));
    const double w = QFontMetricsF(caption).horizontalAdvance(words);
    painter.setFont(caption);
    painter.drawText(QPointF(x + 5 + w <= plot.right() ? x + 5 : x - 5 - w, plot.top() + 10), words);
  }
}

void SweepChart::paintCurve(QPainter& painter, const Layout& shown, std::size_t series, bool faint) const {
  const viz::Theme& theme = *m_theme;
  QColor colour = colourOf(shown, series);
  if (faint) colour = mix(colour, toColor(theme.panel), 0.55);
  const std::vector<Place>& row = shown.places[series];
  QPolygonF line, band_top, band_bottom;
  bool apart = false;
  for (const Place& p : row) {
    if (!p.measured) continue;
    line << p.at;
    const auto y = [&](double v) { return shown.plot.bottom() - shown.y.at(v) * shown.plot.height(); };
    band_top << QPointF(p.at.x(), y(p.mark->most(m_metric)));
    band_bottom.prepend(QPointF(p.at.x(), y(p.mark->least(m_metric))));
    apart = apart || p.mark->most(m_metric) > p.mark->least(m_metric);
  }
  const int run = shown.looks[series].marker();
  if (apart) paintBand(painter, band_top, band_bottom, colour, 0.18f);
  paintCurveLine(painter, line, run, colour);
  for (const Place& p : row) {
    const bool refused = !p.measured && !p.mark->points.front()->failure.isEmpty();
    if (refused) continue;  // a place that it can never have
    const bool current = std::ranges::any_of(p.mark->points, [this](const SweepPoint* q) { return q->spec == m_current; });
    if (current && hasFocus()) {
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(toColor(theme.accent), 1.5));
      painter.drawEllipse(p.at, 10, 10);
    }
    paintRunMarker(painter, p.at, 4.5, run, colour, p.measured ? QColor() : toColor(theme.panel));
  }
}

void SweepChart::paintLabels(QPainter& painter, const Layout& shown) const {
  std::vector<CurveLabel> labels;
  for (std::size_t s = 0; s < shown.series.size(); ++s) {
    const auto& row = shown.places[s];
    if (row.empty()) continue;
    const auto last = std::find_if(row.rbegin(), row.rend(), [](const Place& p) { return p.measured; });
    const QString title = QFontMetricsF(uiFont(12, true)).elidedText(qs(shown.series[s].title), Qt::ElideRight, kLongestName);
    labels.push_back({title, colourOf(shown, s), (last != row.rend() ? *last : row.back()).at.y()});
  }
  paintCurveLabels(painter, shown.plot, std::move(labels));
}

}  // namespace kvscope
