// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/kept_results.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <QFileInfo>

#include "app/window/rows/rows.h"
#include "app/window/session/request_key.h"
#include "app/window/session/stored_results.h"
#include "app/window/session/window_model.h"
#include "core/error.h"
#include "io/files.h"

namespace kvscope {

KeptResults::KeptResults(WindowModel& model, StoredResults& results, MessageBar& notices)
    : m_model(model), m_results(results), m_notices(notices) {
  connect(&m_results, &StoredResults::modelIsAnother, this, &KeptResults::sayAnother);
  connect(&m_results, &StoredResults::filesAreOthers, this, &KeptResults::sayOtherFiles);
  connect(&m_results, &StoredResults::unusable, this, &KeptResults::sayUnusable);
}

void KeptResults::follow(const SavedSession& session, const QString& path, const QString& folder, bool loads, const QStringList& left_out) {
  forget();
  if (session.results.zlib.isEmpty()) return;
  m_session = m_known = session;
  m_path = path;
  m_left_out = left_out;
  m_loads = loads;
  m_results.examine(session, path);
  if (!m_model.controller.computesElsewhere()) m_results.compareModel(session, path, folder);
}

void KeptResults::forget() {
  giveUp("another session was opened before they were computed");
  m_session.reset();
  m_known.reset();
}

void KeptResults::know(const SavedSession& written, const QString& path) {
  m_known = written;
  m_known->request.lanes = with_files_beside(written.request.lanes, folder_of(path.toStdString()));
}

SavedSession KeptResults::completed(SavedSession session, const QString& path, const QString& before) const {
  const bool shown_only = !session.results.zlib.isEmpty();  // they cannot be told otherwise, and have their names for files
  const bool same = m_known && m_known->model == session.model && workKey(m_known->request) == workKey(session.request);
  if (same && !shown_only) session.results = m_known->results;
  const auto told = [&session](const QString& file) { return with_files_told(session.request.lanes, folder_of(file.toStdString())); };
  const std::vector<LaneSpec> as_before = told(before.isEmpty() ? path : before);
  std::vector<LaneSpec> lanes = shown_only ? as_before : told(path);
  if (lanes != as_before) session.results = {};  // keep() writes them with the new names
  session.request.lanes = std::move(lanes);
  return session;
}

/// A model that is there but does not open, unless the session is another one by then.
void KeptResults::takeSnapshot() {
  seeTables();
  keepAwaited();
  const Snapshot& s = m_model.workspace.snapshot();
  if (!m_session || !m_loads || s.phase == RunPhase::loading || !m_model.controller.answersNewest(s)) return;
  m_loads = false;
  if (s.phase != RunPhase::failed || s.loading.empty() || workKey(m_session->request) != workKey(m_model.controller.request())) return;
  const SavedSession session = *std::exchange(m_session, std::nullopt);
  if (!m_model.options.ofSession()) Q_EMIT wanted(session, QString("does not open (%1)").arg(QString::fromStdString(s.failure)));
}

/// What files of runs were just now, when they were read: what is written into them later is not what was computed with.
void KeptResults::seeTables() {
  const Snapshot& s = m_model.workspace.snapshot();
  if (s.phase != RunPhase::idle || s.generation == m_tables_of || !m_model.controller.answersNewest(s)) return;
  m_tables_of = s.generation;
  m_tables.clear();
  if (m_model.controller.viewOnly() || m_model.controller.computesElsewhere()) return;
  try {
    for (const RunFile& file : files_beside_model(m_model.controller.request().lanes, m_model.controller.modelFolder().toStdString()))
      m_tables.push_back({file.name, SeenFile::now(QString::fromStdString(file.path))});
  } catch (const Error&) {
    m_tables.clear();  // of runs that cannot be there are no results
  }
}

/// The results with the names of files that a session in another folder has for them.
static SnapshotPtr withNames(const SnapshotPtr& results, const std::vector<LaneSpec>& shown, const std::vector<LaneSpec>& told) {
  if (shown == told || shown.size() != told.size()) return results;
  auto out = std::make_shared<Snapshot>(*results);
  for (LaneSnapshot& lane : out->lanes) {
    const auto place = std::ranges::find(shown, lane.spec, &LaneSpec::text);
    if (place == shown.end()) continue;
    const LaneSpec& other = told[static_cast<std::size_t>(place - shown.begin())];
    lane.spec = other.text;
    for (const auto& [key, value] : other.given)
      for (ParamText& param : lane.params)
        if (param.key == key && std::ranges::find(place->given, std::pair(key, value)) == place->given.end()) param.value = value;
  }
  return out;
}

bool KeptResults::stillComputed() const {
  const Snapshot& s = m_model.workspace.snapshot();
  return !m_model.controller.answersNewest(s) || s.phase == RunPhase::loading || s.phase == RunPhase::computing;
}

/// By the names that its session has for files.
KeptResults::Said KeptResults::keep(const QString& path, const SavedSession& written) {
  const SessionController& controller = m_model.controller;
  const Snapshot& s = m_model.workspace.snapshot();
  m_awaited.reset();
  const bool has_them = !written.results.zlib.isEmpty();
  const QString words = has_them ? ", with its results" : "";
  const auto without = [&](const char* why) { return Said{words, has_them ? "" : why}; };
  if (controller.viewOnly()) return without("those that are shown were not computed here");
  if (m_model.options.synthetic_size) return {words};
  // A model that was refused leaves the results of the one before.
  const bool refused = s.phase == RunPhase::failed && !s.loading.empty() && s.prompt == written.request.prompt &&
                       std::ranges::equal(s.lanes, controller.request().lanes, {}, &LaneSnapshot::spec, &LaneSpec::text);
  if (stillComputed()) {
    m_awaited = Awaited{path, controller.modelFolder(), written, workKey(controller.request())};
    return {has_them ? words : "; its results are written once they are computed"};
  }
  if (s.phase == RunPhase::failed && !refused) return without("they could not be computed");
  if (s.lanes.empty()) return {words};
  std::vector<SeenTable> tables = m_tables;
  for (SeenTable& table : tables) table.name = name_told(table.name, folder_of(path.toStdString()));
  m_results.keep(path, written, withNames(m_model.workspace.snapshotPtr(), controller.request().lanes, written.request.lanes),
                 controller.computesElsewhere() ? QString() : controller.modelFolder(), tables);
  return {has_them ? words : "; its results are being written"};
}

void KeptResults::giveUp(const QString& why) {
  if (!m_awaited) return;
  const Awaited awaited = *std::exchange(m_awaited, std::nullopt);
  if (awaited.written.results.zlib.isEmpty()) Q_EMIT notKept(awaited.path, why);  // else the file has some
}

void KeptResults::keepAwaited() {
  if (!m_awaited) return;
  const SessionController& controller = m_model.controller;
  if (controller.viewOnly() || controller.modelFolder() != m_awaited->model || workKey(controller.request()) != m_awaited->work)
    return giveUp("it was changed before they were computed");
  if (stillComputed()) return;
  const Awaited awaited = *m_awaited;
  if (const Said said = keep(awaited.path, awaited.written); !said.why_not.isEmpty()) Q_EMIT notKept(awaited.path, said.why_not);
}

/// One message stands in the place of another.
QString KeptResults::withLeftOut(QString text) const { return m_left_out.isEmpty() ? text : text + "; " + m_left_out.join("; "); }

/// What is shown is not what was saved, and saving must not write it again.
void KeptResults::sayUnusable(const QString& path, const QString& why) {
  if (!m_session || m_path != path || m_model.controller.viewOnly()) return;
  forget();
  const QString text =
      withLeftOut(QString("the results that %1 holds %2: what is shown is computed anew").arg(QFileInfo(path).fileName(), why));
  m_notices.show(text, text);
}

/// Its figures would be another model's, and what was saved would be lost with the next saving.
void KeptResults::sayAnother(const QString& path, bool known) {
  const QString words = known ? "%1 was saved with another model than the one that is in %2 now: what is shown is computed with that one"
                              : "%1 was saved after the files of its model had changed: whether what is in %2 now computed its results is "
                                "not known, and what is shown is computed anew";
  say(path, words.arg(QFileInfo(path).fileName(), m_model.controller.modelFolder()),
      known ? "is another one by now" : "had changed before they were saved");
}

void KeptResults::sayOtherFiles(const QString& path, const QStringList& names) {
  say(path,
      QString("%1 was saved with another %2 than what is there now: what is shown is computed with that")
          .arg(QFileInfo(path).fileName(), names.join(", ")),
      "would read another " + names.join(", ") + " by now");
}

void KeptResults::say(const QString& path, const QString& text, const QString& why) {
  if (!m_session || m_path != path || m_model.controller.viewOnly()) return;
  m_known.reset();
  if (m_model.options.ofSession()) return Q_EMIT refused(text);
  const QString words = withLeftOut(text);
  m_notices.show(words, words, "Show what was saved", [this, path, why] {
    m_notices.dismiss();
    if (m_session && m_path == path) Q_EMIT wanted(*m_session, why);
  });
}

}  // namespace kvscope
