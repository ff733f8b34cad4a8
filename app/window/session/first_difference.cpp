// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/first_difference.h"

#include <algorithm>
#include <utility>

#include "app/window/session/request_key.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"

namespace kvscope {

namespace {

/// What was chosen in one text says nothing of another: less than half of the longer one is common to both, from the beginning and the end.
bool anotherText(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  const auto from = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  std::size_t end = 0;
  while (end < shorter - from && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  return 2 * (from + end) < std::max(a.size(), b.size());
}

}  // namespace

FirstDifference::FirstDifference(Workspace& workspace, SessionController& controller, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_controller(controller) {
  connect(&workspace, &Workspace::selectionChanged, this, [this] {
    const std::optional<int> now = m_workspace.selection().step;
    // A step that a shorter run has no more was given up by nobody.
    const LaneSnapshot* lane = m_workspace.lane();
    const bool there = m_step && lane != nullptr && *m_step < static_cast<int>(lane->steps.size());
    if (now != m_step && !m_placing) {
      m_chosen = now.has_value() || there;
      m_chosen_in = m_controller.request().prompt;
    }
    m_step = now;
    const viz::Selection& s = m_workspace.selection();
    const auto head = s.layer && s.kv_head ? std::optional(std::pair(*s.layer, *s.kv_head)) : std::nullopt;
    if (head == m_head) return;
    m_head = head;
    m_head_chosen = head && !m_placing && !isNamed(*head);
  });
}

/// The sentence about the step names the head: whoever follows it has not chosen another one.
bool FirstDifference::isNamed(std::pair<int, int> head) {
  const LaneSnapshot* lane = m_workspace.lane();
  if (lane == nullptr) return false;
  const viz::Loss& loss = m_finding.of(m_workspace.snapshot(), *lane, m_workspace.step()).loss;
  return loss.step >= 0 && head == std::pair(loss.layer, loss.kv_head);
}

FirstDifference::Asked FirstDifference::asked() const {
  Asked out{textKey(m_controller.request()), {}};
  for (const LaneSpec& lane : m_controller.request().lanes) out.runs.push_back(lane.text);
  return out;
}

void FirstDifference::keepStep() {
  m_chosen = !m_anew;
  m_chosen_in = m_controller.request().prompt;
}

void FirstDifference::takeBack(std::optional<int> step) {
  m_shown = asked();
  if (m_chosen) return;
  viz::Selection selection = m_workspace.selection();
  selection.step = step;
  m_placing = true;
  m_workspace.setSelection(selection);
  m_placing = false;
}

void FirstDifference::takeSnapshot() {
  const Snapshot& snapshot = m_workspace.snapshot();
  const LaneSnapshot* lane = m_workspace.lane();
  if (snapshot.phase != RunPhase::idle || lane == nullptr || lane->steps.empty() || !m_controller.answersNewest(snapshot)) return;
  const Asked before = std::exchange(m_shown, asked());
  if (m_shown == before && !m_begins) return;
  const bool known = m_shown.text == before.text && std::ranges::find(before.runs, lane->spec) != before.runs.end();
  const bool first = std::exchange(m_begins, false);
  m_anew = false;
  const bool other = anotherText(std::exchange(m_text, snapshot.prompt), snapshot.prompt) && !first;
  // The latest step is one of any text.
  if (m_chosen && m_workspace.selection().step && anotherText(m_chosen_in, snapshot.prompt)) m_chosen = false;
  if (m_chosen || (known && !first) || lane->fork_of >= 0 || m_controller.viewOnly()) return;
  const int step = viz::next_changed_step(snapshot, *lane, -1);
  if (step >= 0) show(step, (first && !m_workspace.selection().layer) || (other && m_head && !m_head_chosen));
  if (first) Q_EMIT begun();
}

void FirstDifference::show(int step, bool with_head) {
  viz::Selection selection = m_workspace.selection();
  selection.step = step;
  const viz::Finding finding = viz::finding_of(m_workspace.snapshot(), *m_workspace.lane(), step);
  if (with_head && finding.loss.step >= 0) {
    selection.layer = finding.loss.layer;
    selection.kv_head = finding.loss.kv_head;
  }
  m_placing = true;
  m_workspace.setSelection(selection);
  m_placing = false;
}

void FirstDifference::go(const Search& search, bool forward) {
  const LaneSnapshot* lane = m_workspace.lane();
  if (lane == nullptr) return;
  const int found = search(m_workspace.snapshot(), *lane, m_workspace.step(), forward);
  if (found < 0) return;
  viz::Selection selection = m_workspace.selection();
  selection.step = found;
  m_workspace.setSelection(selection);
}

void FirstDifference::next() { go(viz::differing_step_from, true); }
void FirstDifference::previous() { go(viz::differing_step_from, false); }
void FirstDifference::nextInAnswer() { go(viz::changed_step_from, true); }

}  // namespace kvscope
