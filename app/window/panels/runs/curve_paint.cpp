// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/curve_paint.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/window/session/run_estimate.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/snapshot.h"
#include "viz/draw/draw.h"
#include "viz/reduce/run_look.h"

namespace kvscope {

QColor CurveLook::colour(const viz::Theme& theme, bool pointed) const {
  const bool told_apart = lane <= 2 * viz::kRunsBeside || on_screen || pointed;
  return toColor(told_apart ? viz::lane_colour(theme, lane) : theme.disabled);
}

int CurveLook::marker() const { return viz::marker_of_lane(lane); }

std::vector<CurveLook> looksOf(const std::vector<std::string>& policies, const Snapshot& snapshot) {
  std::vector<CurveLook> out(policies.size());
  std::set<int> taken;
  for (std::size_t i = 1; i < snapshot.lanes.size(); ++i) {
    const std::string method = methodOf(snapshot.lanes[i].spec);
    for (std::size_t c = 0; c < policies.size(); ++c) {
      if (out[c].on_screen || policies[c] != method) continue;
      out[c] = {static_cast<int>(i), true};
      taken.insert(static_cast<int>(i));
      break;
    }
  }
  int next = 1;
  for (CurveLook& look : out) {
    if (look.on_screen) continue;
    while (taken.contains(next)) ++next;
    look.lane = next++;
  }
  return out;
}

void paintValueAxis(QPainter& painter, const QRectF& plot, const AxisScale& y, const std::vector<double>& ticks, const viz::Theme& theme,
                    const std::function<QString(double)>& text) {
  for (const double v : ticks) {
    const double at = std::round(plot.bottom() - y.at(v) * plot.height()) + 0.5;
    if (at < plot.top() - 1) continue;
    painter.setPen(QPen(toColor(theme.line), 1, v == 0 ? Qt::SolidLine : Qt::DotLine));
    painter.drawLine(QPointF(plot.left(), at), QPointF(plot.right(), at));
    painter.setPen(toColor(theme.secondary));
    painter.drawText(QRectF(plot.left() - 66, at - 9, 58, 18), Qt::AlignRight | Qt::AlignVCenter, v == 0 ? QString("0") : text(v));
  }
  painter.setPen(QPen(toColor(theme.disabled), 1));
  painter.drawLine(QPointF(plot.left(), plot.bottom() + 0.5), QPointF(plot.right(), plot.bottom() + 0.5));
}

void paintBand(QPainter& painter, const QPolygonF& top, const QPolygonF& bottom, QColor colour, float opacity) {
  colour.setAlphaF(opacity);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  painter.drawPolygon(QPolygonF(top + bottom));
}

void paintCurveLine(QPainter& painter, const QPolygonF& line, int run, const QColor& colour) {
  QPen pen(colour, 2);
  QList<qreal> pattern;
  for (const float d : viz::run_dash(run)) pattern << d / 2.0;  // in widths of the pen
  if (!pattern.isEmpty()) pen.setDashPattern(pattern);
  pen.setCapStyle(Qt::FlatCap);
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(line);
}

void paintCurveLabels(QPainter& painter, const QRectF& plot, std::vector<CurveLabel> labels) {
  std::ranges::stable_sort(labels, {}, &CurveLabel::y);
  const double step = 16, foot = plot.bottom() - 4;
  for (std::size_t i = 1; i < labels.size(); ++i) labels[i].y = std::max(labels[i].y, labels[i - 1].y + step);
  for (std::size_t i = labels.size(); i-- > 0;) labels[i].y = std::min(labels[i].y, i + 1 < labels.size() ? labels[i + 1].y - step : foot);
  painter.setFont(uiFont(12, true));
  for (const CurveLabel& label : labels) {
    painter.setPen(label.colour);
    painter.drawText(QRectF(plot.right() + 16, label.y - 9, 170, 18), Qt::AlignLeft | Qt::AlignVCenter, label.text);
  }
}

void paintRunMarker(QPainter& painter, const QPointF& c, double r, int run, const QColor& colour, const QColor& hollow) {
  painter.setPen(QPen(colour, 1.5, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
  painter.setBrush(hollow.isValid() ? hollow : colour);
  switch (run % 6) {
    case 0:
      painter.drawEllipse(c, r, r);
      break;
    case 1:
      painter.drawRect(QRectF(c.x() - 0.9 * r, c.y() - 0.9 * r, 1.8 * r, 1.8 * r));
      break;
    case 2:
      painter.drawPolygon(QPolygonF{c + QPointF(0, -1.1 * r), c + QPointF(1.1 * r, 0.9 * r), c + QPointF(-1.1 * r, 0.9 * r)});
      break;
    case 3:
      painter.drawPolygon(
          QPolygonF{c + QPointF(0, -1.25 * r), c + QPointF(1.25 * r, 0), c + QPointF(0, 1.25 * r), c + QPointF(-1.25 * r, 0)});
      break;
    case 4: {
      const double a = 1.15 * r, b = 0.4 * r;
      painter.drawPolygon(QPolygonF{c + QPointF(-b, -a), c + QPointF(b, -a), c + QPointF(b, -b), c + QPointF(a, -b), c + QPointF(a, b),
                                    c + QPointF(b, b), c + QPointF(b, a), c + QPointF(-b, a), c + QPointF(-b, b), c + QPointF(-a, b),
                                    c + QPointF(-a, -b), c + QPointF(-b, -b)});
      break;
    }
    default:
      painter.drawPolygon(QPolygonF{c + QPointF(0, 1.1 * r), c + QPointF(1.1 * r, -0.9 * r), c + QPointF(-1.1 * r, -0.9 * r)});
      break;
  }
}

}  // namespace kvscope
