// SPDX-License-Identifier: Apache-2.0
// Results that are shown without the model that made them: stored in a session, or as a trace.
#include <algorithm>

#include <QFile>
#include <QFileInfo>

#include "app/window/panels/runs/jobs_panel.h"
#include "app/window/shell/main_window.h"
#include "app/window/shell/panel_paint.h"
#include "app/window/shell/rows.h"
#include "app/window/session/stored_results.h"

namespace kvscope {

namespace {

/// What would compute a trace again, as far as it says.
RunRequest requestOf(const Trace& trace) {
  const Snapshot& s = trace.snapshot;
  RunRequest r;
  r.prompt = s.prompt;
  const auto after_prompt = s.tokens.begin() + s.n_prompt;
  if (s.prompt.empty())
    for (auto t = s.tokens.begin(); t != after_prompt; ++t) r.prompt_ids.push_back(t->id);
  for (const LaneSnapshot& lane : s.lanes) r.lanes.push_back(lane.spec);
  r.mode = s.prefill_mode ? PromptMode::prefill : PromptMode::stream;
  r.follow = follow_of(s.follow).value_or(Follow::reference);
  if (r.follow == Follow::file)
    for (auto t = after_prompt; t != s.tokens.end(); ++t) r.follow_ids.push_back(t->id);
  if (!s.lanes.empty()) {
    const int steps = static_cast<int>(s.lanes.front().steps.size());
    r.n_generate = std::max(0, s.prefill_mode ? steps - 1 : steps - s.n_prompt);
  }
  r.seed = trace.seed;
  r.shadow = s.shadow;
  return r;
}

}  // namespace

void MainWindow::buildResults() {
  m_results = std::make_unique<StoredResults>();
  connect(m_results.get(), &StoredResults::opened, this, &MainWindow::showResults);
  connect(m_results.get(), &StoredResults::failed, this, &MainWindow::sayNotOpened);
  connect(m_results.get(), &StoredResults::kept, this, [this](const QString& path, const QString& why) {
    if (why.isEmpty()) return m_jobs->note(QString("%1: written with its results").arg(path));
    const QString words = QString("%1 is saved, but without its results (%2): it can be opened only where its model is").arg(path, why);
    m_notices->show(words, words);
  });
}

bool MainWindow::isTrace(const QString& path) {
  QFile file(path);
  return path.endsWith(".json", Qt::CaseInsensitive) && file.open(QIODevice::ReadOnly) && file.read(4096).contains("\"kvscope.trace/");
}

void MainWindow::openTrace(const QString& path) {
  m_stored.reset();
  m_notices->show(path + " is being read", path);
  m_results->read(path);
}

void MainWindow::showResults(const TracePtr& trace, const QString& name) {
  const Snapshot& s = trace->snapshot;
  const bool has_steps = std::ranges::any_of(s.lanes, [](const LaneSnapshot& lane) { return !lane.steps.empty(); });
  if (has_steps && !trace->has_slots && !m_stored)
    return sayNotOpened(QString("%1 does not say which tokens the caches hold, so there is nothing to show: write it with kvscope-cli trace --detail why").arg(name));
  const QString model = qs(s.model.name), file = QFileInfo(name).fileName();
  const QString built_in = QFileInfo(qs(builtInModel())).fileName();
  const bool ours = model == built_in;
  const bool of_session = m_stored.has_value();
  if (!of_session) {
    m_undo.clear();
    m_bookmarks.reset({});
    m_pending = viz::Selection{.lane = static_cast<int>(s.lanes.size()) - 1};
    m_stored.emplace();
    m_stored->model = ours ? QString() : model;
    m_stored->request = requestOf(*trace);
    m_session_path.clear();
    m_recent->add(m_unseen = name);
    if (page() == Page::welcome) showPage(Page::inspect);
  }
  if (of_session) m_pending = m_stored->selection;  // what was shown while it was read may have taken it
  const QString what = of_session ? QString("the model of %1, %2, is not here: these are the results that it holds").arg(file, m_stored->model)
                                  : QString("%1 is a trace of %2 (%3, %4)").arg(file, model, qs(s.device), qs(s.precision));
  const QString why = QString("View only: %1. Nothing is computed until a model is open (Ctrl+O)").arg(what);
  m_undoing = true;
  m_controller.showStored(std::shared_ptr<const Snapshot>(trace, &trace->snapshot), m_stored->request, why);
  m_undoing = false;
  m_modified = false;
  QString text = QString("View only: %1.").arg(what);
  if (of_session && !m_stored_notes.isEmpty()) text += QString(" %1.").arg(m_stored_notes.join("; "));
  for (const std::string& what_is : trace->missing) text += QString(" %1.").arg(qs(what_is));
  QStringList words;
  for (const std::string& warning : trace->warnings) words << qs(warning);
  if (!trace->warnings.empty()) text += QString(" %1 in it: %2").arg(trace->warnings.size() == 1 ? "A warning" : "Warnings", words.join("; "));
  const auto open_here = [this] {
    m_notices->dismiss();
    m_controller.loadModel(qs(builtInModel()));
  };
  const auto open_other = [this] { openModel(); };
  m_say_view_only = [=, this](const QString& before) {
    const QString all = before + text;
    ours ? m_notices->show(all, all, "Compute it here", open_here, "Open a model…", open_other) : m_notices->show(all, all, "Open a model…", open_other);
  };
  m_say_view_only({});
  refreshTitle();
}

}  // namespace kvscope
