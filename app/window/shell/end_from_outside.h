// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

class QSocketNotifier;

namespace kvscope {

/// While it lives, SIGTERM, SIGINT and SIGHUP (kill, Ctrl+C, a terminal that closes) are told in the UI thread instead of ending the
/// program, so that what is not saved can be backed up first; a second one of the same kind ends it at once. One at a time: signals belong
/// to the process. What is ignored since the start (nohup) stays so.
class EndFromOutside : public QObject {
  Q_OBJECT

 public:
  explicit EndFromOutside(QObject* parent = nullptr);
  ~EndFromOutside() override;

 Q_SIGNALS:
  void asked(int signal);

 private:
  QSocketNotifier* m_told = nullptr;
  int m_ends[2] = {-1, -1};  // of a pipe: a signal handler may do no more than write
};

}  // namespace kvscope
