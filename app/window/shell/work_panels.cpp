// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/work_panels.h"

#include <QMenu>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/commands/command_table.h"
#include "app/window/help/glossary.h"
#include "app/window/panels/effect/effect_panel.h"
#include "app/window/panels/policy/head_keys_form.h"
#include "app/window/panels/policy/policy_form.h"
#include "app/window/panels/policy/policy_panel.h"
#include "app/window/panels/policy/policy_presets.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/runs/table_panel.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/header_controls.h"
#include "app/window/shell/inspect_page.h"
#include "app/window/shell/panels.h"
#include "viz/reduce/range.h"

namespace kvscope {

namespace {

constexpr viz::Place dockAt(viz::Column column, int row, double share, int least_height) {
  return {.kind = viz::Place::Kind::dock, .column = column, .row = row, .share = share, .least_height = least_height};
}

}  // namespace

WorkPanels::WorkPanels(WindowModel& model, Panels& panels)
    : m_model(model),
      m_panels(panels),
      m_prompt(new PromptPanel(model.workspace, model.controller)),
      m_policy(new PolicyPanel(model.workspace, model.controller)) {
  m_policy->presets().setSettings(model.settings.get());
  auto* effect = new EffectPanel(model.workspace, model.controller);
  m_table = new TablePanel(model.workspace, model.controller);
  Panel& prompt = panels.addTalking("prompt", "Prompt & output", m_prompt, dockAt(viz::Column::left, 0, 545 / viz::kDesignColumn, 320));
  panels.addTalking("policy", "Policy & budget", m_policy, dockAt(viz::Column::left, 1, 295 / viz::kDesignColumn, 170));
  panels.addTalking("effect", "Output effect", effect, dockAt(viz::Column::right, 1, 502 / viz::kDesignColumn, 310));
  Panel& table = panels.addTalking("table", "Data table", m_table, {.key = "Ctrl+D"});
  addHeadBox(prompt, model.workspace);
  for (const char* id : {"prompt", "policy", "effect"}) panels.of(id)->content()->setWhatsThis(Glossary::builtIn().aboutView(id));
  table.addControl(m_table->tools());  // low as the panel is beside the others, every line of it is to show a row
  connect(&model.workspace, &Workspace::snapshotChanged, this, &WorkPanels::refreshBadge);
  connect(&model.workspace, &Workspace::selectionChanged, this, &WorkPanels::refreshBadge);
}

void WorkPanels::tabulate(CanvasWidget& canvas) {
  m_table->setSource(canvas.view().title(), [&canvas] { return canvas.table(); });
}

/// The output effect counts the steps of the range, too.
void WorkPanels::refreshBadge() {
  const std::optional<viz::StepRange>& steps = m_model.workspace.selection().steps;
  const QString text = steps ? QString::fromStdString(viz::range_text(*steps)) : QString();
  m_panels.of("effect")->setBadge(text, "Statistics count " + text + " only: click for all (Esc)");
}

void WorkPanels::showParameters(InspectPage& inspect) {
  inspect.goTo(*m_panels.of("policy"));
  m_policy->setParametersShown(true);
}

void WorkPanels::showField(InspectPage& inspect, const QString& run, const QString& key) {
  showParameters(inspect);
  m_policy->focusField(run, key);
}

void WorkPanels::fillGoMenu(Commands& commands, QMenu* menu, InspectPage& inspect) {
  const auto parameters = [this, &inspect](QWidget& form) {
    showParameters(inspect);
    InspectPage::focusFirst(form);
  };
  commands.add(menu, {{"Parameters of the p&olicy",
                       {},
                       [this, parameters] { parameters(m_policy->form()); },
                       "Window, threshold, sinks and what else its policy has"},
                      {"Parameters for the selected &head only",
                       {},
                       [this, parameters] { parameters(m_policy->headKeys()); },
                       "A threshold of its own, where the policy has one"}});
}

}  // namespace kvscope
