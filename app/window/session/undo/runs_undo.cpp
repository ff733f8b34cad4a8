// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/undo/runs_undo.h"

#include <utility>

#include <QStringList>

#include "app/window/commands/commands.h"
#include "app/window/session/undo/undo.h"
#include "app/window/session/window_model.h"

namespace kvscope {

QString choicesWords(const ReadingChoices& from, const ReadingChoices& to) {
  QStringList words;
  const auto arrow = [&words](const QString& name, const QString& a, const QString& b) {
    if (a != b) words << QString("%1, %2 → %3").arg(name, a, b);
  };
  const auto mode = [](PromptMode m) { return QString(m == PromptMode::prefill ? "prefill" : "stream"); };
  const auto follow = [](Follow f) {
    return QString(f == Follow::reference ? "the text of the reference" : f == Follow::self ? "their own text" : "the given text");
  };
  arrow("prompt mode", mode(from.mode), mode(to.mode));
  arrow("what runs follow", follow(from.follow), follow(to.follow));
  arrow("temperature", QString::number(from.temperature), QString::number(to.temperature));
  arrow("seed", QString::number(from.seed), QString::number(to.seed));
  return words.join("; ");
}

RunsUndo::RunsUndo(WindowModel& model) : m_model(model), m_before(model.start.request) {
  connect(&model.controller, &SessionController::requestChanged, this, &RunsUndo::requestChanged);
  connect(&model.workspace, &Workspace::snapshotChanged, this, &RunsUndo::show);
}

void RunsUndo::without(const std::function<void()>& change) {
  const bool outer = std::exchange(m_undoing, true);
  change();
  m_undoing = outer;
  m_place.reset();
  m_model.undo.now().clear();
}

/// In the menu an edit by hand is called as where it is said to be taken back. It is never one step with others, whose words change.
LanesEdit* RunsUndo::named(LanesEdit* edit) const {
  if (edit->byHand()) edit->setText(asLabel(edit->words(m_model.workspace.snapshot(), false)));
  return edit;
}

void RunsUndo::requestChanged() {
  const SessionController& controller = m_model.controller;
  const RunRequest& now = controller.request();
  const RunRequest before = std::exchange(m_before, now);
  if (now.n_generate != before.n_generate && now.n_generate >= 0) Q_EMIT generateChanged(now.n_generate);
  const bool text = now.prompt != before.prompt || now.prompt_text != before.prompt_text || now.prompt_ids != before.prompt_ids;
  const ReadingChoices chosen_before = ReadingChoices::of(before), chosen = ReadingChoices::of(now);
  if (m_undoing || (!text && now.lanes == before.lanes && chosen == chosen_before)) return;
  m_place.reset();
  if (!text && now.lanes == before.lanes)
    return m_model.undo.now().push(new ChoicesEdit(m_model.controller, m_undoing, chosen_before, chosen));
  const viz::Selection& looked_at = m_model.workspace.selection();
  if (text || m_model.hand.followingText())
    m_model.undo.now().push(new TextEdit(m_model.controller, m_undoing, before, now));
  else
    m_model.undo.now().push(named(
        new LanesEdit(m_model.controller, m_model.difference, m_undoing, {before.lanes, before.n_generate}, {now.lanes, now.n_generate},
                      {m_model.runs.adoptingBatch(), controller.drag(), m_model.workspace.stale(), looked_at.lane, looked_at.step})));
}

void RunsUndo::undo() { travel(true); }

void RunsUndo::redo() { travel(false); }

void RunsUndo::travel(bool back) {
  QUndoStack& stack = m_model.undo.now();
  if (back ? !stack.canUndo() : !stack.canRedo()) return;
  const QUndoCommand* step = stack.command(back ? stack.index() - 1 : stack.index());
  const auto* of_runs = dynamic_cast<const RunsStep*>(step);
  const QString words = of_runs ? of_runs->words(m_model.workspace.snapshot(), back) : step->text();
  m_place = of_runs ? of_runs->place(back) : std::nullopt;
  back ? stack.undo() : stack.redo();
  show();
  Q_EMIT said((back ? "Undone: " : "Redone: ") + words);
}

/// A run that is there already is looked at at once, while it is computed anew; one that comes back, as soon as it is there.
void RunsUndo::show() {
  if (!m_place) return;
  const std::vector<LaneSnapshot>& lanes = m_model.workspace.snapshot().lanes;
  const auto at = static_cast<std::size_t>(m_place->lane);
  const bool there = at < lanes.size() && lanes[at].spec == m_place->spec;
  viz::Selection selection = m_model.workspace.selection();
  if (there || lanes.size() == m_model.controller.request().lanes.size()) selection.lane = m_place->lane;
  if (const auto look = m_place->look; there && look) {
    selection.select(look->tokens);
    if (look->layer) selection.layer = look->layer, selection.kv_head = look->kv_head;
    if (selection.step.value_or(-1) < look->step) selection.step = look->step;  // a step that was chosen and sees it stays
  }
  if (there) m_place.reset();
  m_model.workspace.setSelection(selection);
  Q_EMIT shown();
}

}  // namespace kvscope
