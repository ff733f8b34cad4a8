// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <QElapsedTimer>
#include <QObject>
#include <QString>

#include "app/window/session/run_estimate.h"
#include "snapshot/snapshot.h"

namespace kvscope {

class SessionController;
class Workspace;

/// One run that was asked for beside those on screen.
struct QueuedRun {
  enum class Purpose : std::uint8_t {
    lane,    // joins the comparison when it is ready
    point,   // is only measured, for a curve
    head,    // is only measured, for one head
    budget,  // is only measured, to find the lowest budget that answers
  };
  enum class State : std::uint8_t { waiting, running, done, failed, cancelled };
  int id = 0;
  int batch = 0;  // runs asked for together
  std::string spec;
  Purpose purpose = Purpose::lane;
  State state = State::waiting;
  double progress = 0;        // 0..1, while it runs
  double ms = kNotAvailable;  // wall time, when it is done
  QString text;               // what it ran on: runs of another one say nothing about the time of this one
  QString failure;            // one sentence
  bool open() const { return state == State::waiting || state == State::running; }
};

/// Runs one after the other, beside what is on screen: everything else stays usable, and any edit of the user comes first (the run in work
/// then begins again). UI thread only.
class RunQueue : public QObject {
  Q_OBJECT

 public:
  RunQueue(SessionController& controller, Workspace& workspace, QObject* parent = nullptr);

  /// All that were asked for, in order; ended ones stay until clearEnded().
  const std::vector<QueuedRun>& runs() const { return m_runs; }
  const QueuedRun* running() const;
  int nOpen() const;
  bool busy() const { return nOpen() > 0; }
  /// What runs of the present text took, by policy: mean of those done lately.
  std::map<std::string, RunTime> times() const;
  /// Batch of the run that is being taken into the request; 0: none is.
  int adoptingBatch() const { return m_adopting; }

 public Q_SLOTS:
  void add(const std::vector<std::string>& specs, kvscope::QueuedRun::Purpose purpose);
  void cancel(int id);
  void cancelBatch(int batch);  // what was added together
  void cancelAll();
  void clearEnded();

 Q_SIGNALS:
  void changed();
  /// The run is the last lane of the result.
  void measured(const kvscope::QueuedRun& run, const kvscope::SnapshotPtr& result);

 private:
  void next();
  bool failWhatHasNoRoom();  // true: some failed
  void publish();
  QueuedRun* current();

  SessionController& m_controller;
  Workspace& m_workspace;
  std::vector<QueuedRun> m_runs;
  QElapsedTimer m_clock;
  int m_last_id = 0;
  int m_batch = 0;
  int m_adopting = 0;
};

/// "H2O" and "25 %, seed 3" of a specification.
struct RunWords {
  std::string title, budget;
};
RunWords wordsOf(const std::string& spec);

}  // namespace kvscope
