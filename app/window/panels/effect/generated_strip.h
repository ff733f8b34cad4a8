// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QString>
#include <QWidget>

#include "app/window/panels/effect/generated_cells.h"

class QPainter;

namespace kvscope {

class Workspace;

/// What came after the prompt: per step the reference's token, the lane's own first choice and the probability the lane gave to the
/// reference's token. One cell a step; a click goes to that step.
class GeneratedStrip : public QWidget {
  Q_OBJECT

 public:
  using Cell = GeneratedCell;

  explicit GeneratedStrip(Workspace& workspace, QWidget* parent = nullptr);

  const std::vector<Cell>& cells() const { return m_cells; }
  /// "12 tokens, first 9 shown · 1 top choice differs · every run goes on from the reference's token"
  QString heading() const;
  /// The same in so many pixels.
  QString headingWithin(const QFontMetrics& metrics, int room) const;
  /// Of a cell at the mouse: the tokens, and which of them the run goes on from.
  QString helpOf(const Cell& cell) const;
  /// Of the name of a row, and of the heading: what they hold.
  QString helpOfRow(const QPoint& at) const;
  QRect rectOf(int cell) const;  // empty: scrolled away
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Heading {
    QString count, shown;         // "12 tokens", ", first 9 shown"
    QString differ, brief, next;  // "1 top choice differs", "1 differs", ", so does the next"
    QString goes_on;
    QString words() const { return (QStringList{count + shown, differ + next, goes_on}).join(" · "); }
  };
  struct Rows {
    int left, cell_width, reference, says, bar, p, bottom;
  };

  void refresh();
  void keepCurrentVisible();
  Heading headingParts() const;
  Rows rows() const;
  int visibleCells() const;
  int cellAt(const QPoint& point) const;
  int currentCell() const;
  void goTo(int cell);
  void paintHeading(QPainter& painter) const;
  void paintLabels(QPainter& painter, const Rows& rows) const;
  void paintCell(QPainter& painter, const Rows& rows, int cell, int current) const;
  void paintFrames(QPainter& painter, int current, int end) const;  // around the current cell, the one under the mouse, and the focus

  Workspace& m_workspace;
  std::vector<Cell> m_cells;
  QString m_lane_title;
  int m_lane = 0;
  int m_n_generated = 0;
  int m_n_differ = 0;           // of the generated tokens
  bool m_next_differs = false;  // the choice after the last of them
  int m_first = 0;              // leftmost cell shown
  int m_wheel = 0;              // part of a notch
  bool m_own_step = false;      // the step is being changed by this widget: the cells stay under the mouse
};

}  // namespace kvscope
