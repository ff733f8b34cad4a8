// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/sweep_process.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include <QDateTime>
#include <QDir>
#include <QFileInfo>

namespace kvscope {

namespace {

constexpr int kPollMs = 150;
constexpr int kGraceMs = 3000;    // for a program that was asked to end
constexpr int kNiceness = 10;     // the window and its own runs come first
constexpr int kMostWords = 2000;  // characters of its last sentence

}  // namespace

SweepProcess::SweepProcess(QObject* parent) : QObject(parent) {
  m_process.setStandardInputFile(QProcess::nullDevice());
  m_process.setStandardOutputFile(QProcess::nullDevice());  // the result is in the store
  m_process.setChildProcessModifier([] {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would see it any longer
    [[maybe_unused]] const int now = ::nice(kNiceness);
  });
  m_poll.setInterval(kPollMs);
  connect(&m_poll, &QTimer::timeout, this, &SweepProcess::lookForStore);
  connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;  // the others are followed by finished
    m_failure = QString("%1 could not be started: %2").arg(m_process.program(), m_process.errorString());
    end(State::failed);
  });
  connect(&m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    if (!running()) return;  // stopped
    lookForStore();
    if (status == QProcess::NormalExit && code == 0) return end(State::done);
    QString last = QString::fromUtf8(m_process.readAllStandardError()).trimmed();
    last = last.mid(last.lastIndexOf('\n') + 1).left(kMostWords);
    if (last.startsWith("kvscope-cli: ")) last.remove(0, 13);
    m_failure = !last.isEmpty()                 ? last
                : status == QProcess::CrashExit ? QString("kvscope-cli was ended by a signal")
                                                : QString("kvscope-cli ended with status %1").arg(code);
    end(State::failed);
  });
}

SweepProcess::~SweepProcess() {
  m_process.disconnect(this);
  if (m_process.state() == QProcess::NotRunning) return;
  m_process.terminate();
  if (!m_process.waitForFinished(kGraceMs)) m_process.kill();
  m_process.waitForFinished(kGraceMs);
}

void SweepProcess::start(const TextSweep& sweep) {
  if (running()) return;
  if (m_process.state() != QProcess::NotRunning) m_process.waitForFinished(kGraceMs);  // the one that was stopped
  m_sweep = sweep;
  m_failure.clear();
  m_announced = false;
  m_before = contentsNow();
  m_state = State::running;
  const QString program = sweepProgram();
  if (program.isEmpty()) {
    m_failure = "kvscope-cli is neither beside this program nor in the PATH, and it computes sweeps over texts: install it";
    return end(State::failed);
  }
  m_process.start(program, argumentsOf(sweep));
  if (!running()) return;  // it could not be started
  m_poll.start();
  Q_EMIT changed();
}

/// Where the results have gone, beginning anew is another decision.
void SweepProcess::again() {
  if (m_announced && !QFileInfo(m_sweep.store).isDir()) {
    m_failure = m_sweep.store + " is not there any more: bring it back, or begin anew (Sweep over texts…)";
    return end(State::failed);
  }
  for (const QString& read : {m_sweep.texts, m_sweep.model}) {
    if (read.isEmpty() || QFileInfo::exists(read)) continue;
    m_failure =
        QString("%1 is not there any more: put it back there, or begin another sweep (Sweep over texts…). What is finished stays in %2")
            .arg(read, m_sweep.store);
    return end(State::failed);
  }
  start(TextSweep(m_sweep));
}

void SweepProcess::recall(const TextSweep& sweep, State state) {
  if (running()) return;
  m_sweep = sweep;
  m_announced = true;
  end(state);
}

void SweepProcess::stop() {
  if (!running()) return;
  m_process.terminate();
  QTimer::singleShot(kGraceMs, &m_process, [this, id = m_process.processId()] {
    if (m_process.processId() == id) m_process.kill();
  });
  end(State::stopped);
}

/// Name and time: going on with the same sweep writes the same file anew.
QStringList SweepProcess::contentsNow() const {
  QStringList out;
  for (const QFileInfo& file : QDir(m_sweep.store).entryInfoList({"sweep-*.json"}, QDir::Files))
    out << file.fileName() + file.lastModified().toString(Qt::ISODateWithMs);
  return out;
}

void SweepProcess::lookForStore() {
  if (m_announced || contentsNow() == m_before) return;
  m_announced = true;
  m_poll.stop();
  Q_EMIT storeBegun(m_sweep.store);
}

void SweepProcess::end(State state) {
  m_poll.stop();
  m_state = state;
  Q_EMIT changed();
}

}  // namespace kvscope
