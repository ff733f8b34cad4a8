// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/start_place.h"

#include <utility>

#include "app/window/session/window_model.h"

namespace kvscope {

void StartPlace::takeSnapshot() {
  const Snapshot& snapshot = m_model.workspace.snapshot();
  const Options& options = m_model.options;
  if (snapshot.phase != RunPhase::idle) return;
  if (!m_begun && !snapshot.lanes.empty()) {
    m_begun = true;
    viz::Selection selection = m_model.workspace.selection();
    selection.lane = options.lane.value_or(static_cast<int>(snapshot.lanes.size()) - 1);
    selection.layer = options.layer;
    selection.kv_head = options.kv_head;
    selection.tokens = options.tokens;
    selection.step = options.step;
    selection.steps = options.steps;
    m_model.workspace.setSelection(selection);
    Q_EMIT reached(options.step.has_value());
  }
  if (m_wanted && m_begun && m_model.controller.answersNewest(snapshot)) {
    m_model.workspace.setSelection(*std::exchange(m_wanted, std::nullopt));
    Q_EMIT reached(true);
  }
}

}  // namespace kvscope
