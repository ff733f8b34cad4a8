// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include <QMainWindow>
#include <QMap>
#include <QStringList>
#include <QTimer>

class QDockWidget;

namespace kvscope {

/// Where the panels stand. Qt gives what a window loses in height to whichever panel it likes, down to nothing; here panels that stand on
/// each other, and columns beside each other, keep their shares: those that the program gave them, until a border is dragged. What stands
/// where follows from these and from the size of the area alone, so that it is the same at every start. A panel may have a least height,
/// below which the others give way: the dynamic property kLeast of its dock. Where a window is too low for the least heights of a column,
/// its last two panels are tabs in one place, and where that is not enough, its guests as well, and at last all of them, the first in
/// front; when it is higher again, they stand on each other as before.
class DockArea final : public QMainWindow {
 public:
  static constexpr const char* kLeast = "leastHeight";
  using Shares = std::map<QDockWidget*, int>;

  explicit DockArea(QWidget* parent = nullptr);
  /// Takes care of a panel of this area, and returns it: one that floats is framed and stands a little off the place that it left.
  QDockWidget* take(QDockWidget* dock);
  /// These stand on each other, from above; `guests` are opened now and then, and are tabs in one place below them.
  void addColumn(const QList<QDockWidget*>& docks, const QList<QDockWidget*>& guests = {});
  /// In pixels of any height and width: without guests, beside them, and of the columns.
  void setShares(const Shares& heights, const Shares& beside_guests, const Shares& widths);
  /// Makes tabs of panels, or panels of tabs, as the height asks for, and gives all their shares: after they were laid out anew.
  void layOut();
  /// Where the panels stand and their shares: not the pixels of the moment, which a row more above them changes.
  QByteArray layout() const;
  /// What layout() gave, or saveState() of an area without shares.
  void setLayout(const QByteArray& layout);

 protected:
  void childEvent(QChildEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  enum class Fold { none, last_two, with_guests, all };
  struct Column {
    QList<QDockWidget*> docks, guests;
    Fold fold = Fold::none;  // by this area: tabs that the user made stay
  };
  using Stacks = std::map<int, QList<QDockWidget*>>;

  Stacks stacks() const;  // what stands on each other, by their left edges
  const Column* columnOf(const QDockWidget* dock) const;
  void remember(const Stacks& before);
  void shareHeights(const QList<QDockWidget*>& docks);
  void shareWidths();
  QList<QDockWidget*> inFront() const;  // of tabs
  void raiseFronts();
  Fold wanted(const Column& column) const;
  Fold now(const Column& column) const;
  void fold(Column& column);
  void pullApart(const Column& column, Fold now);
  void putTogether(const Column& column, Fold next);
  void showFloating(QDockWidget* dock, bool floating);

  std::vector<Column> m_columns;
  Shares m_heights, m_beside_guests, m_widths;
  std::map<QDockWidget*, QPoint> m_places;  // where each stood last
  QDockWidget* m_double_clicked = nullptr;
  Stacks m_pressed;                   // as they stood when a border was taken hold of
  QMap<QDockWidget*, QSize> m_sizes;  // then
  QStringList m_fronts;               // of a layout that was given, to be in front once it stands
  QTimer m_settled;
};

}  // namespace kvscope
