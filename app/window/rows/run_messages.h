// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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
  void modelRequested(const QString& folder);  // empty: ask which
  void promptRequested(const QString& text);

 private:
  WindowModel& m_model;
  WindowRows& m_rows;
  bool m_lost = false;        // a file of the model that is open cannot be read any more
  std::uint64_t m_begun = 0;  // generation of the last request of which a part was shown
};

}  // namespace kvscope
