// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/start_place.h"

#include <utility>

#include <QStringList>

#include "app/window/session/window_model.h"

namespace kvscope {

namespace {

/// Places that are not in what was computed would be left out without a word.
QString notIn(const Snapshot& s, const Options& asked, const LaneSnapshot& shown) {
  QStringList out;
  const auto expected = [&out](const char* option, const QString& what, const QString& got) {
    out << QString("%1: expected %2, got %3").arg(option, what, got);
  };
  const auto range = [](int first, int last) { return first == last ? QString::number(first) : QString("%1-%2").arg(first).arg(last); };
  const int n_runs = static_cast<int>(s.lanes.size()), n_steps = static_cast<int>(shown.steps.size());
  const int n_tokens = static_cast<int>(s.tokens.size());
  if (asked.lane && *asked.lane >= n_runs) expected("--show", QString("a run from 0 to %1").arg(n_runs - 1), QString::number(*asked.lane));
  if (asked.layer && (*asked.layer >= s.model.n_layers || asked.kv_head.value_or(0) >= s.model.n_kv_heads))
    expected("--select", QString("L0 to L%1 and H0 to H%2").arg(s.model.n_layers - 1).arg(s.model.n_kv_heads - 1),
             QString("L%1").arg(*asked.layer) + (asked.kv_head ? QString(".H%1").arg(*asked.kv_head) : QString()));
  if (asked.tokens && asked.tokens->last >= n_tokens)
    expected("--tokens", QString("tokens from 0 to %1").arg(n_tokens - 1), range(asked.tokens->first, asked.tokens->last));
  if (asked.step && *asked.step >= n_steps)
    expected("--step", QString("a step from 0 to %1").arg(n_steps - 1), QString::number(*asked.step));
  if (asked.steps && asked.steps->last >= n_steps)
    expected("--steps", QString("steps from 0 to %1").arg(n_steps - 1), range(asked.steps->first, asked.steps->last));
  return out.join("; ");
}

}  // namespace

viz::Selection StartPlace::asked(viz::Selection at) const {
  const Options& options = m_model.options;
  if (options.lane) at.lane = *options.lane;
  if (options.layer) at.layer = options.layer, at.kv_head = options.kv_head;
  if (options.tokens) at.tokens = options.tokens;
  if (options.step) at.step = options.step;
  if (options.steps) at.steps = options.steps;
  return at;
}

/// The run is there before its steps are: what is set meanwhile, its budget say, is set for it.
void StartPlace::takeRun() {
  const auto n_runs = m_model.workspace.snapshot().lanes.size();
  if (!m_wanted || m_run_taken || !m_begun || n_runs != m_model.controller.request().lanes.size()) return;
  if (!m_model.controller.answersNewest(m_model.workspace.snapshot())) return;
  m_run_taken = true;
  viz::Selection selection = m_model.workspace.selection();
  selection.lane = m_wanted->lane;
  m_model.workspace.setSelection(selection);
}

void StartPlace::takeSnapshot() {
  const Snapshot& snapshot = m_model.workspace.snapshot();
  const Options& options = m_model.options;
  if (snapshot.phase == RunPhase::computing) return takeRun();
  if (snapshot.phase != RunPhase::idle) return;
  if (!m_begun && !snapshot.lanes.empty()) {
    m_begun = true;
    viz::Selection selection = m_model.workspace.selection();
    selection.lane = static_cast<int>(snapshot.lanes.size()) - 1;
    m_model.workspace.setSelection(asked(selection));
    Q_EMIT reached(options.step.has_value());
  }
  const bool answered = m_model.controller.answersNewest(snapshot);
  if (m_wanted && m_begun && answered) {
    const viz::Selection wanted = *std::exchange(m_wanted, std::nullopt);
    m_model.workspace.setSelection(std::exchange(m_of_file, true) || options.session.empty() ? wanted : asked(wanted));
    Q_EMIT reached(true);
  }
  const bool of_options = options.synthetic_size || (answered && (m_of_file || options.session.empty()));
  if (m_compared || !m_begun || !of_options) return;
  m_compared = true;
  m_not_there = notIn(snapshot, options, *m_model.workspace.lane());
  if (!m_not_there.isEmpty()) Q_EMIT missed(m_not_there);
}

}  // namespace kvscope
