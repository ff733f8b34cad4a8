// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/sweep_breaks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <QPainter>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/run_look.h"

namespace kvscope {

namespace {

constexpr double kBeside = 4;   // pixels beside a mark that are taken for it
constexpr double kFlag = 8;     // wide
constexpr double kBetween = 3;  // letters

QString nameOf(const Workspace& workspace, std::size_t lane) {
  return qs(viz::lane_letter(static_cast<int>(lane))) + " · " + qs(workspace.snapshot().lanes[lane].title);
}

template <class Take>
void forEach(const Workspace& workspace, const Take& take) {
  for (std::size_t i = 1; i < workspace.snapshot().lanes.size(); ++i) {
    const BreakPoint point = workspace.breakPoint(static_cast<int>(i));
    if (point.state != BreakPoint::State::unknown) take(i, point);
  }
}

}  // namespace

/// What all steps need stands beside what this one does.
static QString wordsOf(const BreakPoint& point) { return point.words + (point.all.isEmpty() ? QString() : ", " + point.all); }

std::vector<SweepBreak> sweepBreaks(const Workspace& workspace) {
  std::vector<SweepBreak> out;
  forEach(workspace, [&](std::size_t lane, const BreakPoint& point) {
    if (point.marked())
      out.push_back({static_cast<int>(lane), point.slots, point.held, 0, nameOf(workspace, lane) + " " + wordsOf(point), point.how});
  });
  return out;
}

QStringList sweepFlagWords() {
  return {"flags: a run was found to say this step's token there; with more slots it need not", "flags: found to say this step's token",
          "flags: this step is right"};
}

QStringList sweepBreakWords(const Workspace& workspace) {
  QStringList out;
  forEach(workspace, [&](std::size_t lane, const BreakPoint& point) {
    out << nameOf(workspace, lane) + (point.marked() ? " " : ": ") + wordsOf(point);
  });
  return out;
}

std::vector<double> sweepBreakLetters(const std::vector<SweepBreak>& breaks, const std::function<double(int lane)>& width) {
  std::vector<std::size_t> order(breaks.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return breaks[i].x; });
  std::vector<double> out(breaks.size());
  for (std::size_t first = 0; first < order.size();) {
    double room = 0;  // of the letters that stand together
    std::size_t end = first;
    do room += width(breaks[order[end++]].lane) + kBetween;
    while (end < order.size() && breaks[order[end]].x < breaks[order[end - 1]].x + kFlag + 2 + room);
    double x = breaks[order[end - 1]].x + kFlag + 2;
    for (; first < end; ++first) {
      out[order[first]] = x;
      x += width(breaks[order[first]].lane) + kBetween;
    }
  }
  return out;
}

void paintSweepBreaks(QPainter& painter, const QRectF& plot, const viz::Theme& theme, const std::vector<SweepBreak>& breaks) {
  painter.setFont(uiFont(11, true));
  for (const SweepBreak& one : breaks) {
    const QColor colour = toColor(viz::lane_colour(theme, one.lane));
    QPen pen(colour, 1.5);
    QList<qreal> pattern;
    for (const float d : viz::run_dash(viz::marker_of_lane(one.lane))) pattern << d / 1.5;  // in widths of the pen
    if (!pattern.isEmpty()) pen.setDashPattern(pattern);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.drawLine(QPointF(one.x, plot.top()), QPointF(one.x, plot.bottom()));
    // A flag to the right: that is where what was tried says it.
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.drawPolygon(QPolygonF{QPointF(one.x, plot.top() - 10), QPointF(one.x + kFlag, plot.top() - 5), QPointF(one.x, plot.top())});
  }
  const auto letter = [](int lane) { return qs(viz::lane_letter(lane)); };
  const QFontMetricsF metrics = painter.fontMetrics();
  const std::vector<double> letters = sweepBreakLetters(breaks, [&](int lane) { return metrics.horizontalAdvance(letter(lane)); });
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    painter.setPen(toColor(viz::lane_colour(theme, breaks[i].lane)));
    painter.drawText(QPointF(letters[i], plot.top() - 1), letter(breaks[i].lane));
  }
}

const SweepBreak* sweepBreakAt(const QPointF& at, const QRectF& plot, const std::vector<SweepBreak>& breaks) {
  if (at.y() < plot.top() - 10 || at.y() > plot.bottom()) return nullptr;
  const SweepBreak* best = nullptr;
  for (const SweepBreak& one : breaks)
    if (std::abs(one.x - at.x()) <= kBeside && (best == nullptr || std::abs(one.x - at.x()) < std::abs(best->x - at.x()))) best = &one;
  return best;
}

}  // namespace kvscope
