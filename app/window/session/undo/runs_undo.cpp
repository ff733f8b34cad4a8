// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/undo/runs_undo.h"

#include <utility>

#include "app/window/session/undo/undo.h"
#include "app/window/session/window_model.h"

namespace kvscope {

RunsUndo::RunsUndo(WindowModel& model) : m_model(model), m_before(model.start.request) {
  constexpr int kUndoSteps = 200;  // a long day's edits are not kept whole
  m_model.undo.setUndoLimit(kUndoSteps);
  connect(&model.controller, &SessionController::requestChanged, this, &RunsUndo::requestChanged);
}

void RunsUndo::without(const std::function<void()>& change) {
  const bool outer = std::exchange(m_undoing, true);
  change();
  m_undoing = outer;
  m_model.undo.clear();
}

void RunsUndo::requestChanged() {
  const SessionController& controller = m_model.controller;
  const RunRequest& now = controller.request();
  const RunRequest before = std::exchange(m_before, now);
  if (now.n_generate != before.n_generate && now.n_generate >= 0) Q_EMIT generateChanged(now.n_generate);
  const bool text = now.prompt != before.prompt || now.prompt_text != before.prompt_text || now.prompt_ids != before.prompt_ids;
  if (m_undoing || (!text && now.lanes == before.lanes)) return;
  if (text || m_model.hand.followingText())
    m_model.undo.push(new TextEdit(m_model.controller, m_undoing, before, now));
  else
    m_model.undo.push(new LanesEdit(m_model.controller, m_undoing, {before.lanes, before.n_generate}, {now.lanes, now.n_generate},
                                    {m_model.runs.adoptingBatch(), controller.drag(), m_model.workspace.stale()}));
}

}  // namespace kvscope
