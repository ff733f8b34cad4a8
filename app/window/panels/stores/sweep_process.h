// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTimer>

#include "app/window/panels/stores/text_sweep.h"

namespace kvscope {

/// The sweep over many texts that this window runs: a kvscope-cli that fills the store as if a user had started it, so that whatever
/// happens to either program, what is finished stays, and starting it again goes on. It ends with the window.
class SweepProcess : public QObject {
  Q_OBJECT

 public:
  /// left: its window ended before it was whole.
  enum class State : std::uint8_t { none, running, stopped, left, failed, done };

  explicit SweepProcess(QObject* parent = nullptr);
  ~SweepProcess() override;

  State state() const { return m_state; }
  bool running() const { return m_state == State::running; }
  const TextSweep& sweep() const { return m_sweep; }
  /// Why it failed: one sentence.
  const QString& failure() const { return m_failure; }
  qint64 processId() const { return m_process.processId(); }  // 0: none
  /// It has said in its store what the store will hold.
  bool announced() const { return m_announced; }

 public Q_SLOTS:
  /// Nothing while one runs.
  void start(const kvscope::TextSweep& sweep);
  void again();  // the last one
  /// One that an earlier window was at: stopped by somebody there, or left. Nothing while one runs.
  void recall(const kvscope::TextSweep& sweep, kvscope::SweepProcess::State state);
  void stop();

 Q_SIGNALS:
  void changed();
  /// The store can be opened: the first time since the start.
  void storeBegun(const QString& folder);

 private:
  QStringList contentsNow() const;
  void lookForStore();
  void end(State state);

  QProcess m_process;
  TextSweep m_sweep;
  State m_state = State::none;
  QString m_failure;
  QStringList m_before;  // contents of sweeps that were in the folder before
  QTimer m_poll;
  bool m_announced = false;
};

}  // namespace kvscope
