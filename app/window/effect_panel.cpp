// SPDX-License-Identifier: Apache-2.0
#include "app/window/effect_panel.h"

#include <QVBoxLayout>

#include "app/window/effect_panel_model.h"
#include "app/window/effect_panel_parts.h"
#include "app/window/panel_paint.h"
#include "app/window/workspace.h"
#include "viz/format.h"

namespace kvscope {

EffectPanel::EffectPanel(Workspace& workspace, SessionController&, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_model(new EffectModel(workspace, this)),
      m_headline(new EffectHeadline(workspace, this)),
      m_table(new EffectTable(workspace, *m_model, this)),
      m_footer(new EffectFooter(workspace, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 5, 12, 6);
  column->setSpacing(2);
  column->addWidget(m_headline);
  column->addWidget(m_table, 1);
  column->addWidget(m_footer);
  setFocusProxy(m_table);
  connect(&workspace, &Workspace::snapshotChanged, this, &EffectPanel::factsChanged);
  connect(&workspace, &Workspace::selectionChanged, this, &EffectPanel::factsChanged);
}

QString EffectPanel::facts() const {
  const StepRecord* step = m_workspace.stepRecord();
  return step ? QString("after position %1").arg(qs(viz::format_count(step->position))) : QString();
}

QString EffectPanel::tsv() const { return m_table->tsv(false); }

}  // namespace kvscope
