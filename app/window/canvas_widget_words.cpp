// SPDX-License-Identifier: Apache-2.0
// What the words on a canvas mean.
#include <QRectF>

#include "app/window/canvas_widget.h"
#include "app/window/glossary.h"

namespace kvscope {

/// The legend or column under the mouse, else the main words of the view.
QString CanvasWidget::whatIsAt(const QPoint& at) const {
  for (const viz::Mark& m : m_view.marks()) {
    if ((m.kind != "legend" && m.kind != "column") || !QRectF(QPointF(m.min.x, m.min.y), QPointF(m.max.x, m.max.y)).contains(at)) continue;
    if (const QString about = Glossary::builtIn().about(QString::fromStdString(m.label)); !about.isEmpty()) return about;
  }
  return Glossary::builtIn().aboutView(m_view.id());
}

}  // namespace kvscope
