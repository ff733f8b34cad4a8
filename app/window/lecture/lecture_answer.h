// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QWidget>

#include "app/window/panels/effect/generated_cells.h"

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
  /// How many cells go on at the left and at the right of those that fit; both are printed there.
  int before() const { return static_cast<int>(shown().first); }
  int after() const { return static_cast<int>(m_cells.size() - shown().end); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  void refresh();
  /// Those that fit, the step shown among them: [first, end).
  struct Shown {
    std::size_t first = 0, end = 0;
  };
  Shown shown() const;
  int chipWidth(const GeneratedCell& cell) const;
  int signWidth() const;
  /// Places of the chips that fit; of the others empty ones.
  std::vector<QRect> columns() const;
  int labelWidth() const;
  bool both() const;

  Workspace& m_workspace;
  std::vector<GeneratedCell> m_cells;
  bool m_unread = false;  // the text is, at the step shown
};

}  // namespace kvscope
