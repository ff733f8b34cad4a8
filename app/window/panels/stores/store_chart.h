// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include <QImage>
#include <QWidget>

#include "app/window/panels/runs/curve_paint.h"
#include "app/window/panels/runs/sweep_scale.h"
#include "app/window/panels/stores/store_data.h"
#include "viz/draw/theme.h"

namespace kvscope {

class Workspace;

/// Quality over budget of many texts: a curve per policy through the means, a band from the lowest to the highest item; or where in the
/// context the answers stood that were found, a map per policy. The full cache is a line across.
class StoreChart : public QWidget {
  Q_OBJECT

 public:
  StoreChart(Workspace& workspace, const StoreData& store, QWidget* parent = nullptr);

  void setMeasure(const StoreMeasure& measure);
  const StoreMeasure& measure() const { return *m_measure; }
  /// Rows: fifths of the context; columns: budgets; colour: share answered.
  void setDepths(bool on);
  bool depths() const { return m_depths; }
  void refresh();
  /// A run that is looked at elsewhere; as if the mouse were on its marker.
  void point(int run);
  /// Bands of many curves cover each other: then only that of the curve pointed at is drawn.
  bool showsBand(std::size_t curve) const;
  /// Where the marker of a run is; a null point: nowhere.
  QPointF markerOf(std::size_t run) const;
  /// The middle of a cell of the map; a null point: it has none.
  QPointF cellOf(std::size_t run, std::size_t depth) const;
  /// What is said about a place.
  QString words(const QPointF& at) const;
  QImage picture(const QSize& size, double scale, const viz::Theme& theme) const;
  QSize minimumSizeHint() const override { return {320, 220}; }

 Q_SIGNALS:
  void pointed(int run);  // -1: none

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Place {
    std::size_t curve = 0;
    const StoreMark* mark = nullptr;
    QPointF at;
  };
  struct Layout {
    QRectF plot;
    double right = 0;  // of the area
    AxisScale x{{}, false, false}, y{{}, false, false};
    std::vector<Place> places;     // of what has the measure
    std::vector<CurveLook> looks;  // by curve
  };
  struct Cell {
    std::size_t curve = 0;  // one past the last: the full cache
    const StoreMark* mark = nullptr;
    std::size_t depth = 0;
    QRectF at;
  };
  Layout layout(const QRect& area) const;
  std::vector<Cell> cells(const QRect& area) const;
  const Place* under(const QPointF& at, const Layout& shown) const;
  std::vector<CurveLook> looks() const;
  bool isPointedAt(std::size_t curve) const;
  bool showsAllBands() const;
  QString bandWords(bool on_screen) const;
  QColor colourOf(std::size_t curve, const CurveLook& look) const;
  double y(const Layout& shown, double value) const { return shown.plot.bottom() - shown.y.at(value) * shown.plot.height(); }
  void paintOn(QPainter& painter, const QRect& area, bool on_screen) const;
  void paintAxes(QPainter& painter, const Layout& shown, bool on_screen) const;
  void paintFull(QPainter& painter, const Layout& shown) const;
  void paintCurve(QPainter& painter, const Layout& shown, std::size_t curve) const;
  void paintLabels(QPainter& painter, const Layout& shown) const;
  void paintMap(QPainter& painter, const QRect& area) const;
  void paintCell(QPainter& painter, const Cell& cell) const;

  Workspace& m_workspace;
  const StoreData& m_data;
  const StoreMeasure* m_measure;
  mutable const viz::Theme* m_theme;  // that paintOn() draws in
  bool m_depths = false;
  int m_current = -1;  // run that the mouse or the keyboard points at
};

}  // namespace kvscope
