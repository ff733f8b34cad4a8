// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_editor_layout.h"

#include <QTextBlock>
#include <QTextDocument>
#include <QTextLayout>

namespace kvscope {

void SpacedTextLayout::setPitch(int pitch) {
  m_pitch = pitch;
  requestUpdate();
}

QRectF SpacedTextLayout::blockBoundingRect(const QTextBlock& block) const {
  QRectF rect = QPlainTextDocumentLayout::blockBoundingRect(block);
  if (!block.isValid() || !block.isVisible()) return rect;
  const QTextLayout& layout = *block.layout();
  const int n_lines = layout.lineCount();
  if (n_lines == 0) return rect;
  for (int i = 0; i < n_lines; ++i) {
    QTextLine line = layout.lineAt(i);
    const double y = i * m_pitch + (m_pitch - line.height()) / 2;
    if (line.y() != y) line.setPosition({line.x(), y});
  }
  const double margin_below = block.next().isValid() ? 0 : document()->documentMargin();
  rect.setHeight(n_lines * m_pitch + margin_below);
  return rect;
}

}  // namespace kvscope
