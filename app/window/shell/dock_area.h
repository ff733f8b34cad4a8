// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include <QMainWindow>
#include <QTimer>

class QDockWidget;

namespace kvscope {

/// Where the panels stand. Qt gives what a window loses in height to whichever panel it likes, down to nothing; here panels that stand on
/// each other keep their shares, those that the user or the program gave them last. A panel may have a least height, below which the others
/// give way: the dynamic property kLeast of its dock.
class DockArea final : public QMainWindow {
 public:
  static constexpr const char* kLeast = "leastHeight";

  explicit DockArea(QWidget* parent = nullptr);
  /// Takes care of a panel of this area, and returns it: one that floats is framed and stands a little off the place that it left.
  QDockWidget* take(QDockWidget* dock);

 protected:
  void childEvent(QChildEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  std::map<int, QList<QDockWidget*>> columns() const;  // by their left edges
  void remember();
  void showFloating(QDockWidget* dock, bool floating);

  std::map<QDockWidget*, int> m_heights;    // as they were last set: the shares
  std::map<QDockWidget*, int> m_given;      // by the area to keep them
  std::map<QDockWidget*, QPoint> m_places;  // where each stood last
  QDockWidget* m_double_clicked = nullptr;
  int m_height = -1;  // of the area when the docks were last laid out
  QTimer m_settled;
};

}  // namespace kvscope
