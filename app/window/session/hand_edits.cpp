// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/hand_edits.h"

#include <algorithm>
#include <utility>

#include "app/window/session/moved_edits.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

QString tokenWords(const Snapshot& snapshot, const std::vector<int>& positions) {
  if (positions.size() != 1) return QString("%1 tokens").arg(positions.size());
  return QString("token %1 %2").arg(positions.front()).arg(qs(viz::quoted(viz::token_text(snapshot, positions.front()))));
}

const char* pastOf(WhatIf::Kind kind) {
  constexpr const char* kWords[] = {"pinned", "evicted", "merged", "restored"};
  return kWords[static_cast<int>(kind)];
}

QString headsWords(const HeadChoice& chosen) {
  if (chosen.layers.empty() && chosen.kv_heads.empty()) return "all heads";
  if (chosen.kv_heads.empty() && chosen.layers.size() == 1) return QString("all heads of L%1").arg(chosen.layers.front());
  if (chosen.layers.size() == 1 && chosen.kv_heads.size() == 1) return qs(viz::head_name(chosen.layers.front(), chosen.kv_heads.front()));
  return "some heads";
}

/// "With %1 back in %2": how a sentence about the result begins.
QString editWords(const WhatIf& what_if) {
  switch (what_if.kind) {
    case WhatIf::Kind::pin:
      return "With %1 pinned in %2";
    case WhatIf::Kind::evict:
      return "Without %1 in %2";
    case WhatIf::Kind::merge:
      return "With %1 merged in %2";
    case WhatIf::Kind::restore:
      return "With %1 back in %2";
  }
  return {};
}

/// Neighbours as one piece of text.
QString quotedTokens(const Snapshot& snapshot, const std::vector<int>& positions) {
  QStringList words;
  for (std::size_t i = 0, end = 0; i < positions.size(); i = end) {
    for (end = i + 1; end < positions.size() && positions[end] == positions[end - 1] + 1;) ++end;
    words << qs(viz::quoted(viz::token_range_text(snapshot.tokens, positions[i], positions[end - 1], 16)));
  }
  return words.join(", ");
}

}  // namespace

QString handWords(const Snapshot& snapshot, const LaneEdits& edits) {
  QStringList words;
  for (const WhatIf& w : edits.what_ifs) {
    if (!w.on) continue;
    const QString into = w.into >= 0 ? " into " + quotedTokens(snapshot, {w.into}) : QString();
    words << QString("%1 %2%3 in %4").arg(quotedTokens(snapshot, w.positions), pastOf(w.kind), into, headsWords(w.heads));
  }
  for (const BudgetOverride& b : edits.budgets)
    if (b.on) words << QString("own budget for %1").arg(headsWords(b.heads));
  return words.join(" · ");
}

