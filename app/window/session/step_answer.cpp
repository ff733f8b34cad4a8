// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/step_answer.h"

#include "app/window/session/first_difference.h"
#include "app/window/session/request_key.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

void StepAnswer::make(const QString& with, const std::function<void()>& change) {
  const StepRecord* record = m_workspace.stepRecord();
  const auto run = static_cast<std::size_t>(m_workspace.selection().lane);
  const auto spec = [&] { return run < m_controller.request().lanes.size() ? m_controller.request().lanes[run].text : std::string(); };
  m_made.reset();
  if (record == nullptr) return change();
  Made made{with, spec(), textKey(m_controller), m_workspace.step(), record->top1, record->kl};  // the change replaces the record
  m_difference.keepStep();
  change();
  if (spec() == made.spec) return;
  made.spec = spec();
  m_made = std::move(made);
}

QString StepAnswer::words() const {
  const LaneSnapshot* lane = m_workspace.lane();
  const StepRecord* record = m_workspace.stepRecord();
  if (!m_made || lane == nullptr || record == nullptr || lane->spec != m_made->spec || m_workspace.step() != m_made->step) return {};
  if (!compares(m_workspace.snapshot(), *lane, m_made->step)) return {};     // with the change it reads another text by then
  if (record->top1 < 0 || textKey(m_controller) != m_made->text) return {};  // what it was before is of that text and model
  const QString is = qs(viz::quoted(viz::text_of_id(m_workspace.snapshot(), record->top1)));
  const QString answer = record->top1 == m_made->top1 ? (record->top1_same ? is + " as before" : "still " + is)
                         : record->top1_same          ? is + " again"
                                                      : is + " now";
  return QString("With %1 %2: KL %3 → %4 nats.")
      .arg(m_made->with, answer, qs(viz::format_number(m_made->kl)), qs(viz::format_number(record->kl)));
}

}  // namespace kvscope
