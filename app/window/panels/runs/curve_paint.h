// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <QColor>
#include <QPainter>
#include <QString>

#include "app/window/panels/runs/sweep_scale.h"
#include "viz/draw/theme.h"

namespace kvscope {

struct Snapshot;

// What charts of curves over budgets have in common.

/// How a curve looks: as the run on screen with its policy does in the comparison, or, where there is none, as a run would that came later.
struct CurveLook {
  int lane = 1;
  bool on_screen = false;
  /// Ten can be told apart by colour: what comes behind them is grey until one points at it.
  QColor colour(const viz::Theme& theme, bool pointed) const;
  int marker() const;  // and dash
};
std::vector<CurveLook> looksOf(const std::vector<std::string>& policies, const Snapshot& snapshot);

/// Lines across the plot at `ticks` with their numbers at the left, and the line at its foot.
void paintValueAxis(QPainter& painter, const QRectF& plot, const AxisScale& y, const std::vector<double>& ticks, const viz::Theme& theme,
                    const std::function<QString(double)>& text);
/// Between the lowest (from the right to the left) and the highest (from the left to the right) of a curve.
void paintBand(QPainter& painter, const QPolygonF& top, const QPolygonF& bottom, QColor colour, float opacity);
/// Through the means, dashed as run i is.
void paintCurveLine(QPainter& painter, const QPolygonF& line, int run, const QColor& colour);

struct CurveLabel {
  QString text;
  QColor colour;
  double y = 0;  // where its curve ends
};
/// At the right of the plot, pushed apart from the top, then back from the foot.
void paintCurveLabels(QPainter& painter, const QRectF& plot, std::vector<CurveLabel> labels);

/// Marker of run i, filled or hollow: ● ■ ▲ ◆ ✚ ▼
void paintRunMarker(QPainter& painter, const QPointF& centre, double radius, int run, const QColor& colour, const QColor& hollow);

}  // namespace kvscope