HandEdits::HandEdits(Workspace& workspace, SessionController& controller, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_controller(controller) {
  connect(&workspace, &Workspace::selectionChanged, this, &HandEdits::selectionChanged);
  connect(&workspace, &Workspace::snapshotChanged, this, &HandEdits::snapshotChanged);
  connect(&controller, &SessionController::requestChanged, this, &HandEdits::requestChanged);
  connect(&controller, &SessionController::promptEdited, this, &HandEdits::promptEdited);
  const auto tell = [this] {
    const HeadChoice chosen = heads();
    m_workspace.setEditScope(chosen.layers.empty() ? "all heads" : chosen.kv_heads.empty() ? "this layer" : "this head");
  };
  connect(this, &HandEdits::changed, this, tell);
  connect(&workspace, &Workspace::selectionChanged, this, tell);
}

void HandEdits::setScope(Scope scope) {
  if (scope == m_scope) return;
  m_scope = scope;
  Q_EMIT changed();
}

HeadChoice HandEdits::heads() const {
  const viz::Selection& s = m_workspace.selection();
  HeadChoice out;
  if (m_scope != Scope::all && s.layer) out.layers = {*s.layer};
  if (m_scope == Scope::head && s.layer && s.kv_head) out.kv_heads = {*s.kv_head};
  return out;
}

QString HandEdits::scopeWords() const { return headsWords(heads()); }

QString HandEdits::obstacle() const {
  const viz::Selection& s = m_workspace.selection();
  if (!changeable()) return "these are stored results, and nothing is computed until a model is open (Ctrl+O)";
  if (!m_workspace.lane() || m_workspace.step() < 0) return "no run yet";
  if (!s.tokens) return "select tokens first: in the text, the atlas or the inspector";
  if (m_scope != Scope::all && !s.layer) return "no head is selected: select one, or choose all heads";
  return {};
}

bool HandEdits::changeable() const { return !m_controller.viewOnly(); }

LaneEdits HandEdits::edits(int lane) const {
  const auto& lanes = m_controller.request().lanes;
  return lane >= 0 && lane < static_cast<int>(lanes.size()) ? lanes[static_cast<std::size_t>(lane)].edits : LaneEdits{};
}

/// The fork was made on another run with the same specification.
bool HandEdits::ofTwin(int fork, int run) const {
  const auto& lanes = m_workspace.snapshot().lanes;
  if (fork >= static_cast<int>(lanes.size()) || run >= static_cast<int>(lanes.size())) return false;
  const int parent = lanes[static_cast<std::size_t>(fork)].fork_of;
  return parent >= 0 && parent != run && lanes[static_cast<std::size_t>(parent)].spec == lanes[static_cast<std::size_t>(run)].spec;
}

int HandEdits::fork() const {
  const int selected = m_workspace.selection().lane;
  if (!edits(selected).what_ifs.empty()) return selected;
  const auto& lanes = m_controller.request().lanes;
  if (selected < 0 || selected >= static_cast<int>(lanes.size())) return -1;
  const LaneEdits own = edits(selected);
  for (int i = static_cast<int>(lanes.size()) - 1; i > 0; --i) {
    const LaneEdits other = edits(i);
    const bool same =
        same_policy(lanes[static_cast<std::size_t>(i)], lanes[static_cast<std::size_t>(selected)]) && other.budgets == own.budgets;
    if (same && !other.what_ifs.empty() && !ofTwin(i, selected)) return i;
  }
  return -1;
}

WhatIf HandEdits::selected(WhatIf::Kind kind, int step) const {
  WhatIf what_if{.kind = kind, .step = step, .heads = heads()};
  const StepRecord& read = *m_workspace.lane()->steps[static_cast<std::size_t>(std::max(0, step))];
  for (const viz::TokenRange& range : viz::all_tokens(m_workspace.selection())) {
    const int last = std::min(range.last, read.position);
    for (int t = range.first; t <= last; ++t) what_if.positions.push_back(t);
  }
  return what_if;
}

WhatIf HandEdits::early(WhatIf::Kind kind) const {
  const int shown = m_workspace.step();
  // Nothing but a pin comes before the first compression.
  const WhatIf before = selected(kind, kind == WhatIf::Kind::pin ? shown - 1 : std::max(0, shown - 1));
  if (!before.positions.empty() && emptyEdit(before).isEmpty()) return before;
  WhatIf after = selected(kind, shown);
  return !after.positions.empty() && emptyEdit(after).isEmpty() ? after : before;
}

QString HandEdits::obstacleOf(WhatIf::Kind kind) const {
  if (const QString why = obstacle(); !why.isEmpty()) return why;
  const WhatIf what_if = early(kind);
  if (what_if.positions.empty()) return "the token has not been read at this step";
  if (kind == WhatIf::Kind::restore && !m_workspace.snapshot().shadow)
    return "restoring needs the uncompressed history, which is switched off";
  return emptyEdit(what_if);
}

void HandEdits::edit(WhatIf::Kind kind) {
  if (const QString why = obstacleOf(kind); !why.isEmpty()) {
    Q_EMIT said(QString("Nothing was changed: %1.").arg(why));
    m_refused = true;
    return;
  }
  m_refused = false;
  WhatIf what_if = early(kind);
  if (kind == WhatIf::Kind::merge) {
    m_merging = std::move(what_if);
    Q_EMIT changed();
    Q_EMIT said(QString("Merge %1: select the token whose slot takes it over (Esc: do not merge).")
                    .arg(tokenWords(m_workspace.snapshot(), m_merging->positions)));
    return;
  }
  add(std::move(what_if));
}

QString HandEdits::emptyEdit(const WhatIf& what_if) const {
  const LaneSnapshot& lane = *m_workspace.lane();
  if (what_if.step < 0) return {};  // before the first compression every token of the prompt has its slot
  const std::vector<HeadRecord>& heads = lane.steps[static_cast<std::size_t>(what_if.step)]->heads;
  int n_there = 0, n_gone = 0, last_there = -1;
  for (std::size_t h = 0; h < heads.size() && h < lane.fates->heads.size(); ++h) {
    if (!what_if.heads.has(heads[h].layer, heads[h].kv_head)) continue;
    for (const int token : what_if.positions) {
      const bool there = std::ranges::binary_search(heads[h].pos, token);
      ++(there ? n_there : n_gone);
      if (!there) last_there = std::max(last_there, fate_at(lane.fates->heads[h], token, what_if.step).left - 1);
    }
  }
  const QString what = tokenWords(m_workspace.snapshot(), what_if.positions), are = what_if.positions.size() == 1 ? "has" : "have";
  if (what_if.kind == WhatIf::Kind::restore)
    return n_gone > 0 ? QString() : QString("%1 %2 a slot in %3 already").arg(what, are, scopeWords());
  if (n_there > 0) return {};
  const QString go = last_there < 0 ? QString() : QString("go to step %1, or ").arg(last_there + 1);
  return QString("%1 %2 no slot in %3 at step %4 any more: %5restore it first (R)")
      .arg(what, are, scopeWords())
      .arg(m_workspace.step())
      .arg(go);
}

void HandEdits::cancel() {
  if (!m_merging) return;
  m_merging.reset();
  Q_EMIT changed();
  Q_EMIT said("Nothing was merged.");
}

/// What was refused is of the runs and the place before.
void HandEdits::takeRefusalBack() {
  if (std::exchange(m_refused, false)) Q_EMIT said({});
}

void HandEdits::requestChanged() {
  takeRefusalBack();
  if (!m_following && std::exchange(m_lost_told, false)) Q_EMIT said({});
  const auto& lanes = m_controller.request().lanes;
  if (m_told.empty() || std::ranges::find(lanes, m_told, &LaneSpec::text) != lanes.end()) return;
  m_told.clear();
  Q_EMIT said({});
}

void HandEdits::selectionChanged() {
  takeRefusalBack();
  const LaneSnapshot* lane = m_workspace.lane();
  if (!m_told.empty() && m_wanted.empty() && lane && lane->spec != m_told) {  // it is of another run
    m_told.clear();
    Q_EMIT said({});
  }
  const viz::Selection& s = m_workspace.selection();
  if (m_merging && s.tokens && s.tokens->first == s.tokens->last && !std::ranges::binary_search(m_merging->positions, s.tokens->first)) {
    WhatIf what_if = std::move(*m_merging);
    m_merging.reset();
    what_if.into = s.tokens->first;
    add(std::move(what_if));
  }
  Q_EMIT changed();
}

namespace {

std::vector<int> promptIds(const Snapshot& snapshot) {
  std::vector<int> ids;
  for (int i = 0; i < snapshot.n_prompt; ++i) ids.push_back(snapshot.tokens[static_cast<std::size_t>(i)].id);
  return ids;
}

}  // namespace

void HandEdits::promptEdited() {
  const auto& lanes = m_controller.request().lanes;
  if (!m_text && std::ranges::any_of(lanes, [](const LaneSpec& lane) { return !lane.edits.what_ifs.empty(); }))
    m_text = Text{promptIds(m_workspace.snapshot()), lanes};
  m_done.reset();
  if (std::exchange(m_told, {}).empty()) return;
  Q_EMIT said({});  // it was of the text before
}

/// An edit is about a token, wherever that is now.
void HandEdits::followText() {
  const Snapshot& snapshot = m_workspace.snapshot();
  RunRequest request = m_controller.request();
  if (!m_text || snapshot.phase != RunPhase::idle || !m_controller.answersNewest(snapshot) || snapshot.prompt != request.prompt) return;
  const Text before = *std::exchange(m_text, std::nullopt);
  if (before.lanes != request.lanes) return;  // others since then: they are of the text that is there
  const TextChange change = change_between(before.ids, promptIds(snapshot));
  int n_lost = 0;
  std::vector<LaneSpec> lanes;
  for (const LaneSpec& lane : request.lanes) {
    const MovedEdits moved = moved_edits(lane.edits, change, request.mode == PromptMode::stream);
    n_lost += moved.n_lost;
    if (moved.edits.empty() && !lane.edits.empty()) continue;  // a fork of nothing
    lanes.push_back(moved.edits == lane.edits ? lane : with_edits(lane, moved.edits));
    m_controller.forks().renamed(lane.text, lanes.back().text);
  }
  if (lanes == request.lanes) return;
  request.lanes = std::move(lanes);
  m_following = true;
  m_controller.replaceRequest(request);
  m_following = false;
  m_lost_told = n_lost > 0;
  if (m_lost_told)
    Q_EMIT said(QString("What was done by hand to %1 is taken back: the text has %2 no more.")
                    .arg(n_lost == 1 ? "a token" : QString("%1 tokens").arg(n_lost), n_lost == 1 ? "it" : "them"));
}

void HandEdits::snapshotChanged() {
  followText();
  const Snapshot& snapshot = m_workspace.snapshot();
  for (int i = static_cast<int>(snapshot.lanes.size()) - 1; !m_wanted.empty() && i >= 0; --i) {  // the newest of those alike
    if (snapshot.lanes[static_cast<std::size_t>(i)].spec != m_wanted) continue;
    m_wanted.clear();
    viz::Selection selection = m_workspace.selection();
    selection.lane = i;
    if (m_done && selection.step && m_done->from > *selection.step) selection.step = m_done->from;
    m_workspace.setSelection(selection);
  }
  const LaneSnapshot* lane = m_workspace.lane();
  if (m_done && m_wanted.empty() && lane && lane->spec == m_done->spec && snapshot.phase == RunPhase::idle) {
    const QString result = resultWords(*lane);
    const Done done = *std::exchange(m_done, std::nullopt);
    if (!result.isEmpty()) Q_EMIT said(QString("%1, after step %2: %3").arg(done.edit).arg(done.from - 1).arg(result));
  }
  Q_EMIT changed();
}

/// "the next token is «8» again, as with the full cache; KL 4.50 → 0.02 nats."
QString HandEdits::resultWords(const LaneSnapshot& fork) const {
  const Snapshot& snapshot = m_workspace.snapshot();
  const int step = m_workspace.step();
  if (fork.fork_of < 0 || fork.fork_of >= static_cast<int>(snapshot.lanes.size()) || step < 0) return {};
  const LaneSnapshot& base = snapshot.lanes[static_cast<std::size_t>(fork.fork_of)];
  if (step >= static_cast<int>(std::min(base.steps.size(), fork.steps.size()))) return {};
  const StepRecord &with = *fork.steps[static_cast<std::size_t>(step)], &without = *base.steps[static_cast<std::size_t>(step)];
  const QString is = qs(viz::quoted(viz::text_of_id(snapshot, with.top1)));
  const QString answer = with.top1 == without.top1 ? QString("the next token stays %1").arg(is)
                         : with.top1_same          ? QString("the next token is %1 again, as with the full cache").arg(is)
                                                   : QString("the next token becomes %1").arg(is);
  return QString("%1; KL %2 → %3 nats.").arg(answer, qs(viz::format_number(without.kl)), qs(viz::format_number(with.kl)));
}

void HandEdits::add(WhatIf what_if) {
  RunRequest request = m_controller.request();
  const int selected = m_workspace.selection().lane;
  if (selected < 0 || selected >= static_cast<int>(request.lanes.size())) return;
  LaneEdits now = edits(selected);
  const bool is_fork = !now.what_ifs.empty();
  const int n_steps = static_cast<int>(m_workspace.lane()->steps.size());
  const int shown = m_workspace.step(), from = what_if.step + 1;
  const Snapshot& snapshot = m_workspace.snapshot();
  QString words = QString("%1 %2 by hand in %3, after step %4")
                      .arg(tokenWords(snapshot, what_if.positions), pastOf(what_if.kind), scopeWords())
                      .arg(what_if.step);
  const QString edit = editWords(what_if).arg(quotedTokens(snapshot, what_if.positions), scopeWords());
  now.what_ifs.push_back(std::move(what_if));
  const LaneSpec spec = with_edits(request.lanes[static_cast<std::size_t>(selected)], now);
  const int lane = is_fork ? selected : static_cast<int>(request.lanes.size());
  if (is_fork) {
    m_controller.forks().renamed(request.lanes[static_cast<std::size_t>(selected)].text, spec.text);
    request.lanes[static_cast<std::size_t>(selected)] = spec;
  } else {
    m_controller.forks().made(spec.text, request.lanes, selected);
    request.lanes.push_back(spec);
  }
  words += is_fork ? QString(", in run %1.").arg(qs(viz::lane_letter(lane)))
                   : QString(", in run %1 beside run %2.").arg(qs(viz::lane_letter(lane)), qs(viz::lane_letter(selected)));
  if (from >= n_steps && request.follow != Follow::file) {
    ++request.n_generate;
    words += " One more token is generated, because the next step shows the effect.";
  } else if (from > shown) {
    words += QString(" Step %1 was computed before that: step %2 is the first to see it.").arg(shown).arg(from);
  }
  m_wanted = spec.text;
  m_done = Done{spec.text, edit, from};
  m_controller.replaceRequest(request);
  m_told = spec.text;
  Q_EMIT changed();
  Q_EMIT said(words);
}

void HandEdits::change(int lane, const LaneEdits& edits) {
  RunRequest request = m_controller.request();
  if (lane < 1 || lane >= static_cast<int>(request.lanes.size())) return;
  LaneSpec& spec = request.lanes[static_cast<std::size_t>(lane)];
  const LaneSpec next = with_edits(spec, edits);
  if (next == spec) return;
  m_controller.forks().renamed(spec.text, next.text);
  spec = next;
  m_controller.replaceRequest(request);
  Q_EMIT changed();
}

void HandEdits::setOn(int row, bool on) {
  const int lane = fork();
  LaneEdits now = edits(lane);
  if (row < 0 || row >= static_cast<int>(now.what_ifs.size())) return;
  now.what_ifs[static_cast<std::size_t>(row)].on = on;
  change(lane, now);
}

void HandEdits::remove(int row) {
  const int lane = fork();
  LaneEdits now = edits(lane);
  if (row < 0 || row >= static_cast<int>(now.what_ifs.size())) return;
  if (now.what_ifs.size() == 1) return dropFork();
  now.what_ifs.erase(now.what_ifs.begin() + row);
  change(lane, now);
}

void HandEdits::dropFork() {
  const int lane = fork();
  if (lane < 1) return;
  m_controller.removeLane(lane);
  Q_EMIT changed();
}

void HandEdits::setBudget(int lane, int layer, int kvHead, std::optional<int> slots) {
  LaneEdits now = edits(lane);
  // What was set for this head alone goes; sets of heads stay below the new one. A layer takes the place of its heads.
  const HeadChoice head{{layer}, kvHead < 0 ? std::vector<int>{} : std::vector<int>{kvHead}};
  const auto gone =
      std::erase_if(now.budgets, [&](const BudgetOverride& b) { return b.heads == head || (kvHead < 0 && b.heads.layers == head.layers); });
  // A head that has its budget from its layer gives up that one.
  if (!slots && gone == 0) std::erase_if(now.budgets, [&](const BudgetOverride& b) { return b.heads.has(layer, std::max(0, kvHead)); });
  if (slots) now.budgets.push_back({.heads = head, .slots = slots});
  change(lane, now);
}

void HandEdits::resetBudgets(int lane) {
  LaneEdits now = edits(lane);
  now.budgets.clear();
  change(lane, now);
}

}  // namespace kvscope
