// SPDX-License-Identifier: Apache-2.0
// Results that are shown without the model that made them: stored in a session, or as a trace.
#include <algorithm>
#include <cmath>

#include <QFile>
#include <QFileInfo>

#include "app/run_options.h"
#include "app/window/files/document.h"
#include "app/window/files/library.h"
#include "app/window/panels/runs/jobs_panel.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/start_place.h"
#include "app/window/session/undo/runs_undo.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

/// What would compute a trace again, as far as it says.
RunRequest requestOf(const Trace& trace) {
  const Snapshot& s = trace.snapshot;
  RunRequest r;
  r.prompt = s.prompt;
  r.prompt_text = prompt_text_of(s);
  const auto after_prompt = s.tokens.begin() + s.n_prompt;
  const auto names_a_token = [](const TokenInfo& token) { return token.special; };
  const bool untold =
      r.prompt_text == PromptText::plain && s.n_prompt > 1 && std::any_of(s.tokens.begin() + 1, after_prompt, names_a_token);
  if (s.prompt.empty() || untold)
    for (auto t = s.tokens.begin(); t != after_prompt; ++t) r.prompt_ids.push_back(t->id);
  for (const LaneSnapshot& lane : s.lanes) r.lanes.push_back(lane_spec_of_result(lane.spec));
  r.mode = s.prefill_mode ? PromptMode::prefill : PromptMode::stream;
  r.follow = follow_of(s.follow).value_or(Follow::reference);
  if (r.follow == Follow::file)
    for (auto t = after_prompt; t != s.tokens.end(); ++t) r.follow_ids.push_back(t->id);
  if (!s.lanes.empty()) r.n_generate = n_generated(s);
  r.seed = trace.seed;
  if (!std::isnan(s.temperature)) r.temperature = s.temperature;
  r.history = s.history;
  return r;
}

bool isBuiltIn(const QString& model) { return model == QFileInfo(qs(builtInModel())).fileName(); }

}  // namespace

void Document::connectResults() {
  connect(&m_results, &StoredResults::opened, this, &Document::showResults);
  connect(&m_results, &StoredResults::keptOpened, this, &Document::takeKept);
  connect(&m_results, &StoredResults::failed, this, [this](const QString& why) {
    m_awaited.end();
    sayNotOpened(why);
  });
  connect(&m_kept, &KeptResults::refused, this, &Document::sayNotOpened);
  connect(&m_kept, &KeptResults::wanted, this, [this](const SavedSession& session, const QString& why) {
    const auto take = [this, session, file = ownFile()](const Shown& shown) {
      const Aside before = leaveBehind();
      openSession(session, file, before.unread, shown, false);
      return before;
    };
    m_awaited.read({session, take, why}, ownFile().path);
  });
  connect(&m_kept, &KeptResults::notKept, this, &Document::sayWithoutResults);
  connect(&m_results, &StoredResults::kept, this, [this](const QString& path, const QString& why, const SavedSession& written) {
    if (why.isEmpty() && path == m_file.path) m_kept.know(written, path);
    if (!why.isEmpty()) return sayWithoutResults(path, why);
    m.rows.say("Saved to " + path + ", with its results");
    m.jobs.note(QString("%1: written with its results").arg(path));
  });
}

void Document::sayWithoutResults(const QString& path, const QString& why) {
  const QString words = QString("%1 is saved, but without its results (%2): it can be opened only where its model is").arg(path, why);
  m_not_saved.say(words);  // until it is saved with them
}

void Document::takeSnapshot() {
  m_kept.takeSnapshot();
  m_view_only.takeSnapshot();
}

void Document::openTrace(const QString& path) {
  m_awaited.say(path);
  m_results.read(path);
}

void Document::openKept(const QString& path) {
  if (m_model.controller.computesElsewhere())
    return sayNotOpened(
        path + " was not opened: its model is looked for on this machine, and the engine is elsewhere; take the engine here first");
  m_awaited.say(path);
  m_results.readKept(QFileInfo(path).absoluteFilePath(), m_model.controller.modelFolder());
}

/// A model that the file does not name is used only when somebody says so.
void Document::takeKept(const KeptOpening& opening) {
  m_awaited.end();
  if (opening.why.isEmpty()) return showKept(opening);
  sayNotOpened(opening.why);
  if (!opening.asked) return;
  m.rows.notices().show(m_not_opened, m_not_opened, QString("Open it with %1").arg(QFileInfo(opening.model).fileName()), [this, opening] {
    m.rows.notices().dismiss();
    showKept(opening);
  });
}

