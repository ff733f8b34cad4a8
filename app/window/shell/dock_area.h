// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include <QMainWindow>
#include <QTimer>

class QDockWidget;

namespace kvscope {

/// Where the panels stand. Qt gives what a window loses in height to whichever panel it likes, down to nothing; here panels that stand on
/// each other keep their shares, those that the user or the program gave them last. A panel may have a least height, below which the others
/// give way: the dynamic property kLeast of its dock. Where a window is too low for the least heights of a column, its last two panels are
/// tabs in one place; when it is higher again, they stand on each other as before.
class DockArea final : public QMainWindow {
 public:
  static constexpr const char* kLeast = "leastHeight";

  explicit DockArea(QWidget* parent = nullptr);
  /// Takes care of a panel of this area, and returns it: one that floats is framed and stands a little off the place that it left.
  QDockWidget* take(QDockWidget* dock);
  /// These stand on each other, from above.
  void addColumn(const QList<QDockWidget*>& docks) { m_columns.push_back({docks}); }
  /// Makes tabs of panels, or panels of tabs, as the height asks for: after they were laid out anew.
  void fold();
  /// Where the panels stand and their shares: not the pixels of the moment, which a row more above them changes.
  QByteArray layout() const;
  /// What layout() gave, or saveState() of an area without shares.
  void setLayout(const QByteArray& layout);

 protected:
  void childEvent(QChildEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  std::map<int, QList<QDockWidget*>> columns() const;  // by their left edges
  void remember();
  void share();
  void showFloating(QDockWidget* dock, bool floating);

  struct Column {
    QList<QDockWidget*> docks;
    bool folded = false;  // by this area: tabs that the user made stay
  };
  bool fold(Column& column);  // whether anything changed

  std::vector<Column> m_columns;
  std::map<QDockWidget*, int> m_heights;    // as they were last set: the shares
  std::map<QDockWidget*, int> m_given;      // by the area to keep them
  std::map<QDockWidget*, QPoint> m_places;  // where each stood last
  QDockWidget* m_double_clicked = nullptr;
  int m_height = -1;  // of the area when the docks were last laid out
  QTimer m_settled;
};

}  // namespace kvscope
