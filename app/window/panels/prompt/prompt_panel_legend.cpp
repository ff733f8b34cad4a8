// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_panel_legend.h"

#include <QLinearGradient>

#include "app/window/panels/prompt/prompt_editor_colours.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"

namespace kvscope {

namespace {
constexpr Category kShown[] = {Category::sink, Category::kept, Category::merged, Category::recent, Category::fresh, Category::evicted};
}

CategoryLegend::CategoryLegend(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("legend of the prompt's colours");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::themeChanged}) {
    connect(&workspace, signal, this, qOverload<>(&QWidget::update));
  }
}

QString CategoryLegend::unreadWords() const {
  const StepRecord* step = m_workspace.stepRecord();
  return step && step->position + 1 < m_workspace.snapshot().n_prompt ? QString("not read yet") : QString();
}

QSize CategoryLegend::sizeHint() const { return {px(*this, 360), px(*this, 18)}; }

void CategoryLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const viz::Theme& theme = m_workspace.theme();
  painter.setFont(typeFont(*this, Type::body));
  painter.setPen(toColor(theme.secondary));
  const Snapshot& snapshot = m_workspace.snapshot();
  const viz::Selection& selection = m_workspace.selection();
  const int side = px(*this, 10), middle = height() / 2;
  if (selectedHead(snapshot, selection.layer, selection.kv_head)) {
    const QString unread = unreadWords();
    const int n_gaps = unread.isEmpty() ? 5 : 6;
    int after_swatch = px(*this, 6);
    const auto total = [&] {
      int sum = painter.fontMetrics().horizontalAdvance(unread);
      for (const Category category : kShown)
        sum += side + after_swatch + painter.fontMetrics().horizontalAdvance(viz::category_name(category));
      return sum;
    };
    if (total() + n_gaps * px(*this, 5) > width()) {  // a narrow panel: smaller type rather than a cut legend
      painter.setFont(typeFont(*this, Type::caption));
      after_swatch = px(*this, 3);
    }
    const int gap = std::clamp((width() - total()) / n_gaps, px(*this, 3), px(*this, 12));
    int x = 0;
    for (const Category category : kShown) {
      paintSwatch(painter, QRectF(x, middle - side / 2, side, side), theme, category);
      x += side + after_swatch;
      const QString name = viz::category_name(category);
      painter.drawText(QRect(x, 0, width() - x, height()), Qt::AlignVCenter | Qt::AlignLeft, name);
      x += painter.fontMetrics().horizontalAdvance(name) + gap;
    }
    painter.setPen(TokenColours::unreadInk(m_workspace));
    paintLine(painter, QRect(x, 0, width() - x, height()), Qt::AlignLeft, unread);
    return;
  }
  const int n_heads = snapshot.model.n_layers * snapshot.model.n_kv_heads;
  if (n_heads == 0) return;
  const QString most = QString::number(n_heads);
  const int ramp = px(*this, 110), most_width = painter.fontMetrics().horizontalAdvance(most), space = px(*this, 7);
  int x = width() - most_width;
  painter.drawText(QRect(x, 0, most_width, height()), Qt::AlignVCenter | Qt::AlignRight, most);
  x -= space + ramp;
  for (int i = 0; i < ramp; ++i) {
    const QColor tint = rampTint(theme, (i + 0.5) / ramp);
    painter.fillRect(QRect(x + i, middle - side / 2, 1, side), tint);
  }
  const int zero = painter.fontMetrics().horizontalAdvance("0");
  x -= space + zero;
  painter.drawText(QRect(x, 0, zero, height()), Qt::AlignVCenter, "0");
  paintLine(
      painter, QRect(0, 0, x - space, height()), Qt::AlignLeft,
      fitting(painter.fontMetrics(), x - space, {"heads that still represent the token", "heads that represent it", "heads with it"}));
}

}  // namespace kvscope
