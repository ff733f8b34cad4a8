// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QWidget>

#include "app/window/generated_cells.h"

namespace kvscope {

class Workspace;

/// What follows the text: the tokens of the full cache, and below them what the selected run would have said. A click goes to the step.
class LectureAnswer : public QWidget {
  Q_OBJECT

 public:
  explicit LectureAnswer(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }
  /// Chip of a cell in the lower row (the upper one with only one run); empty: not shown.
  QRect rectOf(int cell) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  void refresh();
  /// Left end and width of the chips that fit, from the first shown cell on.
  std::vector<QRect> columns() const;
  int firstShown() const;
  int labelWidth() const;
  bool both() const;

  Workspace& m_workspace;
  std::vector<GeneratedCell> m_cells;
};

}  // namespace kvscope
