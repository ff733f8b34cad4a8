// SPDX-License-Identifier: Apache-2.0
// What curves and maps of a store look like.
#include <algorithm>
#include <cmath>

#include <QPainter>

#include "app/window/panels/runs/curve_paint.h"
#include "app/window/panels/stores/store_chart.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"

namespace kvscope {

QImage StoreChart::picture(const QSize& size, double scale, const viz::Theme& theme) const {
  QImage image(size * scale, QImage::Format_RGB32);
  image.setDevicePixelRatio(scale);
  QPainter painter(&image);
  m_theme = &theme;
  paintOn(painter, QRect(QPoint(0, 0), size), /*on_screen=*/false);
  m_theme = &m_workspace.theme();
  return image;
}

void StoreChart::paintOn(QPainter& painter, const QRect& area, bool on_screen) const {
  const viz::Theme& theme = *m_theme;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(area, toColor(theme.panel));
  const auto say = [&](const QString& words) {
    painter.setFont(uiFont(13));
    painter.setPen(toColor(theme.secondary));
    painter.drawText(area.adjusted(40, 0, -40, 0), Qt::AlignCenter | Qt::TextWordWrap, words);
  };
  if (m_depths) {
    if (m_data.depths().empty())
      return say("Where an answer stands is not known: the texts have none, or each stands in several places of its context.");
    return paintMap(painter, area);
  }
  const Layout shown = layout(area);
  paintAxes(painter, shown, on_screen);
  paintFull(painter, shown);
  for (std::size_t c = 0; c < m_data.curves().size(); ++c) paintCurve(painter, shown, c);
  paintLabels(painter, shown);
  if (shown.places.empty())
    say(m_data.nThere() == 0 ? QString("No item is there yet.") : QString("%1: n/a for all items that are there.").arg(m_measure->name));
}

void StoreChart::paintAxes(QPainter& painter, const Layout& shown, bool on_screen) const {
  const viz::Theme& theme = *m_theme;
  const QRectF& plot = shown.plot;
  const QFont caption = uiFont(11), bold = uiFont(12, true);
  const QColor secondary = toColor(theme.secondary);
  painter.setFont(bold);
  painter.setPen(toColor(theme.text));
  painter.drawText(QPointF(plot.left() - 52, plot.top() - 18), m_measure->name);
  painter.setFont(caption);
  painter.setPen(secondary);
  const QString unit = QString("%1%2; mean over %3%4")
                           .arg(m_measure->unit, shown.y.logarithmic() ? ", log scale" : "", m_data.overThere(), bandWords(on_screen));
  const double begin = plot.left() - 52 + QFontMetricsF(bold).horizontalAdvance(m_measure->name) + 8;
  painter.drawText(QRectF(begin, plot.top() - 32, shown.right - 4 - begin, 18), Qt::AlignLeft | Qt::AlignVCenter,
                   QFontMetricsF(caption).elidedText(unit, Qt::ElideRight, shown.right - 4 - begin));
  paintValueAxis(painter, plot, shown.y, shown.places.empty() ? std::vector<double>() : shown.y.ticks(7), theme,
                 [this](double v) { return m_measure->text(v); });
  std::vector<const StoreMark*> budgets;
  for (const StoreCurve& curve : m_data.curves())
    for (const StoreMark& mark : curve.marks) budgets.push_back(&mark);
  std::ranges::stable_sort(budgets, {}, &StoreMark::ratio);
  double free_from = -1e9, last = -1;
  for (const StoreMark* mark : budgets) {
    if (mark->ratio == last) continue;
    last = mark->ratio;
    const double x = plot.left() + shown.x.at(mark->ratio) * plot.width();
    const QString text = StoreData::shareOf(*mark);
    const double half = QFontMetricsF(caption).horizontalAdvance(text) / 2;
    painter.setPen(QPen(toColor(theme.disabled), 1));
    painter.drawLine(QPointF(x, plot.bottom() + 1), QPointF(x, plot.bottom() + 5));
    if (x - half < free_from) continue;
    free_from = x + half + 8;
    painter.setPen(toColor(theme.text));
    painter.drawText(QRectF(x - 40, plot.bottom() + 6, 80, 16), Qt::AlignCenter, text);
  }
  painter.setPen(secondary);
  painter.drawText(QRectF(plot.right() + 14, plot.bottom() + 6, 160, 16), Qt::AlignLeft | Qt::AlignVCenter, "budget, log");
  painter.drawText(QRectF(plot.right() + 14, plot.bottom() + 21, 160, 16), Qt::AlignLeft | Qt::AlignVCenter, m_data.budgetWords());
}

/// The full cache has no budget: a line across.
void StoreChart::paintFull(QPainter& painter, const Layout& shown) const {
  if (!m_data.full()) return;
  const double value = m_data.full()->band.figure(m_measure->figure).mean();
  if (std::isnan(value) || shown.places.empty()) return;
  const double at = std::round(y(shown, value)) + 0.5;
  QPen pen(toColor(m_theme->secondary), 1);
  pen.setDashPattern({6, 4});
  painter.setPen(pen);
  painter.drawLine(QPointF(shown.plot.left(), at), QPointF(shown.plot.right(), at));
  painter.setFont(uiFont(11));
  const bool above = at - 16 > shown.plot.top() - 14;
  painter.drawText(QRectF(shown.plot.left() + 6, above ? at - 17 : at + 2, 260, 16), Qt::AlignLeft | Qt::AlignVCenter,
                   QString("full cache %1").arg(m_measure->text(value)));
}

void StoreChart::paintCurve(QPainter& painter, const Layout& shown, std::size_t curve) const {
  const QColor colour = colourOf(curve, shown.looks[curve]);
  QPolygonF line, top, bottom;
  for (const Place& p : shown.places) {
    if (p.curve != curve) continue;
    const Statistics& s = p.mark->band.figure(m_measure->figure);
    line << p.at;
    top << QPointF(p.at.x(), y(shown, s.max));
    bottom.prepend(QPointF(p.at.x(), y(shown, s.min)));
  }
  if (line.isEmpty()) return;
  const int run = shown.looks[curve].marker();
  if (showsBand(curve)) paintBand(painter, top, bottom, colour, 0.13f);
  paintCurveLine(painter, line, run, colour);
  for (const Place& p : shown.places) {
    if (p.curve != curve) continue;
    if (static_cast<int>(p.mark->run) == m_current) {
      const Statistics& s = p.mark->band.figure(m_measure->figure);
      painter.setPen(QPen(colour, 1.5));
      painter.drawLine(QPointF(p.at.x(), y(shown, s.min)), QPointF(p.at.x(), y(shown, s.max)));
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(toColor(m_theme->accent), 1.5));
      painter.drawEllipse(p.at, 10, 10);
    }
    paintRunMarker(painter, p.at, 4.5, run, colour, QColor());
  }
}

