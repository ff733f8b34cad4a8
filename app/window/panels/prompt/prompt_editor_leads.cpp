// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_editor_leads.h"

#include <cmath>

#include <QFontMetricsF>
#include <QPainter>

#include "app/window/shell/panel_paint.h"
#include "snapshot/snapshot.h"
#include "viz/draw/draw.h"

namespace kvscope {

namespace {
bool hasNoText(const TokenInfo& token) { return token.text_end <= token.text_begin; }
}  // namespace

void LeadTokens::update(const Snapshot& snapshot, const QFont& font, double padding) {
  m_all.clear();
  const QFontMetricsF metrics(font);
  for (int t = 0; t < snapshot.n_prompt && hasNoText(snapshot.tokens[static_cast<std::size_t>(t)]); ++t) {
    const QString text = qs(viz::token_text(snapshot.tokens, t));
    m_all.push_back({text, width(), std::ceil(metrics.horizontalAdvance(text) + 2 * padding)});
  }
  if (static_cast<int>(m_all.size()) == snapshot.n_prompt) m_all.clear();  // no text whose beginning it were
}

QRectF LeadTokens::rectOf(int token, const QPointF& line, double pitch) const {
  const Lead& lead = m_all[static_cast<std::size_t>(token)];
  return {std::round(line.x() + lead.left), line.y() + 1, lead.width, pitch - 3};
}

void LeadTokens::paint(QPainter& painter, const QFont& font, int token, const QRectF& rect, const QColor& ink) const {
  painter.setPen(ink);
  painter.setFont(font);
  painter.drawText(rect, Qt::AlignCenter, m_all[static_cast<std::size_t>(token)].text);
}

}  // namespace kvscope
