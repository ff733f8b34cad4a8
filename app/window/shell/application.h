// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>

namespace kvscope {

/// Times every event of the UI thread: what takes long there is a stall that everybody feels.
class Application : public QApplication {
  Q_OBJECT

 public:
  using QApplication::QApplication;
  bool notify(QObject* receiver, QEvent* event) override;

 Q_SIGNALS:
  /// An event that no other one contained is done. Dialogs that wait inside an event are not counted.
  void eventDone(double ms, const char* receiver, int type);

 private:
  int m_depth = 0;
  bool m_waited = false;  // the event opened an event loop of its own
};

}  // namespace kvscope
