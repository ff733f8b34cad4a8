// SPDX-License-Identifier: Apache-2.0
// Where the tokens of the prompt are drawn, and drawing them.
#include <algorithm>
#include <cmath>

#include <QGlyphRun>
#include <QPaintEvent>
#include <QPainter>
#include <QTextBlock>

#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_editor_layout.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

constexpr double kSelectionWash = 0.16;  // of the text colour over selected characters

/// Place in a block's layout of a position in its text: what an input method composes stands in the layout, but not in the text.
int inLayout(const QTextLayout& layout, int position) {
  const int n_composed = static_cast<int>(layout.preeditAreaText().size());
  return n_composed > 0 && position >= layout.preeditAreaPosition() ? position + n_composed : position;
}

/// Where a border is drawn. The beginning of a token is the near edge of its first character, its end the far edge of its last one: where
/// the direction of writing changes these are different places for one position.
double xOf(const QTextLine& line, const QString& text, const QTextLayout& layout, const TextBorder& border, bool end) {
  if (border.part <= 0 || border.at >= text.size()) {
    if (!end || border.at == 0) return line.cursorToX(inLayout(layout, border.at));
    return line.cursorToX(inLayout(layout, border.at - 1), QTextLine::Trailing);
  }
  const int last = border.at + (text[border.at].isHighSurrogate() ? 1 : 0);
  const double x0 = line.cursorToX(inLayout(layout, border.at)), x1 = line.cursorToX(inLayout(layout, last), QTextLine::Trailing);
  return x0 + (x1 - x0) * border.part;
}

bool rightToLeft(const QString& text, int begin, int end) {
  return std::any_of(text.begin() + begin, text.begin() + end,
                     [](QChar c) { return c.direction() == QChar::DirR || c.direction() == QChar::DirAL; });
}

/// Left and right of a token on one line.
std::pair<double, double> extent(const QTextLine& line, const QString& text, const QTextLayout& layout, const TextBorder& from,
                                 const TextBorder& to) {
  const int n = static_cast<int>(text.size());
  if (from.part <= 0 && to.part <= 0 && rightToLeft(text, std::min(from.at, n), std::min(to.at, n))) {
    // A space before a word of the other direction stands apart from it: only the drawn characters count.
    QRectF ink;
    const int begin = inLayout(layout, from.at);
    for (const QGlyphRun& run : line.glyphRuns(begin, inLayout(layout, to.at) - begin)) ink |= run.boundingRect();
    return {ink.left() - 1, ink.right() + 1};
  }
  const double a = xOf(line, text, layout, from, false), b = xOf(line, text, layout, to, true);
  return {std::min(a, b), std::max(a, b)};
}

bool onlySpace(const QString& text, int begin, int end) {
  return std::all_of(text.begin() + begin, text.begin() + std::max(begin, end), [](QChar c) { return c.isSpace(); });
}

}  // namespace

std::vector<PromptEditor::Piece> PromptEditor::pieces(const QTextBlock& block, const QPointF& offset) const {
  std::vector<Piece> found;
  const QTextLayout& layout = *block.layout();
  const QString text = block.text();
  const int start = block.position(), n = static_cast<int>(text.size());
  const double pitch = m_layout->pitch();
  const int n_lines = layout.lineCount();
  if (n_lines == 0) return found;
  // One paragraph may be the whole prompt: only its visible lines count.
  const int first_line = std::clamp(static_cast<int>(-offset.y() / pitch), 0, n_lines - 1);
  const int last_line = std::clamp(static_cast<int>((viewport()->height() - offset.y()) / pitch), 0, n_lines - 1);
  if (first_line == 0 && block == document()->firstBlock()) {
    for (int token = 0; m_leads.holds(token); ++token) found.push_back({token, m_leads.rectOf(token, offset, pitch)});
  }
  const int first_char = std::max(0, layout.lineAt(first_line).textStart() - static_cast<int>(layout.preeditAreaText().size()));
  const int last_char = std::min(n, layout.lineAt(last_line).textStart() + layout.lineAt(last_line).textLength());
  for (TokenSpans::Span span : m_spans.in(start + first_char, start + std::max(first_char + 1, last_char))) {
    span.begin.at -= start;
    span.end.at -= start;
    if (span.begin.at < 0) span.begin = {0, 0};
    if (span.end.at > n) span.end = {n, 0};
    for (int i = layout.lineForTextPosition(inLayout(layout, std::min(span.begin.at, n))).lineNumber(); i >= 0 && i <= last_line; ++i) {
      const QTextLine line = layout.lineAt(i);
      // Lines are in the layout's positions; without composing text both are the same.
      const int line_begin = line.textStart(), line_end = line.textStart() + line.textLength();
      const TextBorder from = inLayout(layout, span.begin.at) < line_begin ? TextBorder{line_begin, 0} : span.begin;
      const TextBorder to = inLayout(layout, span.end.at) > line_end ? TextBorder{line_end, 0} : span.end;
      if (inLayout(layout, span.begin.at) >= line_end && n > 0) continue;
      if (to.at < from.at || (to.at == from.at && to.part <= from.part)) break;
      const bool goes_on = inLayout(layout, span.end.at) > line_end;
      // The space at which a line breaks belongs to the word below and is not seen.
      if (!(goes_on && onlySpace(text, std::min(from.at, n), std::min(to.at, n)))) {
        const auto [left, right] = extent(line, text, layout, from, to);
        const double x0 = std::round(offset.x() + left), x1 = std::round(offset.x() + right);
        const double y = offset.y() + i * pitch + 1;
        if (x1 > x0) found.push_back({span.token, QRectF(x0, y, x1 - x0, pitch - 3)});
      }
      if (!goes_on) break;
    }
  }
  return found;
}

