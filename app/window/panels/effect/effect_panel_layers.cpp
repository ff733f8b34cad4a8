// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/effect/effect_panel_layers.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QPainter>
#include <QStringList>
#include <QToolTip>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kTitle = 20, kBars = 22, kGap = 5;

}  // namespace

EffectLayers::EffectLayers(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("residual stream by layer");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::themeChanged, &Workspace::dimmedChanged}) {
    connect(&workspace, signal, this, [this] {
      QStringList all;
      if (const std::vector<double>* v = values()) {
        for (std::size_t l = 0; l < v->size(); ++l) all << words(static_cast<int>(l));
      }
      setAccessibleDescription(all.isEmpty() ? QString("not measured") : all.join("; "));
      setVisible(m_workspace.selection().lane > 0);  // the reference has nothing to part from
      update();
    });
  }
}

QSize EffectLayers::sizeHint() const { return {px(*this, 320), px(*this, kTitle + kBars + kGap)}; }

const std::vector<double>* EffectLayers::values() const {
  const StepRecord* step = m_workspace.stepRecord();
  return step && !step->hidden_rel_l2.empty() ? &step->hidden_rel_l2 : nullptr;
}

QString EffectLayers::words(int layer) const {
  return QString("after layer %1: %2").arg(layer).arg(qs(viz::format_percent((*values())[static_cast<std::size_t>(layer)])));
}

void EffectLayers::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const viz::Theme& theme = m_workspace.theme();
  const auto u = [this](double v) { return px(*this, v); };
  painter.setOpacity(1 - m_workspace.dim());
  paintHorizontalLine(painter, theme, 0, width(), 0);
  const std::vector<double>* v = values();
  const QRect title(0, u(2), width(), u(kTitle - 2));
  const QString number = v ? qs(viz::format_percent(v->back())) : qs(viz::kNotAvailableText);
  painter.setFont(typeFont(*this, Type::body, false, TypeFace::tabular));
  painter.setPen(toColor(theme.text));
  paintLine(painter, title, Qt::AlignRight, number);
  const int taken = painter.fontMetrics().horizontalAdvance(number) + u(8);
  painter.setFont(typeFont(*this, Type::body));
  painter.setPen(toColor(theme.secondary));
  paintLine(painter, title.adjusted(0, 0, -taken, 0), Qt::AlignLeft,
            fitting(painter.fontMetrics(), v ? title.width() - taken : 0,
                    {QString("residual stream moved, after layers 0 to %1").arg(v ? v->size() - 1 : 0), QString("residual stream moved")}));
  if (!v) return;
  double highest = 1;  // the stream's own length: a bar is as high for a run as for another
  for (const double x : *v) highest = std::isfinite(x) ? std::max(highest, x) : highest;
  const auto n = static_cast<double>(v->size());
  const double pitch = width() / n, gap = pitch >= 6 ? 2 : 0, base = u(kTitle + kBars);
  painter.setPen(Qt::NoPen);
  for (std::size_t l = 0; l < v->size(); ++l) {
    const double x = (*v)[l], left = std::round(static_cast<double>(l) * pitch),
                 right = std::round((static_cast<double>(l) + 1) * pitch) - gap;
    if (std::isnan(x)) {  // not measured is not zero
      painter.setPen(QPen(toColor(theme.line), 1));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(left + 0.5, base - u(kBars) + 0.5, right - left - 1, u(kBars) - 1));
      painter.setPen(Qt::NoPen);
      continue;
    }
    const double height = std::max(1.0, std::round(u(kBars) * x / highest));
    painter.fillRect(QRectF(left, base - height, right - left, height),
                     x > 0 ? laneColour(theme, m_workspace.selection().lane) : toColor(theme.line));
  }
}

bool EffectLayers::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const std::vector<double>* v = values();
  QString text = "not measured in this run";
  if (v) {
    const int layer = std::clamp(static_cast<int>(help->pos().x() * static_cast<double>(v->size()) / std::max(1, width())), 0,
                                 static_cast<int>(v->size()) - 1);
    text = words(layer) + "\n‖x − x_full‖₂ / ‖x_full‖₂, the full cache fed the same tokens";
  }
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace kvscope
