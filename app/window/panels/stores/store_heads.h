// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QImage>
#include <QWidget>

#include "app/window/panels/stores/store_data.h"
#include "viz/draw/theme.h"

namespace kvscope {

class Workspace;

/// What became of the answers of many texts, by head: a grid of layers × KV heads per run, each cell filled by how often the answer was
/// kept, merged, evicted.
class StoreHeads : public QWidget {
  Q_OBJECT

 public:
  StoreHeads(Workspace& workspace, const StoreData& store, QWidget* parent = nullptr);

  void setMoment(StoreMoment moment);
  StoreMoment moment() const { return m_moment; }
  void refresh();
  /// The middle of a cell; a null point: it has none.
  QPointF cellOf(std::size_t run, int head) const;
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
  struct Grid {
    const StoreCurve* curve = nullptr;
    const StoreMark* mark = nullptr;
    QRectF at;           // of its cells
    bool first = false;  // of its row
    QRectF cell(int head) const;
  };
  struct Place {
    std::size_t grid = 0;
    int head = 0;
    bool operator==(const Place&) const = default;
  };
  std::vector<Grid> grids(const QRect& area) const;
  std::optional<Place> under(const QPointF& at, const std::vector<Grid>& shown) const;
  QString wordsOf(const Grid& grid, int head) const;
  void point(std::optional<Place> place, const std::vector<Grid>& shown);
  void paintOn(QPainter& painter, const QRect& area, const viz::Theme& theme) const;
  void paintLegend(QPainter& painter, const QRect& area, const viz::Theme& theme) const;
  void paintGrid(QPainter& painter, const Grid& grid, const viz::Theme& theme) const;
  void paintNames(QPainter& painter, const Grid& grid, const viz::Theme& theme) const;

  Workspace& m_workspace;
  const StoreData& m_data;
  StoreMoment m_moment = StoreMoment::after_prompt;
  std::optional<Place> m_at;  // that the mouse or the keyboard points at
};

}  // namespace kvscope