std::vector<QRectF> PromptEditor::rectsOf(int token) const {
  std::vector<QRectF> rects;
  QPointF offset = contentOffset();
  for (QTextBlock block = firstVisibleBlock(); block.isValid() && offset.y() < viewport()->height(); block = block.next()) {
    for (const Piece& piece : pieces(block, offset)) {
      if (piece.token == token) rects.push_back(piece.rect);
    }
    offset.ry() += blockBoundingRect(block).height();
  }
  return rects;
}

int PromptEditor::tokenAt(const QPoint& point) const {
  QPointF offset = contentOffset();
  for (QTextBlock block = firstVisibleBlock(); block.isValid() && offset.y() <= point.y(); block = block.next()) {
    const double height = blockBoundingRect(block).height();
    if (point.y() < offset.y() + height) {
      for (const Piece& piece : pieces(block, offset)) {
        if (piece.rect.adjusted(0, -1, 0, 2).contains(point)) return piece.token;
      }
      return -1;
    }
    offset.ry() += height;
  }
  return -1;
}

void PromptEditor::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  const viz::Theme& theme = m_workspace.theme();
  painter.fillRect(event->rect(), toColor(theme.panel));
  QPointF offset = contentOffset();
  const QAbstractTextDocumentLayout::PaintContext context = getPaintContext();
  for (QTextBlock block = firstVisibleBlock(); block.isValid() && offset.y() <= event->rect().bottom(); block = block.next()) {
    const double height = blockBoundingRect(block).height();
    if (block.isVisible() && offset.y() + height >= event->rect().top()) paintBlock(painter, block, offset, context);
    offset.ry() += height;
  }
  if (document()->isEmpty() && !placeholderText().isEmpty() && textCursor().block().layout()->preeditAreaText().isEmpty()) {
    painter.setPen(toColor(theme.disabled));
    painter.setFont(document()->defaultFont());
    painter.drawText(viewport()->rect(), Qt::AlignTop | Qt::TextWordWrap, placeholderText());
  }
}

