// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/effect/effect_panel.h"

#include <QLabel>
#include <QVBoxLayout>

#include "app/window/panels/effect/effect_panel_layers.h"
#include "app/window/panels/effect/effect_panel_model.h"
#include "app/window/panels/effect/effect_panel_parts.h"
#include "app/window/panels/runs/row_table.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/range.h"

namespace kvscope {

EffectPanel::EffectPanel(Workspace& workspace, SessionController&, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_model(new EffectModel(workspace, this)),
      m_headline(new EffectHeadline(workspace, this)),
      m_range(new QLabel(this)),
      m_table(new EffectTable(workspace, *m_model, this)),
      m_footer(new EffectFooter(workspace, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 5, 12, 6);
  column->setSpacing(2);
  column->addWidget(m_headline);
  m_range->setObjectName("secondary");
  m_range->setFont(typeFont(*this, Type::body));
  m_range->setWordWrap(true);
  m_range->setTextFormat(Qt::PlainText);
  m_range->setAccessibleName("means over the range of steps");
  column->addWidget(m_range);
  column->addWidget(m_table, 1);
  column->addWidget(new EffectLayers(workspace, this));
  column->addWidget(m_footer);
  setFocusProxy(m_table);
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged})
    connect(&workspace, signal, this, &EffectPanel::refreshRange);
  refreshRange();
  connect(&workspace, &Workspace::snapshotChanged, this, &EffectPanel::factsChanged);
  connect(&workspace, &Workspace::selectionChanged, this, &EffectPanel::factsChanged);
}

QString EffectPanel::facts() const {
  return m_workspace.stepRecord() ? QString("after step %1").arg(qs(viz::format_count(m_workspace.step()))) : QString();
}

void EffectPanel::refreshRange() {
  const std::optional<viz::StepRange>& range = m_workspace.selection().steps;
  const bool unknown = m_workspace.stepRecord() && m_model->rowCount() == 0;
  m_range->setVisible(range.has_value() || unknown);
  if (unknown) m_range->setText("Which tokens were likely is not recorded; a trace says it with --detail why");
  if (!range || unknown) return;
  const LaneSnapshot* lane = m_workspace.lane();
  const std::optional<viz::StepRange> steps = lane ? viz::steps_within(*lane, range) : std::nullopt;
  if (!steps) {
    m_range->setText("no step in the range");
    return;
  }
  const RunFigures s = run_figures(m_workspace.snapshot(), *lane, steps->first, steps->last, false);
  m_range->setText(QString("%1: mean KL %2, at most %3 · top choice same in %4 of %5 · mean −ln p %6")
                       .arg(qs(viz::range_text(*steps)), qs(viz::format_number(s.kl.mean())), qs(viz::format_number(s.kl.max)),
                            qs(viz::format_count(s.top1_same)), qs(viz::format_count(s.compared)), qs(viz::format_number(s.nll.mean()))));
}

QString EffectPanel::tsv() const { return tsvOf(*m_table, false); }

}  // namespace kvscope
