// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/first_difference.h"

#include <algorithm>
#include <utility>

#include "app/window/session/request_key.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "viz/reduce/finding.h"

namespace kvscope {

namespace {

std::string askedFor(const RunRequest& request) {
  std::string out = textKey(request);
  for (const LaneSpec& lane : request.lanes) out += '\n' + lane.text;
  return out;
}

}  // namespace

FirstDifference::FirstDifference(Workspace& workspace, SessionController& controller, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_controller(controller) {
  connect(&workspace, &Workspace::selectionChanged, this, [this] {
    const std::optional<int> now = m_workspace.selection().step;
    // A step that a shorter run has no more was given up by nobody.
    const LaneSnapshot* lane = m_workspace.lane();
    const bool there = m_step && lane != nullptr && *m_step < static_cast<int>(lane->steps.size());
    if (now != m_step && !m_placing) m_chosen = now.has_value() || there;
    m_step = now;
  });
}

void FirstDifference::takeSnapshot() {
  const Snapshot& snapshot = m_workspace.snapshot();
  const LaneSnapshot* lane = m_workspace.lane();
  if (snapshot.phase != RunPhase::idle || lane == nullptr || lane->steps.empty() || !m_controller.answersNewest(snapshot)) return;
  const std::string asked = askedFor(m_controller.request());
  if (asked == m_shown && !m_begins) return;
  m_shown = asked;
  const bool first = std::exchange(m_begins, false);
  m_anew = false;
  if (m_chosen || lane->fork_of >= 0 || m_controller.viewOnly()) return;
  const int step = viz::next_changed_step(snapshot, *lane, -1);
  if (step >= 0) show(step, first && !m_workspace.selection().layer);
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

void FirstDifference::go(bool forward) {
  const LaneSnapshot* lane = m_workspace.lane();
  if (lane == nullptr) return;
  const Snapshot& snapshot = m_workspace.snapshot();
  const int now = m_workspace.step();
  int found = -1;
  for (int s = viz::next_changed_step(snapshot, *lane, -1); s >= 0; s = viz::next_changed_step(snapshot, *lane, s)) {
    const bool ahead = forward ? s > now : s < now;
    if (found < 0 || (forward ? ahead && found <= now : ahead || found >= now)) found = s;
  }
  if (found < 0) return;
  viz::Selection selection = m_workspace.selection();
  selection.step = found;
  m_workspace.setSelection(selection);
}

}  // namespace kvscope
