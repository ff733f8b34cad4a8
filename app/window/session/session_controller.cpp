// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/session_controller.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <QThreadPool>
#include <QTimer>

#include "app/window/session/workspace.h"
#include "arch/model_files.h"
#include "core/assets.h"
#include "core/error.h"
#include "core/most_runs.h"
#include "policy/catalog.h"
#include "policy/policy.h"
#include "remote/remote_engine.h"
#include "runtime/model/run_files.h"
#include "runtime/session/runner.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {

namespace {
constexpr int kTypingPauseMs = 40;

/// Lane 0 is always the uncompressed reference, the first policy of the catalog.
const LaneSpec& referenceSpec() {
  static const LaneSpec spec = parse_lane_spec(policies().front().name);
  return spec;
}

/// The lanes without the extra run's.
SnapshotPtr firstLanes(const Snapshot& result, std::size_t n) {
  auto own = std::make_shared<Snapshot>(result);
  if (own->lanes.size() > n) own->lanes.resize(n);
  return own;
}
}  // namespace

struct SessionController::Private {
  Mailbox mailbox;
  std::atomic<bool> wake_pending = false;  // at most one wake-up event in the queue, however fast the engine is
  std::uint64_t generation = 0;            // of the newest request; older results are dropped
  std::uint64_t newest = 0;                // of the newest command, extra runs included
  struct Extra {
    std::size_t n_before = 0;  // lanes
    LaneSpec spec;
  };
  std::map<std::uint64_t, Extra> extras;  // by the generation that may have one behind its lanes
  bool extra = false;                     // the newest of them runs
  bool has_model = false;
  std::optional<QString> folder_before;  // of the model that was open, while another one is opened
  std::uint64_t loads = 0;               // generation of that
  bool unsent = false;                   // an edit waits for the end of the pause
  bool editing = false;                  // the text is being taken over
  bool stopped = false;                  // by the user, and nothing was asked for since
  QTimer typing_pause;
  std::map<std::string, QString> refusals;  // of runs whose files were read; empty: none, or they are being read
  std::shared_ptr<RunFiles> files;  // the file reader's: what it knows of the model's, a hash of the weights, holds for the next run
  QThreadPool file_reader;          // one thread; ends before the rest goes
  std::unique_ptr<Engine> engine;   // last: joins its thread before the rest goes
};

SessionController::SessionController(Workspace& workspace, QObject* parent)
    : QObject(parent), m_workspace(workspace), d(std::make_unique<Private>()) {
  m_request.lanes = {referenceSpec()};
  m_request.measures.hidden = true;
  d->file_reader.setMaxThreadCount(1);
  d->typing_pause.setSingleShot(true);
  d->typing_pause.setInterval(kTypingPauseMs);
  connect(&d->typing_pause, &QTimer::timeout, this, [this] {
    if (d->unsent) submit();
  });
  setEngine({});
}

void SessionController::setEngine(const QString& address) {
  const std::string text = address.toStdString();
  const std::optional<remote::Address> where = text.empty() ? std::nullopt : std::optional(remote::parse_address(text));
  if (d->engine && address == m_engine) return;
  const auto wake = [this] {
    if (!d->wake_pending.exchange(true))
      QMetaObject::invokeMethod(
          this, [this] { deliver(); }, Qt::QueuedConnection);
  };
  endExtra();
  d->engine.reset();
  if (where)
    d->engine = std::make_unique<remote::RemoteEngine>(
        *where,
        remote::EngineOptions{
            .version = KVSCOPE_VERSION, .own_model = asset("models/kvmini"), .record_limit = m_record_limit, .generation = d->newest},
        d->mailbox, wake);
  else
    d->engine = std::make_unique<Runner>(d->mailbox, wake, d->newest);
  m_engine = address;
  d->refusals.clear();
  Q_EMIT requestChanged();
  if (!d->has_model || viewOnly()) return;
  submit();
  loadModel(m_model_folder);
}

