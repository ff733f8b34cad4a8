// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPlainTextDocumentLayout>

namespace kvscope {

/// Plain-text layout with a fixed distance from line to line, so that the fills behind the text do not touch. Qt has no such setting for
/// plain text; it lays out lazily per block and asks blockBoundingRect() for every use, which is where the lines are put apart.
class SpacedTextLayout : public QPlainTextDocumentLayout {
  Q_OBJECT

 public:
  SpacedTextLayout(QTextDocument* document, int pitch) : QPlainTextDocumentLayout(document), m_pitch(pitch) {}

  int pitch() const { return m_pitch; }
  void setPitch(int pitch);
  QRectF blockBoundingRect(const QTextBlock& block) const override;

 private:
  int m_pitch;
};

}  // namespace kvscope
