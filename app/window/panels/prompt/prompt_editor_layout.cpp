// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_editor_layout.h"

#include <algorithm>

#include <QTextBlock>
#include <QTextDocument>
#include <QTextLayout>
#include <QTextOption>

namespace kvscope {

namespace {

/// True of characters that mostly are pictures in colour, and of what makes one of the character before it.
bool isEmoji(char32_t c) {
  return (c >= 0x1f000 && c <= 0x1faff) || (c >= 0x2600 && c <= 0x27bf) || (c >= 0x2b00 && c <= 0x2bff) || c == 0xfe0f;
}

/// Where the emoji that is one too many begins; the text's length: there is none.
int endOfPictures(const QString& text) {
  int n = 0;
  for (qsizetype i = 0; i < text.size(); ++i) {
    const bool pair = text[i].isHighSurrogate() && i + 1 < text.size();
    const char32_t c = pair ? QChar::surrogateToUcs4(text[i], text[i + 1]) : text[i].unicode();
    if (isEmoji(c) && ++n > SpacedTextLayout::kMostEmoji) return static_cast<int>(i);
    i += pair;
  }
  return static_cast<int>(text.size());
}

bool hasLongWord(const QString& text) {
  int n = 0;
  return std::ranges::any_of(text, [&n](QChar c) { return (n = c.isSpace() ? 0 : n + 1) > SpacedTextLayout::kLongestWord; });
}

bool hasOwnFont(const QTextLayout::FormatRange& range) { return range.format.hasProperty(QTextFormat::FontStyleStrategy); }

}  // namespace

bool SpacedTextLayout::breaksOtherwise(int from, int added) {
  QTextOption option = document()->defaultTextOption();
  const bool anywhere = option.wrapMode() == QTextOption::WrapAnywhere;
  bool wanted = false;
  QTextBlock block = anywhere ? document()->begin() : document()->findBlock(from);  // the long word may be gone
  for (; block.isValid() && !wanted && (anywhere || block.position() <= from + added); block = block.next())
    wanted = block.length() > kLongestWord && hasLongWord(block.text());
  if (wanted == anywhere) return false;
  option.setWrapMode(wanted ? QTextOption::WrapAnywhere : QTextOption::WrapAtWordBoundaryOrAnywhere);
  document()->setDefaultTextOption(option);
  return true;
}

/// The font of a block's end must be known before its lines are broken. Formats of an input method that composes here stay.
void SpacedTextLayout::documentChanged(int from, int removed, int added) {
  if (breaksOtherwise(from, added)) return;
  for (QTextBlock block = document()->findBlock(from); block.isValid() && block.position() <= from + added; block = block.next()) {
    QTextLayout& layout = *block.layout();
    const QString text = block.text();
    const auto n_composed = static_cast<int>(layout.preeditAreaText().size()), n = static_cast<int>(text.size()) + n_composed;
    const int end = endOfPictures(text), begin = layout.preeditAreaPosition() <= end ? end + n_composed : end;
    QList<QTextLayout::FormatRange> formats = layout.formats();
    formats.removeIf(hasOwnFont);
    if (begin < n) {
      QFont alone = document()->defaultFont();
      alone.setStyleStrategy(QFont::NoFontMerging);
      QTextLayout::FormatRange rest{begin, n - begin, {}};
      rest.format.setFont(alone);
      formats.append(rest);
    }
    if (formats != layout.formats()) layout.setFormats(formats);
  }
  QPlainTextDocumentLayout::documentChanged(from, removed, added);
}

bool SpacedTextLayout::hasBoxes() const {
  if (document()->characterCount() <= kMostEmoji) return false;
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next())
    if (block.length() > kMostEmoji && std::ranges::any_of(block.layout()->formats(), hasOwnFont)) return true;
  return false;
}

void SpacedTextLayout::setPitch(int pitch) {
  m_pitch = pitch;
  requestUpdate();
}

void SpacedTextLayout::setIndent(double all, double first) {
  if (all == m_indent && first == m_first_indent) return;
  const int changed = all == m_indent ? document()->firstBlock().length() : document()->characterCount();
  m_indent = all;
  m_first_indent = first;
  QPlainTextDocumentLayout::documentChanged(0, 0, changed);  // lines are broken anew
  requestUpdate();
}

/// Qt breaks all lines of plain text to one width, from its margin on: they are broken once more.
void SpacedTextLayout::indent(const QTextBlock& block) const {
  QTextLayout& layout = *block.layout();
  const double left = document()->documentMargin() + m_indent, first = block == document()->firstBlock() ? m_first_indent : 0;
  if (layout.lineCount() == 0 || layout.lineAt(0).x() == left + first) return;
  const double width = layout.lineAt(0).width() - m_indent;
  layout.beginLayout();
  for (bool begins = true;; begins = false) {
    QTextLine line = layout.createLine();
    if (!line.isValid()) break;
    line.setLeadingIncluded(true);
    line.setLineWidth(begins ? width - first : width);
    line.setPosition({begins ? left + first : left, 0});
  }
  layout.endLayout();
  QTextBlock(block).setLineCount(layout.lineCount());
}

QRectF SpacedTextLayout::blockBoundingRect(const QTextBlock& block) const {
  QRectF rect = QPlainTextDocumentLayout::blockBoundingRect(block);
  if (!block.isValid() || !block.isVisible()) return rect;
  const QTextLayout& layout = *block.layout();
  if (m_indent > 0 || m_first_indent > 0) indent(block);
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
