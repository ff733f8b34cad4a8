// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/workspace.h"

#include <algorithm>
#include <utility>

#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

/// Tokens that both texts begin with.
int commonPrefix(const Snapshot& a, const Snapshot& b) {
  const auto end = std::mismatch(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end(),
                                 [](const TokenInfo& x, const TokenInfo& y) { return x.id == y.id; });
  return static_cast<int>(end.first - a.tokens.begin());
}

/// The lane that was looked at, wherever it is now. A fork that is taken back leads to where it came from.
int laneNow(const Snapshot& before, const Snapshot& now, int lane) {
  if (lane < 0 || lane >= static_cast<int>(before.lanes.size())) return lane;
  if (const int place = viz::place_now(viz::specs_of(before), viz::specs_of(now), lane); place >= 0) return place;
  const int parent = before.lanes[static_cast<std::size_t>(lane)].fork_of;
  return parent >= 0 && parent < lane ? laneNow(before, now, parent) : lane;
}

void clampSelection(viz::Selection& s, const Snapshot& snapshot) {
  const int n_lanes = static_cast<int>(snapshot.lanes.size());
  s.lane = n_lanes == 0 ? std::max(s.lane, 0) : std::clamp(s.lane, 0, n_lanes - 1);
  if (snapshot.phase == RunPhase::empty && snapshot.lanes.empty()) return;
  if (s.layer && (*s.layer < 0 || *s.layer >= snapshot.model.n_layers)) s.layer.reset();
  if (!s.layer) s.kv_head.reset();
  if (s.kv_head && (*s.kv_head < 0 || *s.kv_head >= snapshot.model.n_kv_heads)) s.kv_head.reset();
  const int n_tokens = static_cast<int>(snapshot.tokens.size());
  if (s.tokens) {
    s.tokens->first = std::max(s.tokens->first, 0);
    s.tokens->last = std::min(s.tokens->last, n_tokens - 1);
    if (s.tokens->first > s.tokens->last) s.tokens.reset();
  }
  std::erase_if(s.more_tokens, [n_tokens](const viz::TokenRange& r) { return r.first < 0 || r.last >= n_tokens || r.last < r.first; });
  if (!s.tokens && !s.more_tokens.empty()) {
    s.tokens = s.more_tokens.back();
    s.more_tokens.pop_back();
  }
  if (s.slot && (*s.slot < 0 || *s.slot >= n_tokens)) s.slot.reset();
  const int n_steps = n_lanes == 0 ? 0 : static_cast<int>(snapshot.lanes[s.lane].steps.size());
  // Steps that are not computed yet may be counted and shown later: a run that is computed again comes in parts.
  const bool idle = snapshot.phase == RunPhase::idle;
  if (s.steps && (s.steps->first < 0 || s.steps->last < s.steps->first || (idle && s.steps->first >= n_steps))) s.steps.reset();
  if (s.step && (*s.step < 0 || (idle && *s.step >= n_steps))) s.step.reset();
}

}  // namespace

Workspace::Workspace(QObject* parent) : QObject(parent), m_snapshot(std::make_shared<const Snapshot>()), m_theme(&viz::dark_theme()) {
  m_dim_after.setSingleShot(true);
  m_dim_after.setInterval(kDimAfterMs);
  connect(&m_dim_after, &QTimer::timeout, this, [this] {
    m_dimmed = true;
    Q_EMIT dimmedChanged();
  });
}

int Workspace::step() const {
  const LaneSnapshot* current = lane();
  if (!current) return -1;
  const int last = static_cast<int>(current->steps.size()) - 1;
  return m_selection.step ? std::min(*m_selection.step, last) : last;
}

bool Workspace::atLatestStep() const {
  const LaneSnapshot* current = lane();
  return !m_selection.step || !current || *m_selection.step >= static_cast<int>(current->steps.size()) - 1;
}

const LaneSnapshot* Workspace::lane() const {
  const int n = static_cast<int>(m_snapshot->lanes.size());
  return m_selection.lane >= 0 && m_selection.lane < n ? &m_snapshot->lanes[m_selection.lane] : nullptr;
}

const StepRecord* Workspace::stepRecord() const {
  const LaneSnapshot* current = lane();
  const int s = step();
  return current && s >= 0 ? current->steps[s].get() : nullptr;
}