EngineLink SessionController::engineLink() const { return d->engine->link(); }

SessionController::~SessionController() {
  d->file_reader.waitForDone();
  d->engine.reset();
}

void SessionController::deliver() {
  d->wake_pending.store(false);  // before the read: a put after this line wakes us again
  const SnapshotPtr computed = d->mailbox.latest();
  if (!computed || viewOnly()) return;  // what the engine was at when stored results came
  const SnapshotPtr snapshot = m_forks.tied(computed);
  if (d->extra) return deliverExtra(snapshot);
  const auto extra = d->extras.find(snapshot->generation);
  const bool of_extra = extra != d->extras.end();
  // The rest of an extra run that was ended: its progress carries the generation of what is on screen, which is whole.
  const bool extra_ended = d->newest != d->generation;
  if (extra_ended && (of_extra || snapshot->phase == RunPhase::computing)) return;
  if (d->folder_before && snapshot->generation >= d->loads && snapshot->phase != RunPhase::loading) {
    // A model that was refused is not the session's: what is shown, and saved, is of the one before.
    const bool was_refused = !snapshot->loading.empty();
    if (was_refused && !d->folder_before->isEmpty()) m_model_folder = *d->folder_before;
    d->folder_before.reset();
    if (!was_refused) Q_EMIT modelOpened(m_model_folder);
  }
  const bool newest = !of_extra && snapshot->generation >= d->generation;
  // Older than the request: only the progress over what is on screen anyway, and how far a model is open.
  if (!newest && !of_extra && snapshot->generation != m_workspace.snapshot().generation && snapshot->phase != RunPhase::loading) return;
  // A failure comes with the lanes of before, and these may be an extra run's.
  const auto with_extra = d->extras.find(snapshot->lanes_of);
  m_workspace.setSnapshot(with_extra != d->extras.end() ? firstLanes(*snapshot, with_extra->second.n_before) : snapshot);
  // A model that was refused leaves the answer of the one before, if that is one to this text.
  const bool refused_model = snapshot->phase == RunPhase::failed && !snapshot->loading.empty() && snapshot->prompt == m_request.prompt;
  const bool old_content = snapshot->phase == RunPhase::loading || (snapshot->phase == RunPhase::failed && !refused_model);
  m_workspace.setStale(!newest || old_content || d->unsent);
}

void SessionController::deliverExtra(const SnapshotPtr& snapshot) {
  if (snapshot->phase == RunPhase::computing) Q_EMIT extraProgress(snapshot->progress);
  // An engine that takes the place of one that ended opens its model first, under a part of this run: that is no end of it.
  const bool failed = snapshot->phase == RunPhase::failed;
  if (snapshot->generation < d->newest || !(failed || snapshot->phase == RunPhase::idle)) return;
  d->extra = false;
  failed ? Q_EMIT extraFailed(QString::fromStdString(snapshot->failure)) : Q_EMIT extraDone(snapshot);
}

QString SessionController::refusalOf(const LaneSpec& spec) {
  const Snapshot& s = m_workspace.snapshot();
  if (s.model.n_layers == 0 || s.n_prompt == 0) return {};
  const auto refusal = [spec, model = s.model, n_prompt = s.n_prompt, mode = m_request.mode, seed = m_request.seed](RunFiles& files) {
    try {
      Policy::make({.spec = spec, .model = &model, .n_prompt = n_prompt, .mode = mode, .seed = seed, .files = files.of(spec)});
      return QString();
    } catch (const Error& error) {
      return QString::fromUtf8(error.what());
    }
  };
  const std::string folder = m_model_folder.toStdString();
  if (!d->files || d->files->folder() != folder) d->files = std::make_shared<RunFiles>(folder);
  if (files_named_by(spec).empty()) return refusal(*d->files);  // which reads none then
  if (computesElsewhere()) return {};                           // the files are there, and so is who says what is wrong with them
  const std::string key = fmt::format("{} {} {} {} {}", s.model.name, folder, s.n_prompt, static_cast<int>(m_request.mode), spec.text);
  const auto [known, is_new] = d->refusals.try_emplace(key);
  if (!is_new) return known->second;
  d->file_reader.start([this, key, refusal, files = d->files] {
    const auto tell = [this, key, why = refusal(*files)] {
      d->refusals[key] = why;
      if (!why.isEmpty()) Q_EMIT refusalsChanged();
    };
    QMetaObject::invokeMethod(this, tell, Qt::QueuedConnection);
  });
  return {};
}

