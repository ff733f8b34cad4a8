// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/runs_undo.h"

#include <utility>

#include "app/window/session/undo.h"
#include "app/window/session/window_model.h"

namespace kvscope {

RunsUndo::RunsUndo(WindowModel& model)
    : m_model(model), m_lanes_before(model.start.request.lanes), m_generate_before(model.start.request.n_generate) {
  constexpr int kUndoSteps = 200;  // a long day's edits are not kept whole
  m_model.undo.setUndoLimit(kUndoSteps);
  connect(&model.controller, &SessionController::requestChanged, this, &RunsUndo::requestChanged);
}

void RunsUndo::without(const std::function<void()>& change) {
  const bool outer = std::exchange(m_undoing, true);
  change();
  m_undoing = outer;
}

void RunsUndo::requestChanged() {
  const SessionController& controller = m_model.controller;
  const std::vector<LaneSpec>& lanes = controller.request().lanes;
  const int n_generate = controller.request().n_generate, n_before = std::exchange(m_generate_before, n_generate);
  if (n_generate != n_before && n_generate >= 0) Q_EMIT generateChanged(n_generate);
  if (lanes == m_lanes_before) return;
  if (!m_undoing)
    m_model.undo.push(new LanesEdit(m_model.controller, m_undoing, {m_lanes_before, n_before}, {lanes, n_generate},
                                    {m_model.runs.adoptingBatch(), controller.drag(), m_model.workspace.stale()}));
  m_lanes_before = lanes;
}

}  // namespace kvscope
