// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

class QSettings;

namespace kvscope {

class SweepProcess;

/// Remembers what the sweep over texts is that a window runs until it is whole, so that one which ended with its window can be gone on with
/// at the next start.
class UnfinishedSweep : public QObject {
  Q_OBJECT

 public:
  /// settings nullptr: nothing is remembered. Both outlive this.
  UnfinishedSweep(SweepProcess& process, QSettings* settings, QObject* parent = nullptr);

 Q_SIGNALS:
  /// Once, after the window was made: the process has it as one that was stopped. Not what another window is at, nor what somebody had
  /// cancelled: that is only recalled.
  void found(const QString& folder);

 private:
  void recall();
  void keep();

  SweepProcess& m_process;
  QSettings* m_settings;
};

}  // namespace kvscope