void PromptEditor::paintMarks(QPainter& painter, const Piece& piece) const {
  const viz::Theme& theme = m_workspace.theme();
  const double radius = px(*this, 2);
  const std::vector<TokenInfo>& tokens = m_workspace.snapshot().tokens;
  if (static_cast<std::size_t>(piece.token) < tokens.size() && tokens[static_cast<std::size_t>(piece.token)].special) {
    // A pill: these characters are one token of the model's own, not text.
    painter.setPen(QPen(toColor(theme.secondary), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(piece.rect.adjusted(0.5, 0.5, -1.5, -0.5), piece.rect.height() / 2, piece.rect.height() / 2);
  }
  const auto hovered = m_workspace.hover().token;
  if (std::ranges::any_of(m_workspace.found(), [&](const viz::TokenRange& r) { return piece.token >= r.first && piece.token <= r.last; })) {
    painter.setPen(QPen(toColor(theme.accent), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(piece.rect.adjusted(0, 0.5, -0.5, 0.5), radius, radius);
  }
  if (viz::has_token(m_workspace.selection(), piece.token)) {
    painter.fillRect(QRectF(piece.rect.left(), piece.rect.bottom(), piece.rect.width(), 2), toColor(theme.accent));
  }
  if (m_colours.pinned(piece.token)) {
    painter.setPen(QPen(toColor(theme.accent), 2, Qt::DotLine));
    painter.drawLine(QPointF(piece.rect.left() + 1, piece.rect.top()), QPointF(piece.rect.right() - 1, piece.rect.top()));
  }
  if (hovered && piece.token == *hovered) {
    painter.setPen(QPen(toColor(theme.text), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(piece.rect.adjusted(-0.5, 0.5, 0.5, 0.5), radius, radius);
    const QString index = QString::number(piece.token);
    QFont tiny = typeFont(*this, m_click_selects ? Type::text : Type::caption);
    if (!m_click_selects) tiny.setPixelSize(px(*this, 9));
    painter.setFont(tiny);
    const int width = painter.fontMetrics().horizontalAdvance(index) + 4;
    // On the frame's upper edge; over the first line there is no room, and the lower edge has it.
    const int height = painter.fontMetrics().height();
    const double above = piece.rect.top() - height + px(*this, 3);
    const QRectF tag(piece.rect.left(), above >= 0 ? above : piece.rect.bottom() - px(*this, 1), width, height);
    painter.fillRect(tag, toColor(theme.raised));
    painter.drawText(tag, Qt::AlignCenter, index);
  }
}

void PromptEditor::paintBlock(QPainter& painter, const QTextBlock& block, const QPointF& offset,
                              const QAbstractTextDocumentLayout::PaintContext& context) {
  const viz::Theme& theme = m_workspace.theme();
  const QTextLayout& layout = *block.layout();
  const int start = block.position(), n = block.length() - 1;
  const std::vector<Piece> all = pieces(block, offset);

  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  const double gap = 1, radius = px(*this, 2);
  for (const Piece& piece : all) {
    const TokenPaint look = m_colours.paint(piece.token);
    const QRectF area = piece.rect.adjusted(0, 0, piece.rect.width() > 2 ? -gap : 0, 0);
    look.paintBehind(painter, area, radius);
  }

  // Each ink draws the whole shaped text once, clipped to its tokens: ligatures and marks stay whole, and one paragraph of many tokens
  // costs no more than one of few.
  const QColor plain = toColor(theme.text);
  QList<QTextLayout::FormatRange> washes;
  for (const QAbstractTextDocumentLayout::Selection& selection : context.selections) {
    const int from = std::max(0, selection.cursor.selectionStart() - start), to = std::min(n + 1, selection.cursor.selectionEnd() - start);
    if (to <= from) continue;
    QColor wash = plain;
    wash.setAlphaF(static_cast<float>(kSelectionWash));
    QTextLayout::FormatRange range{inLayout(layout, from), to - from, {}};
    range.format.setBackground(wash);
    washes.push_back(range);
  }
  std::vector<std::pair<QColor, QRegion>> inks;
  QRegion rest(viewport()->rect());
  for (const Piece& piece : all) {
    const QColor ink = m_colours.paint(piece.token).text;
    if (ink == plain) continue;
    auto it = std::find_if(inks.begin(), inks.end(), [&](const auto& known) { return known.first == ink; });
    if (it == inks.end()) it = inks.insert(inks.end(), {ink, QRegion()});
    it->second += piece.rect.adjusted(0, -1, 0, 2).toRect();
  }
  for (const auto& [ink, region] : inks) rest -= region;
  inks.emplace_back(plain, rest);
  for (const auto& [ink, region] : inks) {
    painter.save();
    painter.setClipRegion(region, Qt::IntersectClip);
    painter.setPen(ink);
    layout.draw(&painter, offset, washes, QRectF(viewport()->rect()));
    painter.restore();
  }

  for (const Piece& piece : all)
    if (m_leads.holds(piece.token))
      m_leads.paint(painter, document()->defaultFont(), piece.token, piece.rect, m_colours.paint(piece.token).text);

  if (block.next().isValid() && n >= 0) {  // the line break is a character of the text, too
    const QTextLine line = layout.lineAt(layout.lineCount() - 1);
    const auto [token, last] = m_spans.tokens(start + n, start + n + 1);
    painter.setPen(token < 0 ? toColor(theme.disabled) : mix(m_colours.paint(token).text, toColor(theme.panel), 0.25));
    painter.setFont(typeFont(*this, m_click_selects ? Type::text : Type::body));
    if (line.isValid()) {
      const double y = offset.y() + line.lineNumber() * m_layout->pitch();
      painter.drawText(QRectF(offset.x() + line.naturalTextRect().right() + 1, y, px(*this, 20), m_layout->pitch()),
                       Qt::AlignLeft | Qt::AlignVCenter, "↵");
    }
  }
  for (const Piece& piece : all) paintMarks(painter, piece);
  const int cursor = context.cursorPosition;
  const bool composing = cursor < -1 && !layout.preeditAreaText().isEmpty();
  if ((cursor >= start && cursor <= start + n) || composing) {
    painter.setPen(plain);
    painter.setRenderHint(QPainter::Antialiasing, false);
    layout.drawCursor(&painter, offset, composing ? layout.preeditAreaPosition() - (cursor + 2) : inLayout(layout, cursor - start),
                      cursorWidth());
  }
}

}  // namespace kvscope