bool SessionController::hasExtra() const { return d->extra; }

void SessionController::runExtra(const QString& text) {
  if (!d->has_model || d->unsent || refuses()) return;
  const std::optional<LaneSpec> spec = parsed(text);
  if (!spec) return Q_EMIT extraFailed("the run cannot be read: " + text);
  RunRequest request = m_request;
  request.lanes.push_back(*spec);
  // Beside runs that were stopped before their end it goes as far as they do, and is comparable with them.
  const Snapshot& shown = m_workspace.snapshot();
  if (!shown.lanes.empty()) request.n_generate = std::min(n_generated(shown), std::max(0, request.n_generate));
  d->extra = true;
  d->newest = d->engine->submit(std::move(request));
  d->extras[d->newest] = {m_request.lanes.size(), *spec};
}

void SessionController::endExtra() {
  if (!std::exchange(d->extra, false)) return;
  d->engine->stop();
  Q_EMIT extraEnded();
}

void SessionController::adoptExtra(const SnapshotPtr& result) {
  const auto extra = d->extras.find(result->generation);
  if (extra == d->extras.end() || result->lanes.size() != m_request.lanes.size() + 1) return;
  m_request.lanes.push_back(extra->second.spec);
  d->extras.erase(extra);
  d->generation = result->generation;
  Q_EMIT requestChanged();  // before its result, as for every other change: what is looked at is what was then
  m_workspace.setSnapshot(result);
}

bool SessionController::answersNewest(const Snapshot& snapshot) const { return !d->unsent && snapshot.generation >= d->generation; }

void SessionController::submit() {
  d->typing_pause.stop();
  d->unsent = d->stopped = false;
  if (!d->has_model) return;
  d->newest = d->generation = d->engine->submit(m_request);
  Q_EMIT submitted(d->generation);
  m_workspace.setStale(true);
  if (std::exchange(d->extra, false)) Q_EMIT extraEnded();
}

QStringList SessionController::laneSpecs() const {
  QStringList specs;
  for (const LaneSpec& lane : m_request.lanes) specs << QString::fromStdString(lane.text);
  return specs;
}

bool SessionController::readsNoText(const Snapshot& snapshot) { return snapshot.failure.starts_with(kNoTokenizer); }

QString SessionController::modelName() const { return QString::fromStdString(name_of_model(m_model_folder.toStdString())); }

void SessionController::loadModel(const QString& folder) {
  // The engine runs its last request again on a new model; it must know the newest one first, and without an extra run.
  const bool of_extra = d->newest != d->generation;
  if (const bool stored = !std::exchange(m_view_only, {}).isEmpty(); stored || !d->has_model || d->unsent || of_extra) {
    d->has_model = true;
    submit();
  }
  if (!d->folder_before) d->folder_before = m_model_folder;
  m_model_folder = folder;
  d->newest = d->generation = d->loads = d->engine->load_model(folder.toStdString(), SessionOptions{.record_limit = m_record_limit});
  Q_EMIT submitted(d->generation);
  m_workspace.setStale(true);
  if (std::exchange(d->extra, false)) Q_EMIT extraEnded();
}

