// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

namespace kvscope {

class WindowRows;
struct WindowModel;

/// Says why a run failed, with what can be done about it.
class RunMessages : public QObject {
  Q_OBJECT

 public:
  RunMessages(WindowModel& model, WindowRows& rows);
  void takeSnapshot();

 Q_SIGNALS:
  void modelRequested();
  void promptRequested(const QString& text);

 private:
  WindowModel& m_model;
  WindowRows& m_rows;
};

}  // namespace kvscope
