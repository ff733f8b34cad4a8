// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPlainTextDocumentLayout>

namespace kvscope {

/// Plain-text layout with a fixed distance from line to line, so that the fills behind the text do not touch. Qt has no such setting for
/// plain text; it lays out lazily per block and asks blockBoundingRect() for every use, which is where the lines are put apart.
/// Qt decodes the picture of an emoji anew whenever it asks how wide it is, so a paragraph of a megabyte of them would hold the window for
/// half a minute at every letter: what comes after the first kMostEmoji of a paragraph is drawn in the text's own font alone, and what
/// that lacks as boxes. To break a line between words it reads to the end of the word, for every line anew: a megabyte without a space took
/// minutes, so a text with a word of more than kLongestWord is broken anywhere.
class SpacedTextLayout : public QPlainTextDocumentLayout {
  Q_OBJECT

 public:
  static constexpr int kMostEmoji = 2000;  // half a second
  static constexpr int kLongestWord = 4000;

  SpacedTextLayout(QTextDocument* document, int pitch) : QPlainTextDocumentLayout(document), m_pitch(pitch) {}

  int pitch() const { return m_pitch; }
  void setPitch(int pitch);
  /// px that stay free before every line, for a letter that reaches beyond its left edge, and besides before the first line of the text.
  void setIndent(double all, double first);
  QRectF blockBoundingRect(const QTextBlock& block) const override;
  /// Some emoji are drawn as boxes.
  bool hasBoxes() const;

 protected:
  void documentChanged(int from, int removed, int added) override;

 private:
  /// True: it was laid out anew, in another way.
  bool breaksOtherwise(int from, int added);

  void indent(const QTextBlock& block) const;

  int m_pitch;
  double m_indent = 0, m_first_indent = 0;
};

}  // namespace kvscope