/// Its runs are computed like any others, on its text, behind those of the command line that named the file.
void Document::showKept(const KeptOpening& opening) {
  const QString name = QFileInfo(opening.path).fileName();
  const Options& options = m_model.options;
  SavedSession s = session();
  s.results = {};
  s.bookmarks.clear();
  s.sweep = {};
  s.model = QFileInfo(opening.model) == QFileInfo(qs(builtInModel())) ? QString() : opening.model;
  s.request = opening.request;
  if (s.request.follow_ids.empty()) s.request.n_generate = m_model.controller.request().n_generate;
  if (QFileInfo(qs(options.session)) == QFileInfo(opening.path)) {
    if (!options.model.empty() && QFileInfo(qs(options.model)) != QFileInfo(opening.model))
      return sayNotOpened(QString("unexpected '--model' beside %1: %2, here %3").arg(opening.path, qs(kKeptSays), opening.model));
    if (is_given(options.given, "--generate")) s.request.n_generate = options.generate;
    if (is_given(options.given, "--prompt-mode")) s.request.mode = m_model.start.request.mode;
    std::vector<LaneSpec> asked = parse_lane_specs(options.lanes);
    std::erase_if(asked, [](const LaneSpec& lane) { return lane.name == reference_policy(); });
    s.request.lanes.insert(s.request.lanes.begin() + 1, asked.begin(), asked.end());
  }
  s.selection = {.lane = static_cast<int>(s.request.lanes.size()) - 1};
  if (m.pages.shows(Page::welcome)) s.page = "inspect";
  const Aside before = leaveBehind();
  m_not_opened.clear();
  m.rows.notices().clear();
  m_model.difference.beginAnew();
  openSession(s, {});
  m.library.use(opening.path);
  const QString text = QString("opened %1: what another program kept, run here beside the full cache").arg(name);
  before.unsaved ? offerBack(before.openedOver(text), before) : m.rows.notices().show(text, text);
  m.rows.notices().markNews();
}

void Document::showResults(const TracePtr& trace, const QString& name) {
  const std::optional<AwaitedResults::OfSession> of = m_awaited.end();
  const Snapshot& s = trace->snapshot;
  const bool has_steps = std::ranges::any_of(s.lanes, [](const LaneSnapshot& lane) { return !lane.steps.empty(); });
  if (has_steps && !trace->has_slots && !of)
    return sayNotOpened(
        QString("%1 does not say which tokens the caches hold: write it with kvscope-cli trace --detail slots or why").arg(name));
  const QString model = qs(s.model.name), file = QFileInfo(name).fileName();
  const bool ours = isBuiltIn(model);
  const RunRequest* const asked = of ? &of->session.request : nullptr;
  if (asked && asked->prompt_ids.empty() && asked->prompt_text == PromptText::plain && asked->prompt != s.prompt)
    return sayNotOpened(
        QString("%1 holds results of another text than its prompt: one of them was changed outside of kvscope, so nothing is "
                "shown. Open it where its model is, and it is computed anew")
            .arg(file));
  const QString what = of ? QString("the model of %1, %2, %3: these are the results that it holds")
                                .arg(file, of->session.model.isEmpty() ? "the one that comes with the program" : of->session.model,
                                     of->refusal.isEmpty() ? "is not here" : of->refusal)
                          : QString("%1 is a trace of %2 (%3, %4)").arg(file, model, qs(s.device), qs(s.precision));
  const QString why = QString("View only: %1. Nothing is computed until a model is open (Ctrl+O)").arg(what);
  const Shown shown{std::shared_ptr<const Snapshot>(trace, &trace->snapshot), why};
  const Aside before = of ? of->take(shown) : takeTrace(*trace, name, shown);
  QString text = QString("View only: %1").arg(what);
  if (before.unsaved) text = before.openedOver(text);
  text += '.';
  if (!m_unread.isEmpty()) text += QString(" %1.").arg(m_unread.join("; "));
  m_view_only.say(*trace, text, ours);
  const QString over = before.openedOver("opened " + file);
  if (before.unsaved) m.rows.notices().showAfter(over, over, kBack, [this, before] { goBack(before); });
  refreshTitle();
}

/// A trace is a session of its own, without a file to save it to.
Aside Document::takeTrace(const Trace& trace, const QString& name, const Shown& shown) {
  const Aside before = leaveBehind();
  endAside();
  m_kept.forget();
  m_model.undo.forget();
  m_model.bookmarks.reset({});
  m.place.want({.lane = static_cast<int>(trace.snapshot.lanes.size()) - 1});
  const QString model = qs(trace.snapshot.model.name);
  m_stored.emplace();
  m_stored->model = isBuiltIn(model) ? QString() : model;
  m_stored->request = requestOf(trace);
  m_file = {};
  m_unread.clear();
  m.library.use(name);
  if (m.pages.shows(Page::welcome)) m.pages.show(Page::inspect);
  m.undo.without([&] { m_model.controller.showStored(shown.results, m_stored->request, shown.why); });
  m_backups.clean();
  return before;
}

}  // namespace kvscope