void SessionController::setPrompt(const QString& text, PromptText what) {
  const std::string utf8 = text.toStdString();
  const bool same = utf8 == m_request.prompt && what == m_request.prompt_text;
  if ((same && (m_request.prompt_ids.empty() || viewOnly())) || refuses()) return;
  m_request.prompt = utf8;
  m_request.prompt_text = what;
  m_request.prompt_ids.clear();
  d->editing = true;
  Q_EMIT promptEdited();
  d->editing = false;
  Q_EMIT requestChanged();
  endExtra();
  // One edit is answered at once; what follows before the pause is over waits for its end, so that fast typing is one request.
  d->unsent = d->typing_pause.isActive();
  if (!d->unsent) submit();
  d->typing_pause.start();
}

/// What was typed or dragged goes back to what is shown.
bool SessionController::refuses() {
  if (!viewOnly()) return false;
  Q_EMIT refused(m_view_only);
  Q_EMIT requestChanged();
  return true;
}

bool SessionController::showsAnother(int lane) const {
  const Snapshot& shown = m_workspace.snapshot();
  const auto i = static_cast<std::size_t>(std::max(lane, 0));
  if (shown.phase != RunPhase::failed || i >= shown.lanes.size() || i >= m_request.lanes.size()) return false;
  const LaneSnapshot& is = shown.lanes[i];
  const LaneSpec& asked = m_request.lanes[i];
  return is.spec != asked.text && (shown.lanes.size() > m_request.lanes.size() || is.policy != asked.name);
}

bool SessionController::refusesAnother(int lane) {
  if (!showsAnother(lane)) return false;
  Q_EMIT refused(anotherWords());
  Q_EMIT requestChanged();
  return true;
}

std::optional<LaneSpec> SessionController::parsed(const QString& text) {
  try {
    return parse_lane_spec(text.toStdString());
  } catch (const Error& error) {
    Q_EMIT refused(QString::fromUtf8(error.what()));
    return std::nullopt;
  }
}

void SessionController::setLaneSpec(int lane, const QString& text) {
  if (lane < 1 || lane >= static_cast<int>(m_request.lanes.size())) return;
  if (m_request.lanes[lane].text == text.toStdString() || refuses()) return;
  if (const std::optional<LaneSpec> spec = parsed(text)) setLaneSpec(lane, *spec);
}

void SessionController::setLaneSpec(int lane, const LaneSpec& spec) {
  if (lane < 1 || lane >= static_cast<int>(m_request.lanes.size())) return;
  if (m_request.lanes[lane] == spec || refuses() || refusesAnother(lane) || !accepts(spec)) return;
  m_request.lanes[lane] = spec;
  Q_EMIT requestChanged();
  submit();
}

void SessionController::addLane(const QString& text) {
  if (refuses()) return;
  if (const std::optional<LaneSpec> spec = parsed(text)) addLane(*spec);
}

void SessionController::addLane(const LaneSpec& spec) {
  if (refuses() || !accepts(spec) || !roomFor(m_request.lanes.size() + 1)) return;
  m_request.lanes.push_back(spec);
  Q_EMIT requestChanged();
  submit();
}

QString SessionController::noRoomFor(std::size_t runs) {
  return runs <= kMostRuns + 1 ? QString() : QString("there is room for %1 runs beside the full cache; remove some first").arg(kMostRuns);
}

bool SessionController::roomFor(std::size_t runs) {
  const QString why = noRoomFor(runs);
  if (!why.isEmpty()) Q_EMIT refused(QString("Nothing was changed: %1.").arg(why));
  return why.isEmpty();
}

bool SessionController::accepts(const LaneSpec& spec) {
  try {
    check_lane_spec(spec);
    return true;
  } catch (const Error& error) {
    Q_EMIT refused(QString::fromUtf8(error.what()));
    return false;
  }
}

void SessionController::removeLane(int lane) {
  if (lane < 1 || lane >= static_cast<int>(m_request.lanes.size()) || refuses() || refusesAnother(lane)) return;
  m_request.lanes.erase(m_request.lanes.begin() + lane);
  Q_EMIT requestChanged();
  submit();
}

