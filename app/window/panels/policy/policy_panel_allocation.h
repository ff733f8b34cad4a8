// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QWidget>

namespace kvscope {

class Workspace;

/// One column of the allocation: a head, or a layer where there is no room for heads.
struct AllocationColumn {
  int layer = 0, kv_head = -1;  // -1: all heads of the layer
  double budget = -1;           // slots, mean of the heads; -1: no limit
  double slots = 0;             // used after the step, mean of the heads
  bool overridden = false;      // by hand, at least one of its heads
};

/// Budgets of the selected run after the step shown. by_layer: one column a layer.
std::vector<AllocationColumn> allocationColumns(const Workspace& workspace, bool by_layer);

/// The budget of every head as a column, that can be drawn up and down. What was set by hand is marked and can be taken back.
class AllocationCurve : public QWidget {
  Q_OBJECT

 public:
  explicit AllocationCurve(Workspace& workspace, QWidget* parent = nullptr);

  /// Column of a head (or its layer) in pixels; empty: none.
  QRectF columnRect(int layer, int kv_head) const;
  int nOverridden() const;
  QSize sizeHint() const override;
  /// To words of the card that would be cut; at most kMostGiven of the sizes that px() scales.
  void give(int height);
  /// As it is laid out: what was asked for last may still be to come.
  int given() const { return fullHeight() - height(); }
  static constexpr int kMostGiven = 26;

 Q_SIGNALS:
  /// kvHead -1: all heads of the layer. slots -1: as the policy allocates it.
  void budgetRequested(int layer, int kvHead, int slots);
  void resetRequested();
  void headSelected(int layer, int kvHead);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Drag {
    int column = 0;
    bool layer = false;
    bool moved = false;
    int slots = 0;
  };
  void refresh();
  void describe();
  QRectF plot() const;
  QRectF resetRect() const;
  int columnAt(const QPointF& at) const;
  int slotsAt(double y) const;
  double top() const;  // slots at the upper edge
  /// One layer's or head's slots and budget; most: slots at the upper edge.
  void paintColumn(QPainter& painter, int i, double most) const;
  bool editable() const;
  int selectedColumn() const;
  QString words(const AllocationColumn& c) const;
  QString withoutOwnBudget(const AllocationColumn& c) const;
  int fullHeight() const;

  Workspace& m_workspace;
  std::vector<AllocationColumn> m_columns;
  int m_given = 0;  // asked for
  bool m_by_layer = false;
  int m_hovered = -1, m_cursor = 0, m_selected = -1;
  std::optional<Drag> m_drag;
};

}  // namespace kvscope
