// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <QFrame>
#include <QList>
#include <QPointer>
#include <QString>

class QLabel;
class QPushButton;

namespace kvscope {

/// One stop of the tour: a part of the window and what it is for.
struct TourStop {
  QString title, text;
  std::function<QWidget*()> target;  // nullptr: the bubble stands in the middle
};

/// A bubble beside one part of the window after the other, with a frame around that part. It takes no focus by itself and blocks nothing.
class Tour : public QFrame {
  Q_OBJECT

 public:
  /// `window`: the widget that the bubble moves in.
  Tour(const QList<TourStop>& stops, QWidget* window);
  int stop() const { return m_stop; }
  int stops() const { return static_cast<int>(m_stops.size()); }
  QString text() const;

 public Q_SLOTS:
  void start();
  void goTo(int stop);  // after the last one it ends
  void end();

 Q_SIGNALS:
  void ended();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void place();

  QList<TourStop> m_stops;
  int m_stop = -1;
  QLabel *m_title, *m_text, *m_where;
  QPushButton *m_back, *m_next, *m_close;
  QFrame* m_frame;  // around the target
};

}  // namespace kvscope