void SessionController::setPromptMode(PromptMode mode) {
  if (mode == m_request.mode || refuses()) return;
  m_request.mode = mode;
  Q_EMIT requestChanged();
  submit();
}

void SessionController::setFollow(Follow follow) {
  if (follow == m_request.follow || refuses()) return;
  m_request.follow = follow;
  Q_EMIT requestChanged();
  submit();
}

void SessionController::setTemperature(double temperature) {
  if (temperature == m_request.temperature || refuses()) return;
  m_request.temperature = temperature;
  Q_EMIT requestChanged();
  submit();
}

void SessionController::setSeed(quint64 seed) {
  if (seed == m_request.seed || refuses()) return;
  m_request.seed = seed;
  Q_EMIT requestChanged();
  submit();
}

void SessionController::setHistory(bool on) {
  if (on == m_request.history || refuses()) return;
  m_request.history = on;
  Q_EMIT requestChanged();
  submit();
}

void SessionController::want(const viz::WantMeasure& wanted) {
  if (wanted.what == viz::WantMeasure::What::history) return setHistory(wanted.on);
  if (wanted.what == viz::WantMeasure::What::causes) return;  // runs of the queue, no measure of these
  MeasureSet measures = m_request.measures;
  if (wanted.what == viz::WantMeasure::What::theta) {
    measures.theta = wanted.on;
  } else if (wanted.what == viz::WantMeasure::What::queries) {
    measures.queries = wanted.on;
  } else if (wanted.what == viz::WantMeasure::What::prediction) {
    measures.prediction = wanted.on;
  } else {
    measures.runner_ups = measures.agreement = wanted.on;
  }
  if (measures == m_request.measures) return;
  // A view that opens on stored results shows what they have.
  if (!wanted.asked && wanted.what != viz::WantMeasure::What::theta && viewOnly()) return;
  if (refuses()) return;
  m_request.measures = measures;
  Q_EMIT requestChanged();
  submit();
}

void SessionController::beginDrag() {
  ++m_drags;
  m_dragging = true;
}

void SessionController::endDrag() { m_dragging = false; }

void SessionController::generate(int nTokens) {
  if (refuses()) return;
  m_request.n_generate = nTokens;
  Q_EMIT requestChanged();
  submit();
}

void SessionController::stop() {
  d->typing_pause.stop();
  d->unsent = false;
  if (d->extra) return endExtra();
  d->stopped = true;
  d->engine->stop();
}

void SessionController::stopLoading() {
  if (d->unsent) submit();
  d->engine->stop();
}

void SessionController::replaceRequest(const RunRequest& request) {
  if (!refuses() && roomFor(request.lanes.size())) openRequest(request);
}

void SessionController::correctRuns(std::vector<LaneSpec> lanes) {
  m_request.lanes = std::move(lanes);
  if (d->editing) return;
  Q_EMIT requestChanged();
  if (!d->stopped) submit();
}

void SessionController::openRequest(const RunRequest& request) {
  m_view_only.clear();
  take(request);
  Q_EMIT requestChanged();
  submit();
}

void SessionController::showStored(const SnapshotPtr& results, const RunRequest& request, const QString& why) {
  stop();
  m_view_only = why;
  take(request);
  auto shown = std::make_shared<Snapshot>(*results);
  shown->generation = d->generation;  // nothing newer is wanted
  Q_EMIT requestChanged();
  m_workspace.setSnapshot(std::move(shown));
  m_workspace.setStale(false);
}

void SessionController::take(const RunRequest& request) {
  const MeasureSet measures = m_request.measures;  // belong to what is on screen
  m_request = request;
  m_request.measures = measures;
  if (m_request.lanes.empty() || m_request.lanes.front() != referenceSpec())
    m_request.lanes.insert(m_request.lanes.begin(), referenceSpec());
}

}  // namespace kvscope
