// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/kept_results.h"

#include <utility>

#include <QFileInfo>

#include "app/window/rows/rows.h"
#include "app/window/session/request_key.h"
#include "app/window/session/stored_results.h"
#include "app/window/session/window_model.h"

namespace kvscope {

KeptResults::KeptResults(WindowModel& model, StoredResults& results, MessageBar& notices)
    : m_model(model), m_results(results), m_notices(notices) {
  connect(&m_results, &StoredResults::modelIsAnother, this, &KeptResults::sayAnother);
  connect(&m_results, &StoredResults::unusable, this, &KeptResults::sayUnusable);
}

void KeptResults::follow(const SavedSession& session, const QString& path, const QString& folder, bool loads) {
  forget();
  if (session.results.zlib.isEmpty()) return;
  m_session = m_known = session;
  m_path = path;
  m_loads = loads;
  m_results.examine(session, path);
  if (!session.results.model_sha256.isEmpty() && !m_model.controller.computesElsewhere())
    m_results.compareModel(session.results, path, folder);
}

void KeptResults::forget() {
  m_session.reset();
  m_known.reset();
}

void KeptResults::know(const SavedSession& written) { m_known = written; }

SavedSession KeptResults::completed(SavedSession session) const {
  const bool same = m_known && m_known->model == session.model && workKey(m_known->request) == workKey(session.request);
  if (same && session.results.zlib.isEmpty()) session.results = m_known->results;
  return session;
}

/// A model that is there but does not open, unless the session is another one by then.
void KeptResults::takeSnapshot() {
  const Snapshot& s = m_model.workspace.snapshot();
  if (!m_session || !m_loads || s.phase == RunPhase::loading || !m_model.controller.answersNewest(s)) return;
  m_loads = false;
  if (s.phase != RunPhase::failed || s.loading.empty() || workKey(m_session->request) != workKey(m_model.controller.request())) return;
  const SavedSession session = *std::exchange(m_session, std::nullopt);
  if (!m_model.options.ofSession()) Q_EMIT wanted(session, QString("does not open (%1)").arg(QString::fromStdString(s.failure)));
}

/// What is shown is not what was saved, and saving must not write it again.
void KeptResults::sayUnusable(const QString& path, const QString& why) {
  if (!m_session || m_path != path || m_model.controller.viewOnly()) return;
  forget();
  const QString text = QString("the results that %1 holds %2: what is shown is computed anew").arg(QFileInfo(path).fileName(), why);
  m_notices.show(text, text);
}

/// Its figures would be another model's, and what was saved would be lost with the next saving.
void KeptResults::sayAnother(const QString& path) {
  if (!m_session || m_path != path || m_model.controller.viewOnly()) return;
  m_known.reset();
  const QString text = QString("%1 was saved with another model than the one that is in %2 now: what is shown is computed with that one")
                           .arg(QFileInfo(path).fileName(), m_model.controller.modelFolder());
  if (m_model.options.ofSession()) return Q_EMIT refused(text);
  m_notices.show(text, text, "Show what was saved", [this, path] {
    m_notices.dismiss();
    if (m_session && m_path == path) Q_EMIT wanted(*m_session, "is another one by now");
  });
}

}  // namespace kvscope
