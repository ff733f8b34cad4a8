// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/run_queue.h"

#include <algorithm>

#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "policy/run_title.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kLately = 16;

/// What the time of a run depends on beside its policy.
QString textOf(const Snapshot& s) {
  const std::size_t n_steps = s.lanes.empty() ? 0 : s.lanes.front().steps.size();
  return QString("%1 %2 %3").arg(QString::fromStdString(s.model.name)).arg(s.n_prompt).arg(n_steps);
}

}  // namespace

RunWords wordsOf(const std::string& spec) {
  RunWords words{spec, {}};
  const LaneSpec read = lane_spec_of_result(spec);
  if (read.name.empty()) return words;  // as it stands
  words.title = title_of(read);
  if (read.name == given_policy().name) {
    words.budget = "as a file says";
    return words;
  }
  for (const auto& [key, value] : read.given) {
    std::string text = key + " " + value;
    if (key == "slots") text = value + (value == "1" ? " slot" : " slots");
    if (key == "ratio" || key == "bytes") text = viz::format_percent(std::stod(value));
    if (key == "bytes") text += " of the bytes";
    words.budget += (words.budget.empty() ? "" : ", ") + text;
  }
  return words;
}

RunQueue::RunQueue(SessionController& controller, Workspace& workspace, QObject* parent)
    : QObject(parent), m_controller(controller), m_workspace(workspace) {
  // What the user wants comes first: the queue goes on as soon as its answer is there.
  connect(&workspace, &Workspace::snapshotChanged, this, [this] { next(); });
  connect(&workspace, &Workspace::staleChanged, this, [this] { next(); });
  connect(&controller, &SessionController::extraProgress, this, [this](double fraction) {
    if (QueuedRun* run = current()) run->progress = fraction;
    publish();
  });
  connect(&controller, &SessionController::extraDone, this, [this](const SnapshotPtr& result) {
    QueuedRun* run = current();
    if (!run) return;
    run->state = QueuedRun::State::done;
    run->progress = 1;
    run->text = textOf(*result);
    run->ms = static_cast<double>(m_clock.nsecsElapsed()) * 1e-6;
    const QueuedRun done = *run;
    publish();
    if (done.purpose == QueuedRun::Purpose::lane) {
      m_adopting = done.batch;
      m_controller.adoptExtra(result);
      m_adopting = 0;
    }
    Q_EMIT measured(done, result);
    next();
  });
  connect(&controller, &SessionController::extraFailed, this, [this](const QString& why) {
    if (QueuedRun* run = current()) {
      run->state = QueuedRun::State::failed;
      run->failure = why;
    }
    publish();
    next();
  });
  connect(&controller, &SessionController::extraEnded, this, [this] {
    if (QueuedRun* run = current()) {
      run->state = QueuedRun::State::waiting;
      run->progress = 0;
    }
    publish();
    next();  // without another request nothing else would call it
  });
}

QueuedRun* RunQueue::current() {
  const auto it = std::find_if(m_runs.begin(), m_runs.end(), [](const QueuedRun& r) { return r.state == QueuedRun::State::running; });
  return it == m_runs.end() ? nullptr : &*it;
}

const QueuedRun* RunQueue::running() const { return const_cast<RunQueue*>(this)->current(); }

int RunQueue::nOpen() const {
  return static_cast<int>(std::count_if(m_runs.begin(), m_runs.end(), [](const QueuedRun& r) { return r.open(); }));
}

std::map<std::string, RunTime> RunQueue::times() const {
  const QString text = textOf(m_workspace.snapshot());
  std::map<std::string, RunTime> out;
  for (auto it = m_runs.rbegin(); it != m_runs.rend(); ++it) {
    if (it->state != QueuedRun::State::done || it->text != text) continue;
    RunTime& time = out[policyOf(it->spec)];
    if (time.n == kLately) continue;
    time.ms = ((time.n > 0 ? time.ms * time.n : 0) + it->ms) / (time.n + 1);
    ++time.n;
  }
  return out;
}

void RunQueue::add(const std::vector<std::string>& specs, QueuedRun::Purpose purpose) {
  if (specs.empty() || m_controller.refuses()) return;
  ++m_batch;
  for (const std::string& spec : specs) {
    QueuedRun run;
    run.id = ++m_last_id;
    run.batch = m_batch;
    run.spec = spec;
    run.purpose = purpose;
    m_runs.push_back(std::move(run));
  }
  publish();
  next();
}

void RunQueue::cancel(int id) {
  for (QueuedRun& run : m_runs) {
    if (run.id != id || !run.open()) continue;
    const bool was_running = run.state == QueuedRun::State::running;
    run.state = QueuedRun::State::cancelled;
    if (was_running) m_controller.endExtra();
  }
  publish();
  next();
}

void RunQueue::cancelBatch(int batch) {
  const QueuedRun* const now = running();
  const bool runs = now && now->batch == batch;
  for (QueuedRun& run : m_runs)
    if (run.open() && run.batch == batch) run.state = QueuedRun::State::cancelled;
  if (runs) m_controller.endExtra();
  publish();
  next();
}

void RunQueue::cancelAll() {
  for (QueuedRun& run : m_runs)
    if (run.open()) run.state = QueuedRun::State::cancelled;
  m_controller.endExtra();
  publish();
}

void RunQueue::clearEnded() {
  std::erase_if(m_runs, [](const QueuedRun& r) { return !r.open(); });
  publish();
}

/// One that is only measured takes no room: it joins nothing.
bool RunQueue::failWhatHasNoRoom() {
  const QString why = SessionController::noRoomFor(m_controller.request().lanes.size() + 1);
  bool any = false;
  for (QueuedRun& run : m_runs) {
    if (why.isEmpty() || run.state != QueuedRun::State::waiting || run.purpose != QueuedRun::Purpose::lane) continue;
    run.state = QueuedRun::State::failed;
    run.failure = "the run was not added: " + why;
    any = true;
  }
  return any;
}

void RunQueue::next() {
  const Snapshot& now = m_workspace.snapshot();
  const bool ready = now.phase == RunPhase::idle && !now.lanes.empty() && !m_workspace.stale() && m_controller.answersNewest(now);
  if (m_controller.hasExtra() || current() || !ready) return;
  const bool failed = failWhatHasNoRoom();
  const auto it = std::find_if(m_runs.begin(), m_runs.end(), [](const QueuedRun& r) { return r.state == QueuedRun::State::waiting; });
  if (it == m_runs.end()) return failed ? publish() : void();
  // Before it starts: what refuses it at once is about this run.
  it->state = QueuedRun::State::running;
  it->progress = 0;
  m_clock.start();
  m_controller.runExtra(QString::fromStdString(it->spec));
  if (QueuedRun* run = current(); run && !m_controller.hasExtra()) run->state = QueuedRun::State::waiting;  // not now
  publish();
}

void RunQueue::publish() {
  std::vector<viz::WaitingRun> waiting;
  for (const QueuedRun& run : m_runs) {
    if (!run.open() || run.purpose != QueuedRun::Purpose::lane) continue;
    const RunWords words = wordsOf(run.spec);
    waiting.push_back({run.id, words.title, words.budget, run.state == QueuedRun::State::running, run.progress});
  }
  m_workspace.setWaitingRuns(waiting);
  Q_EMIT changed();
}

}  // namespace kvscope
