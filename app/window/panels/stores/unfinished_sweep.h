// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QObject>
#include <QString>

#include "app/window/panels/stores/text_sweep.h"

class QSettings;

namespace kvscope {

class MessageBar;
class SweepProcess;

/// Remembers each sweep over texts that a window runs until it is whole, and offers those that ended before: one after the other, the
/// newest first, at every start until somebody goes on with it or answers the offer by its cross. Not what another window is at, nor what
/// somebody had cancelled: that is only recalled.
class UnfinishedSweep : public QObject {
  Q_OBJECT

 public:
  /// settings nullptr: nothing is remembered. All outlive this.
  UnfinishedSweep(SweepProcess& process, MessageBar& notices, QSettings* settings, QObject* parent = nullptr);

 public Q_SLOTS:
  /// The store is looked at: what was not finished of it can be gone on with there.
  void recallOf(const QString& folder);

 Q_SIGNALS:
  /// Once, after the window was made: one is offered, and the process has it as one that was left.
  void found(const QString& folder);

 private:
  struct Remembered {
    TextSweep sweep;
    bool offered = true, cancelled = false;
  };
  /// What can be gone on with, the newest first.
  std::vector<Remembered> all() const;
  /// What is to be offered next; nullopt: nothing, or not while one runs.
  std::optional<TextSweep> next() const;
  void recallAtStart();
  void recall(const Remembered& one);
  void keep();
  void offer();
  void goOn();
  void answerByCross(const QString& details);

  SweepProcess& m_process;
  MessageBar& m_notices;
  QSettings* m_settings;
  TextSweep m_offered;
  QString m_said;  // in the notices, of that one; empty: nothing is
};

}  // namespace kvscope