StepVotes Workspace::stepVotes() const {
  const LaneSnapshot* current = lane();
  const int s = step();
  return current && s >= 0 ? m_votes.of(current->steps[static_cast<std::size_t>(s)]) : StepVotes{};
}

void Workspace::setSnapshot(SnapshotPtr snapshot) {
  if (!snapshot || snapshot == m_snapshot) return;
  const SnapshotPtr before = std::exchange(m_snapshot, std::move(snapshot));
  viz::Selection selection = m_selection;
  selection.lane = laneNow(*before, *m_snapshot, selection.lane);
  // A token is the same token only while everything before it is the same text.
  const int kept = before->tokens.empty() ? 0 : commonPrefix(*before, *m_snapshot);
  if (!before->tokens.empty()) {
    if (selection.tokens && selection.tokens->last >= kept) selection.tokens.reset();
    std::erase_if(selection.more_tokens, [kept](const viz::TokenRange& r) { return r.last >= kept; });
    if (selection.slot && *selection.slot >= kept) selection.slot.reset();
  }
  clampSelection(selection, *m_snapshot);
  const bool selection_changed = !(selection == m_selection);
  m_selection = selection;
  const bool hovered = !(m_hover == viz::Hover{});
  m_hover = {};
  Q_EMIT snapshotChanged();
  if (selection_changed) Q_EMIT selectionChanged();
  if (hovered) Q_EMIT hoverChanged();
}

void Workspace::setSelection(const viz::Selection& selection) {
  viz::Selection clamped = selection;
  clampSelection(clamped, *m_snapshot);
  if (clamped == m_selection) return;
  m_selection = clamped;
  Q_EMIT selectionChanged();
}

void Workspace::setHover(const viz::Hover& hover) {
  if (hover == m_hover) return;
  m_hover = hover;
  Q_EMIT hoverChanged();
}

void Workspace::setTheme(const viz::Theme& theme) {
  if (&theme == m_theme) return;
  m_theme = &theme;
  Q_EMIT themeChanged();
}

void Workspace::setStepMarks(const std::vector<viz::StepMark>& marks) {
  m_step_marks = marks;
  Q_EMIT stepMarksChanged();
}

void Workspace::setWaitingRuns(const std::vector<viz::WaitingRun>& runs) {
  if (runs.empty() && m_waiting.empty()) return;
  m_waiting = runs;
  Q_EMIT waitingRunsChanged();
}

void Workspace::setEmphasis(const std::optional<Category>& category) {
  if (category == m_emphasis) return;
  m_emphasis = category;
  Q_EMIT teachingChanged();
}

void Workspace::setGhostSteps(int steps) {
  steps = std::max(0, steps);
  if (steps == m_ghost_steps) return;
  m_ghost_steps = steps;
  Q_EMIT teachingChanged();
}

void Workspace::setFound(const std::vector<viz::TokenRange>& places) {
  if (places == m_found) return;
  m_found = places;
  Q_EMIT foundChanged();
}

void Workspace::setCauses(const viz::HeadCauses& causes) {
  // n/a differs from itself: without it in between, a change is a change. Of no head there is none.
  if (causes.n_heads == 0 && causes == m_causes) return;
  m_causes = causes;
  Q_EMIT causesChanged();
}

BreakPoint Workspace::breakPoint(int lane) const {
  return lane >= 0 && lane < static_cast<int>(m_breaks.size()) ? m_breaks[static_cast<std::size_t>(lane)] : BreakPoint{};
}

void Workspace::setBreakPoints(const std::vector<BreakPoint>& breaks) {
  if (breaks == m_breaks) return;
  m_breaks = breaks;
  Q_EMIT breakPointsChanged();
}

double Workspace::dim() const {
  constexpr double kWhileComputing = 0.2, kRefused = 0.55;
  if (!m_dimmed) return 0;
  return m_snapshot->phase == RunPhase::failed ? kRefused : kWhileComputing;
}

void Workspace::setStale(bool stale) {
  if (stale == m_stale) return;
  m_stale = stale;
  Q_EMIT staleChanged();
  stale ? m_dim_after.start() : m_dim_after.stop();
  if (stale || !m_dimmed) return;
  m_dimmed = false;
  Q_EMIT dimmedChanged();
}

}  // namespace kvscope
