// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/hand/hand_edits.h"
#include "app/window/session/hand/head_budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "app/window/session/request_key.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {
constexpr const char* kUnread =
    "the pictures are those of the text before, and so are their tokens: an edit can be made once the new text is read";
}

HandEdits::HandEdits(Workspace& workspace, SessionController& controller, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_controller(controller) {
  connect(&workspace, &Workspace::selectionChanged, this, &HandEdits::selectionChanged);
  connect(&workspace, &Workspace::snapshotChanged, this, &HandEdits::snapshotChanged);
  connect(&controller, &SessionController::requestChanged, this, &HandEdits::requestChanged);
  connect(&controller, &SessionController::promptEdited, this, &HandEdits::promptEdited);
  connect(&controller, &SessionController::modelOpened, this, &HandEdits::forgetTold);
  const auto tell = [this] {
    const HeadChoice chosen = heads();
    m_workspace.setEditScope(chosen.layers.empty() ? "all heads" : chosen.kv_heads.empty() ? "this layer" : "this head");
  };
  connect(this, &HandEdits::changed, this, tell);
  connect(this, &HandEdits::said, this, [this](const QString& words) { m_said = words; });
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
  const RunRequest& request = m_controller.request();
  if (request.prompt_ids.empty() && m_workspace.snapshot().prompt != request.prompt) return kUnread;
  if (m_controller.showsAnother(s.lane)) return SessionController::kAnotherRun;
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

EditsMade HandEdits::made(WhatIf::Kind kind) const {
  const bool brings_back = kind == WhatIf::Kind::restore && m_restored_stays;  // where it is gone, though other heads may have it
  if (brings_back) kind = WhatIf::Kind::pin;
  WhatIf one = early(kind);
  // Pinned in all heads is pinned in those, too, in which it is gone.
  const bool gone = kind == WhatIf::Kind::pin && !one.positions.empty() && (brings_back || (one.step >= 0 && held(one).n_gone > 0));
  if (!gone || !m_workspace.snapshot().history) return {one};
  WhatIf back = early(WhatIf::Kind::restore);
  one.step = back.step;
  one.positions = back.positions;
  return {std::move(back), std::move(one)};
}

QString HandEdits::obstacleOf(WhatIf::Kind kind) const {
  if (const QString why = obstacle(); !why.isEmpty()) return why;
  if (const QString why = noRoom(); !why.isEmpty()) return why;
  const WhatIf what_if = made(kind).front();
  if (what_if.positions.empty()) return "the token has not been read at this step";
  if (kind == WhatIf::Kind::restore && !m_workspace.snapshot().history)
    return "restoring needs the uncompressed history, which is switched off";
  return emptyEdit(what_if);
}

/// A run that is no fork yet needs one beside it.
QString HandEdits::noRoom() const {
  if (!edits(edited()).what_ifs.empty()) return {};
  return SessionController::noRoomFor(m_controller.request().lanes.size() + 1);
}

bool HandEdits::refused(const QString& why) {
  m_refused = why;
  if (!why.isEmpty()) Q_EMIT said(QString("Nothing was changed: %1.").arg(why));
  return !why.isEmpty();
}

bool HandEdits::holdsHere(const WhatIf& what_if) const {
  const viz::Selection& s = m_workspace.selection();
  return what_if.on && what_if.step <= m_workspace.step() && what_if.heads.has(s.layer.value_or(-1), s.kv_head.value_or(-1));
}

int HandEdits::edited() const {
  const auto& lanes = m_controller.request().lanes;
  const int selected = m_workspace.selection().lane;
  const auto fork = std::ranges::find(lanes, m_wanted, &LaneSpec::text);
  return m_wanted.empty() || fork == lanes.end() || selected != m_wanted_from ? selected : static_cast<int>(fork - lanes.begin());
}

bool HandEdits::unpins() const {
  if (!obstacle().isEmpty()) return false;
  const LaneEdits made = edits(edited());
  const std::vector<int> tokens = selected(WhatIf::Kind::pin, m_workspace.step()).positions;
  return !tokens.empty() && std::ranges::all_of(tokens, [&](int token) {
    return std::ranges::any_of(made.what_ifs,
                               [&](const WhatIf& w) { return pinsHere(w) && std::ranges::binary_search(w.positions, token); });
  });
}

void HandEdits::unpin() {
  const int lane = edited();
  LaneEdits now = edits(lane);
  const std::vector<int> tokens = selected(WhatIf::Kind::pin, m_workspace.step()).positions;
  HeadChoice heads;
  for (WhatIf& w : now.what_ifs) {
    if (!pinsHere(w)) continue;
    const auto taken = std::erase_if(w.positions, [&](int token) { return std::ranges::binary_search(tokens, token); });
    if (taken > 0) heads = w.heads;
  }
  std::erase_if(now.what_ifs, [](const WhatIf& w) { return w.positions.empty(); });
  m_done.reset();  // what it came to is of no interest any more
  std::vector<WhatIf> others = active_what_ifs(now);
  std::erase_if(others, [this](const WhatIf& w) { return !holdsHere(w); });
  const QString words = unpinnedWords(m_workspace.read(), tokens, heads, others);
  if (now.what_ifs.empty()) {  // there is no run left of which that could be said
    m_wanted.clear();
    m_controller.removeLane(lane);
    Q_EMIT changed();
    return Q_EMIT said({});
  }
  change(lane, now);
  tell(m_controller.request().lanes[static_cast<std::size_t>(lane)].text);
  if (!m_wanted.empty()) m_wanted = m_told;
  Q_EMIT said(words);
}

void HandEdits::edit(WhatIf::Kind kind) {
  if (kind == WhatIf::Kind::pin && unpins()) return unpin();
  if (refused(obstacleOf(kind))) return;
  EditsMade edits = made(kind);
  if (kind == WhatIf::Kind::merge) {
    m_merging = std::move(edits.front());
    Q_EMIT changed();
    Q_EMIT said(QString("Merge %1: select the token whose slot takes it over (Esc: do not merge).")
                    .arg(tokenWords(m_workspace.read(), m_merging->positions)));
    return;
  }
  add(std::move(edits));
}

void HandEdits::editSelected(viz::EditTokens::What what) {
  using What = viz::EditTokens::What;
  using Kind = WhatIf::Kind;
  edit(what == What::pin ? Kind::pin : what == What::evict ? Kind::evict : what == What::merge ? Kind::merge : Kind::restore);
}

HandEdits::Held HandEdits::held(const WhatIf& what_if) const {
  const LaneSnapshot& lane = *m_workspace.lane();
  const std::vector<HeadRecord>& heads = lane.steps[static_cast<std::size_t>(what_if.step)]->heads;
  Held out;
  for (std::size_t h = 0; h < heads.size() && h < lane.fates->heads.size(); ++h) {
    if (!what_if.heads.has(heads[h].layer, heads[h].kv_head)) continue;
    for (const int token : what_if.positions) {
      const bool there = std::ranges::binary_search(heads[h].pos, token);
      ++(there ? out.n_there : out.n_gone);
      if (!there) out.last_there = std::max(out.last_there, fate_at(lane.fates->heads[h], token, what_if.step).left - 1);
    }
  }
  return out;
}

QString HandEdits::emptyEdit(const WhatIf& what_if) const {
  if (what_if.step < 0) return {};  // before the first compression every token of the prompt has its slot
  const auto [n_there, n_gone, last_there] = held(what_if);
  const QString what = tokenWords(m_workspace.read(), what_if.positions), are = what_if.positions.size() == 1 ? "has" : "have";
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
  if (!std::exchange(m_refused, {}).isEmpty()) Q_EMIT said({});
}

void HandEdits::tell(const std::string& fork) {
  m_told = fork;
  m_told_of = textKey(m_controller);
}

/// What was told is of a fork that is gone, or of another text, seed or model.
void HandEdits::forgetTold() {
  const auto& lanes = m_controller.request().lanes;
  if (m_told.empty() || (m_told_of == textKey(m_controller) && std::ranges::find(lanes, m_told, &LaneSpec::text) != lanes.end())) return;
  m_told.clear();
  Q_EMIT said({});
}

void HandEdits::requestChanged() {
  takeRefusalBack();
  // Who types goes on typing, and may see only then that a run is gone: what else is done takes the words back.
  if (!m_following && !std::exchange(m_typed, false) && std::exchange(m_n_lost, 0) > 0) Q_EMIT said({});
  forgetTold();
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
    add({std::move(what_if)});
  }
  Q_EMIT changed();
}

namespace {

std::vector<int> idsOf(const ReadPrompt& prompt) {
  std::vector<int> ids;
  for (const TokenInfo& token : prompt.tokens) ids.push_back(token.id);
  return ids;
}

}  // namespace

/// What is lost goes before anything is computed; where the rest is now is known as soon as the new text has tokens.
void HandEdits::promptEdited() {
  const RunRequest& request = m_controller.request();
  const bool read = !m_workspace.snapshot().tokens.empty();  // of a text that was not taken no token is known to be lost
  if (!m_text && read && std::ranges::any_of(request.lanes, [](const LaneSpec& lane) { return !lane.edits.what_ifs.empty(); }))
    m_text = Text{prompt_of(m_workspace.snapshot()), request.lanes};
  m_done.reset();
  m_typed = true;
  if (!std::exchange(m_told, {}).empty()) Q_EMIT said({});  // it was of the text before
  if (!m_text) return;
  const TextKept same = text_kept(m_text->prompt.text, request.prompt);
  const auto lost = [&](int token) { return same.lost(m_text->prompt, token); };
  keepOnly([&](const LaneEdits& edits) { return edits_without(edits, lost); });
}

/// An edit is about a token, wherever that is now.
void HandEdits::followText() {
  const Snapshot& snapshot = m_workspace.snapshot();
  const RunRequest& request = m_controller.request();
  const bool read = snapshot.phase == RunPhase::idle || snapshot.phase == RunPhase::computing;
  if (!m_text || !read || !m_controller.answersNewest(snapshot) || snapshot.prompt != request.prompt) return;
  const Text before = *m_text;
  const TextChange change = change_between(idsOf(before.prompt), idsOf(prompt_of(snapshot)));
  m_following = true;
  keepOnly([&](const LaneEdits& edits) { return moved_edits(edits, change, request.mode == PromptMode::stream); });
  m_following = false;
  m_text.reset();
}

void HandEdits::keepOnly(const std::function<MovedEdits(const LaneEdits&)>& left) {
  std::set<int> lost;  // each once, by however many edits and runs it was named
  std::vector<LaneSpec> lanes;
  // Runs whose budgets or switches were moved since are about that text, too; edits that it had not come from elsewhere (an undo, a file).
  const auto of_text = [this](const LaneSpec& lane) {
    return std::ranges::all_of(lane.edits.what_ifs, [this](WhatIf w) {
      return std::ranges::any_of(m_text->lanes, [&w](const LaneSpec& one) {
        return std::ranges::any_of(one.edits.what_ifs, [&w](const WhatIf& had) {
          w.on = had.on;
          return w == had;
        });
      });
    });
  };
  for (const LaneSpec& lane : m_controller.request().lanes) {
    const MovedEdits kept = of_text(lane) ? left(lane.edits) : MovedEdits{lane.edits};
    lost.insert(kept.lost.begin(), kept.lost.end());
    if (kept.edits.empty() && !lane.edits.empty()) continue;  // a fork of nothing
    lanes.push_back(kept.edits == lane.edits ? lane : with_edits(lane, kept.edits));
    m_controller.forks().renamed(lane.text, lanes.back().text);
  }
  if (lanes == m_controller.request().lanes) return;
  m_text->lanes = lanes;
  m_controller.correctRuns(std::move(lanes));
  if (lost.empty()) return;
  m_n_lost += lost.size();
  Q_EMIT said(QString("What was done by hand to %1 is taken back: the text has %2 no more.")
                  .arg(m_n_lost == 1 ? "a token" : QString("%1 tokens").arg(m_n_lost), m_n_lost == 1 ? "it" : "them"));
}

void HandEdits::tellOtherTokens() {
  const Snapshot& snapshot = m_workspace.snapshot();
  if (snapshot.phase != RunPhase::idle || !m_controller.answersNewest(snapshot)) return;
  const RunRequest& request = m_controller.request();
  const Named before = std::exchange(
      m_named, {fmt::format("{}\n{} {}", request.prompt, name_of(request.prompt_text), fmt::join(request.prompt_ids, ",")), {}});
  QString words;
  for (const LaneSpec& lane : request.lanes)
    for (const WhatIf& edit : lane.edits.what_ifs)
      for (const int token : edit.positions) {
        const std::string text = viz::token_text(snapshot.tokens, token);
        const auto was = before.texts.find(token);
        const std::string& meant = was == before.texts.end() || before.of != m_named.of ? text : was->second;
        m_named.texts[token] = meant;
        if (meant == text || !words.isEmpty()) continue;
        words = QString(
                    "This model has other tokens, and what was done by hand keeps its places: token %1 is %2 here, and was %3. "
                    "Take the edits out, or make them anew.")
                    .arg(token)
                    .arg(qs(viz::quoted(text)), qs(viz::quoted(meant)));
      }
  const QString told = std::exchange(m_other_tokens, words);
  if (told != words && (!words.isEmpty() || m_said == told)) Q_EMIT said(words);
}

void HandEdits::snapshotChanged() {
  if (m_refused == kUnread && obstacle() != kUnread) takeRefusalBack();  // it can be made now, as was said
  followText();
  tellOtherTokens();
  const Snapshot& snapshot = m_workspace.snapshot();
  for (int i = static_cast<int>(snapshot.lanes.size()) - 1; !m_wanted.empty() && i >= 0; --i) {  // the newest of those alike
    if (snapshot.lanes[static_cast<std::size_t>(i)].spec != m_wanted) continue;
    m_wanted.clear();
    viz::Selection selection = m_workspace.selection();
    selection.lane = i;
    if (m_done && selection.step && m_done->from() > *selection.step) selection.step = m_done->from();
    m_workspace.setSelection(selection);
  }
  const LaneSnapshot* lane = m_workspace.lane();
  if (m_done && m_wanted.empty() && lane && lane->spec == m_done->spec && snapshot.phase == RunPhase::idle) {
    const Done done = *std::exchange(m_done, std::nullopt);
    if (const QString result = resultWords(snapshot, *lane, done.made, m_workspace.step()); !result.isEmpty()) {
      tell(done.spec);
      Q_EMIT said(result);
    }
  }
  Q_EMIT changed();
}

void HandEdits::add(EditsMade made) {
  if (refused(noRoom())) return;  // runs came while a merge waited for its target
  RunRequest request = m_controller.request();
  const int selected = edited();
  if (selected < 0 || selected >= static_cast<int>(request.lanes.size())) return;
  LaneEdits now = edits(selected);
  const bool is_fork = !now.what_ifs.empty();
  const int n_steps = static_cast<int>(m_workspace.lane()->steps.size());
  const int shown = m_workspace.step(), from = made.front().step + 1;
  QString words = madeWords(m_workspace.read(), made);
  now.what_ifs.insert(now.what_ifs.end(), made.begin(), made.end());
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
  m_wanted_from = m_workspace.selection().lane;
  m_done = Done{spec.text, std::move(made)};
  m_controller.replaceRequest(request);
  tell(spec.text);
  Q_EMIT changed();
  Q_EMIT said(words);
}

void HandEdits::change(int lane, const LaneEdits& edits) {
  RunRequest request = m_controller.request();
  if (lane < 1 || lane >= static_cast<int>(request.lanes.size())) return;
  if (m_controller.showsAnother(lane)) return Q_EMIT m_controller.refused(SessionController::anotherWords());
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
  change(lane, withBudget(edits(lane), layer, kvHead, slots));
}

void HandEdits::giveFullCache(int layer, int kvHead) {
  const LaneSnapshot* lane = m_workspace.lane();
  if (lane == nullptr || lane->slots_asked < 0 || !changeable()) return;
  setBudget(m_workspace.selection().lane, layer, kvHead, static_cast<int>(m_workspace.snapshot().tokens.size()) + 1);
}

void HandEdits::resetBudgets(int lane) {
  LaneEdits now = edits(lane);
  now.budgets.clear();
  change(lane, now);
}

}  // namespace kvscope