void StoreChart::paintLabels(QPainter& painter, const Layout& shown) const {
  std::vector<CurveLabel> labels;
  for (std::size_t c = 0; c < m_data.curves().size(); ++c) {
    const auto last = std::find_if(shown.places.rbegin(), shown.places.rend(), [c](const Place& p) { return p.curve == c; });
    if (last != shown.places.rend()) labels.push_back({m_data.curves()[c].title, colourOf(c, shown.looks[c]), last->at.y()});
  }
  paintCurveLabels(painter, shown.plot, std::move(labels));
}

void StoreChart::paintMap(QPainter& painter, const QRect& area) const {
  const viz::Theme& theme = *m_theme;
  painter.setFont(uiFont(11));
  painter.setPen(toColor(theme.secondary));
  painter.drawText(QRectF(area).adjusted(14, 4, -14, 0), Qt::AlignLeft | Qt::AlignTop,
                   QString("answers found, by where in the context the answer stands and by budget, in %3 %1; mean over %2")
                       .arg(m_data.budgetWords(), m_data.overThere(), "%"));
  const std::vector<Cell> all = cells(area);
  for (const Cell& cell : all) {
    paintCell(painter, cell);
    const bool first_row = cell.depth == all.front().depth, last_row = cell.depth == all.back().depth;
    const bool full = m_data.full() && cell.mark == &*m_data.full();
    const bool first_column = !full && cell.mark == &m_data.curves()[cell.curve].marks.front();
    painter.setFont(uiFont(11));
    painter.setPen(toColor(theme.secondary));
    if (first_column)
      painter.drawText(QRectF(cell.at.left() - 76, cell.at.top(), 68, cell.at.height()), Qt::AlignRight | Qt::AlignVCenter,
                       QString("%1–%2 %").arg(cell.depth * 100 / kSweepDepths).arg((cell.depth + 1) * 100 / kSweepDepths));
    if (last_row)
      painter.drawText(QRectF(cell.at.left() - 20, cell.at.bottom() + 3, cell.at.width() + 40, 16), Qt::AlignCenter,
                       full ? QString("full") : StoreData::shareOf(*cell.mark));
    if (!first_row || !first_column) continue;
    painter.drawText(QRectF(cell.at.left() - 76, cell.at.top() - 20, 68, 16), Qt::AlignRight | Qt::AlignVCenter, "depth");
    painter.setFont(uiFont(12, true));
    painter.setPen(toColor(theme.text));
    painter.drawText(QRectF(cell.at.left(), cell.at.top() - 20, 240, 16), Qt::AlignLeft | Qt::AlignVCenter,
                     m_data.curves()[cell.curve].title);
  }
}

void StoreChart::paintCell(QPainter& painter, const Cell& cell) const {
  const viz::Theme& theme = *m_theme;
  const Statistics& s = cell.mark->depths[cell.depth];
  if (s.n == 0) {
    painter.setPen(QPen(toColor(theme.line), 1, Qt::DotLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(cell.at);
    painter.setPen(toColor(theme.disabled));
    painter.setFont(uiFont(11));
    painter.drawText(cell.at, Qt::AlignCenter, "n/a");
    return;
  }
  const QColor fill = toColor(viz::ramp(theme.sequential, s.mean()));
  painter.fillRect(cell.at, fill);
  painter.setPen(inkOn(theme, fill));
  painter.setFont(uiFont(12, true));
  const bool two = cell.at.height() >= 34;
  const QString share = StoreMeasure{"", "", "", StoreMeasure::Kind::share}.text(s.mean());
  painter.drawText(two ? cell.at.adjusted(0, 0, 0, -14) : cell.at, Qt::AlignCenter, share);
  if (!two) return;
  painter.setFont(uiFont(11));
  painter.drawText(cell.at.adjusted(0, 16, 0, 0), Qt::AlignCenter, QString("n %1").arg(s.n));
}

}  // namespace kvscope
