// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_editor.h"

#include <algorithm>

#include <QApplication>
#include <QFileInfo>
#include <QHelpEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextBoundaryFinder>
#include <QTimer>
#include <QToolTip>
#include <QUrl>

#include "app/lessons/prompt_text.h"
#include "app/window/files/file_kind.h"
#include "app/window/files/prompt_file.h"
#include "app/window/panels/prompt/prompt_editor_layout.h"
#include "app/window/session/undo/undo_keys.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "viz/draw/format.h"
#include "viz/reduce/finding.h"

namespace kvscope {

namespace {

/// The one local regular file of a drop or paste; empty otherwise.
QString fileOf(const QMimeData* source) {
  const QList<QUrl> urls = source->urls();
  if (urls.size() != 1 || !urls.front().isLocalFile() || !QFileInfo(urls.front().toLocalFile()).isFile()) return {};
  const QString path = urls.front().toLocalFile();
  return kindOfFile(path) == FileKind::prompt ? path : QString();  // the window takes the others
}

/// Of what is on the clipboard; empty: it can be pasted.
QString whyNoPrompt(const QString& text) {
  if (text.isEmpty()) return "The clipboard has no text: the prompt stays as it was";  // a picture, say: what is selected would be gone
  if (static_cast<std::size_t>(text.size()) <= kMostPromptBytes) return {};            // each takes a byte at least
  return QString("The text on the clipboard takes %1 and more, a prompt at most %2: the prompt stays as it was")
      .arg(qs(viz::format_bytes(static_cast<double>(text.size()))), qs(viz::format_bytes(static_cast<double>(kMostPromptBytes))));
}

/// As it stands there (toPlainText() would turn no-break spaces into spaces).
QString textIn(const QTextDocument& document) { return document.toRawText().replace(QChar::ParagraphSeparator, QChar('\n')); }

/// The cursor is behind what was put in.
QTextCursor replaceDiffering(QTextDocument& document, const QString& now, const QString& text) {
  const qsizetype most = std::min(text.size(), now.size());
  qsizetype begin = std::ranges::mismatch(text, now).in1 - text.begin(), same = 0;
  if (begin > 0 && text[begin - 1].isHighSurrogate()) --begin;
  while (same < most - begin && text[text.size() - 1 - same] == now[now.size() - 1 - same]) ++same;
  if (same > 0 && text[text.size() - same].isLowSurrogate()) --same;
  QTextCursor changed(&document);
  changed.setPosition(static_cast<int>(begin));
  changed.setPosition(static_cast<int>(now.size() - same), QTextCursor::KeepAnchor);
  changed.insertText(text.mid(begin, text.size() - same - begin));
  return changed;
}

/// The tokens of the word that a token is of, or is a part of: vocabularies cut many words.
std::pair<int, int> wordOf(const TokenSpans& spans, const QTextDocument& document, int token) {
  const std::pair alone(token, token);
  if (spans.positionOf(token) < 0) return alone;
  const QTextBlock block = document.findBlock(spans.positionOf(token));
  const QString text = block.text();
  auto at = static_cast<qsizetype>(spans.positionOf(token) - block.position());
  while (at >= 0 && at < text.size() && text[at].isSpace()) ++at;  // mostly the space before the word is the token's, too
  if (at < 0 || at >= text.size() || !text[at].isLetterOrNumber()) return alone;
  QTextBoundaryFinder words(QTextBoundaryFinder::Word, text);
  words.setPosition(at);
  const qsizetype begin = words.isAtBoundary() ? at : words.toPreviousBoundary(), next = words.toNextBoundary();
  const qsizetype end = next < 0 ? text.size() : next;
  const auto word = spans.tokens(block.position() + static_cast<int>(begin), block.position() + static_cast<int>(end));
  return word.first <= token && token <= word.second ? word : alone;
}

}  // namespace

PromptEditor::PromptEditor(Workspace& workspace, QWidget* parent) : QPlainTextEdit(parent), m_workspace(workspace) {
  auto* text = new QTextDocument(this);
  m_layout = new SpacedTextLayout(text, static_cast<int>(m_pitch));
  text->setDocumentLayout(m_layout);
  text->setDocumentMargin(0);
  setDocument(text);
  setUndoRedoEnabled(false);
  setFrameShape(QFrame::NoFrame);
  setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  // Lines are broken at the width, but the space at a break may stand beside it: the caret must not draw the text after it.
  connect(horizontalScrollBar(), &QScrollBar::valueChanged, this, [this] { horizontalScrollBar()->setValue(0); });
  setTabChangesFocus(true);
  setMouseTracking(true);
  viewport()->setMouseTracking(true);
  setAccessibleName("prompt");
  setAccessibleDescription("text of the prompt; the background of each token shows its fate in the selected head");
  applyType();
  connect(document(), &QTextDocument::contentsChange, this, [this](int, int removed, int added) {
    if (removed == 0 && added == 0) return;
    m_spans.setText(m_text.follow(textIn(*document())));
    viewport()->update();
    Q_EMIT edited();
  });
  connect(this, &QPlainTextEdit::selectionChanged, this, [this] { publishSelection(); });
  const auto recoloured = [this] {
    recolour();
    showEmphasis();
  };
  connect(&workspace, &Workspace::snapshotChanged, this, recoloured);
  connect(&workspace, &Workspace::teachingChanged, this, recoloured);
  connect(&workspace, &Workspace::selectionChanged, this, [this] {
    recolour();
    showEmphasis();
    showSelection();
  });
  connect(&workspace, &Workspace::themeChanged, this, [this] { recolour(); });
  connect(&workspace, &Workspace::dimmedChanged, this, [this] { recolour(); });
  connect(&workspace, &Workspace::hoverChanged, viewport(), qOverload<>(&QWidget::update));
  connect(&workspace, &Workspace::foundChanged, viewport(), qOverload<>(&QWidget::update));
  recolour();
}

void PromptEditor::setExactText(const QString& text) {
  if (text == exactText()) return;
  const bool alike = shownText(text) == textIn(*document());  // but for line ends
  m_text.put(text, [this](const QString& shown) {
    const QTextCursor changed = replaceDiffering(*document(), textIn(*document()), shown);
    if (hasFocus()) setTextCursor(changed);
  });
  if (alike) Q_EMIT edited();
}

QString PromptEditor::loadFile(const QString& path) {
  try {
    setExactText(readPromptFile(path));
    return {};
  } catch (const Error& error) {
    return QString::fromUtf8(error.what());
  }
}

void PromptEditor::setClickSelects(bool on) {
  m_click_selects = on;
  if (on) m_colours.setAudience();
  setReadOnly(on);
  placeLeads();
}

void PromptEditor::beginWriting() {
  setReadOnly(false);
  setFocus();
  Q_EMIT focusChanged();
}

void PromptEditor::showEnd() { verticalScrollBar()->setValue(verticalScrollBar()->maximum()); }

void PromptEditor::applyType() {
  QFont font = typeFont(*this, Type::text);
  document()->setDefaultFont(font);
  m_layout->setPitch(px(*this, m_pitch));
  setTabStopDistance(4 * QFontMetricsF(font).horizontalAdvance(' '));
  setCursorWidth(std::max(1, px(*this, 1.5)));
  placeLeads();
  keepWholeLines();
}

/// Half a line at the bottom would be no text and no sign that it goes on.
void PromptEditor::keepWholeLines() {
  const int room = contentsRect().height(), pitch = m_layout->pitch();
  const QMargins margins(0, 0, 0, room > pitch ? room % pitch : 0);
  if (viewportMargins() != margins) setViewportMargins(margins);
}

void PromptEditor::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  keepWholeLines();
}

/// Qt breaks the lines of what was set behind another page by the width that it had then.
void PromptEditor::showEvent(QShowEvent* event) {
  QPlainTextEdit::showEvent(event);
  QTimer::singleShot(0, this, [this] {
    QResizeEvent anew(viewport()->size(), QSize());
    QPlainTextEdit::resizeEvent(&anew);
  });
}

void PromptEditor::setLinePitch(double pitch) {
  m_pitch = pitch;
  applyType();
}

void PromptEditor::changeEvent(QEvent* event) {
  QPlainTextEdit::changeEvent(event);
  if (event->type() == QEvent::FontChange && m_layout) applyType();
}

void PromptEditor::recolour() {
  if (m_spans_of != m_workspace.snapshotPtr()) {
    m_spans_of = m_workspace.snapshotPtr();
    m_spans.setTokens(*m_spans_of, textIn(*document()));
    placeLeads();
  }
  m_colours.update(m_workspace);
  viewport()->update();
}

void PromptEditor::placeLeads() {
  if (m_click_selects && m_spans_of) m_leads.update(*m_spans_of, typeFont(*this, Type::text), px(*this, 4));
  m_layout->setIndent(m_click_selects ? px(*this, 2) : 0, m_leads.holds(0) ? m_leads.width() + px(*this, 2) : 0);
}

// ---- selection and hover

void PromptEditor::publishSelection() {
  if (!m_selecting || !textCursor().hasSelection()) return;
  const auto [first, last] = m_spans.tokens(textCursor().selectionStart(), textCursor().selectionEnd());
  if (first < 0) return;
  viz::Selection selection = m_workspace.selection();
  selection.select({first, last});
  m_workspace.setSelection(selection);
}

void PromptEditor::selectWordAt(const QPoint& point) {
  viz::Selection selection = m_workspace.selection();
  const int token = tokenAt(point);
  if (token < 0) {
    selection.tokens.reset();
    selection.more_tokens.clear();
    selection.slot.reset();
  } else {
    const auto [first, last] = wordOf(m_spans, *document(), token);
    selection.select({first, last});
    selection.slot = token;  // of the word that was clicked, this
  }
  m_workspace.setSelection(selection);
}

void PromptEditor::showSelection() {
  if (m_selecting || hasFocus()) return;
  if (m_workspace.selection().tokens) return bringIntoSight(m_workspace.selection().tokens->first);
  // The lost token that the sentence over the panels speaks of. In a lecture the scenes say where to look.
  const LaneSnapshot* lane = m_workspace.lane();
  if (lane != nullptr && !m_click_selects) bringIntoSight(viz::finding_of(m_workspace.snapshot(), *lane, m_workspace.step()).loss.token);
}

void PromptEditor::showAnew() {
  verticalScrollBar()->setValue(0);
  showSelection();
}

void PromptEditor::showEmphasis() {
  if (!m_workspace.emphasis() || hasFocus()) return;
  const int n = m_workspace.snapshot().n_prompt;
  int first = -1;
  for (int token = 0; token < n; ++token) {
    if (m_colours.category(token) != *m_workspace.emphasis()) continue;
    for (const QRectF& rect : rectsOf(token))
      if (rect.top() >= 0 && rect.bottom() <= viewport()->height()) return;
    if (first < 0 && placeOf(token) >= 0) first = token;
  }
  if (first >= 0) bringIntoSight(first);
}

void PromptEditor::bringIntoSight(int token) {
  const int position = placeOf(token);
  if (position < 0) return;
  QTextCursor place(document());
  place.setPosition(std::min(position, document()->characterCount() - 1));
  const QRect rect = cursorRect(place);
  const int room = viewport()->height();
  if (rect.top() >= 0 && rect.bottom() <= room) return;
  // The scroll bar counts lines; the text cursor stays where the user left it.
  const int line = place.block().firstLineNumber() + place.block().layout()->lineForTextPosition(place.positionInBlock()).lineNumber();
  verticalScrollBar()->setValue(line - std::min(2, (room / m_layout->pitch() - 1) / 2));
}

void PromptEditor::setHoveredToken(int token) {
  viz::Hover hover = m_workspace.hover();
  if (token < 0 && !m_hovering) return;
  hover = {};
  if (token >= 0) hover.token = token;
  m_hovering = token >= 0;
  m_workspace.setHover(hover);
}

/// The same place on the middle of its line: Qt's hit test knows nothing of the gaps between the lines.
QPointF PromptEditor::onLine(const QPointF& point) const {
  QPointF offset = contentOffset();
  const int pitch = m_layout->pitch();
  for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
    const double height = blockBoundingRect(block).height();
    if (point.y() < offset.y() + height || !block.next().isValid()) {
      const int line = std::clamp(static_cast<int>((point.y() - offset.y()) / pitch), 0, std::max(0, block.layout()->lineCount() - 1));
      return {point.x(), offset.y() + (line + 0.5) * pitch};
    }
    offset.ry() += height;
    if (offset.y() > viewport()->height()) break;
  }
  return point;
}

void PromptEditor::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && event->modifiers() == Qt::ControlModifier) {  // the token joins the selection, or leaves it
    const int token = tokenAt(event->position().toPoint());
    if (token < 0) return;
    viz::Selection selection = m_workspace.selection();
    viz::toggle_tokens(selection, {token, token});
    m_workspace.setSelection(selection);
    return;
  }
  m_selecting = event->button() == Qt::LeftButton;
  m_pressed.reset();
  if (m_selecting && event->modifiers() == Qt::NoModifier) m_pressed = event->position().toPoint();
  if (m_selecting && isReadOnly() && document()->isEmpty()) beginWriting();  // there is no word to select
  QMouseEvent moved(event->type(), onLine(event->position()), event->globalPosition(), event->button(), event->buttons(),
                    event->modifiers());
  QPlainTextEdit::mousePressEvent(&moved);
}

void PromptEditor::mouseMoveEvent(QMouseEvent* event) {
  const bool inside = viewport()->rect().contains(event->position().toPoint());
  setHoveredToken(event->buttons() == Qt::NoButton && inside ? tokenAt(event->position().toPoint()) : -1);
  // Outside the viewport the base class scrolls while selecting: then the place must stay as it is.
  const QPointF place = inside ? onLine(event->position()) : event->position();
  QMouseEvent moved(event->type(), place, event->globalPosition(), event->button(), event->buttons(), event->modifiers());
  QPlainTextEdit::mouseMoveEvent(&moved);
}

void PromptEditor::mouseReleaseEvent(QMouseEvent* event) {
  QMouseEvent moved(event->type(), onLine(event->position()), event->globalPosition(), event->button(), event->buttons(),
                    event->modifiers());
  QPlainTextEdit::mouseReleaseEvent(&moved);
  publishSelection();
  m_selecting = false;
  const auto pressed = std::exchange(m_pressed, std::nullopt);
  if (!m_click_selects || !pressed || textCursor().hasSelection()) return;
  if ((*pressed - event->position().toPoint()).manhattanLength() < QApplication::startDragDistance()) selectWordAt(*pressed);
}

void PromptEditor::mouseDoubleClickEvent(QMouseEvent* event) {
  m_selecting = true;
  m_pressed.reset();
  QMouseEvent moved(event->type(), onLine(event->position()), event->globalPosition(), event->button(), event->buttons(),
                    event->modifiers());
  if (isReadOnly()) {  // the first click has put the caret there
    m_selecting = false;
    return beginWriting();
  }
  QPlainTextEdit::mouseDoubleClickEvent(&moved);
}

void PromptEditor::keyPressEvent(QKeyEvent* event) {
  if (isReadOnly()) {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return beginWriting();
    return event->ignore();  // the window's
  }
  m_selecting = true;  // Shift+arrows and Ctrl+A select tokens as the mouse does
  QPlainTextEdit::keyPressEvent(event);
  m_selecting = false;
}

void PromptEditor::focusInEvent(QFocusEvent* event) {
  QPlainTextEdit::focusInEvent(event);
  Q_EMIT focusChanged();
}

void PromptEditor::focusOutEvent(QFocusEvent* event) {
  QPlainTextEdit::focusOutEvent(event);
  if (m_click_selects && event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason) setReadOnly(true);
  Q_EMIT focusChanged();
}

void PromptEditor::leaveEvent(QEvent* event) {
  setHoveredToken(-1);
  QPlainTextEdit::leaveEvent(event);
}

bool PromptEditor::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QPlainTextEdit::viewportEvent(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const int token = tokenAt(help->pos());
  if (token < 0) {
    QToolTip::hideText();
    return true;
  }
  const QString head = QString("token %1 %2").arg(token).arg(qs(viz::quoted(viz::token_text(m_workspace.read(), token))));
  const QString fate = m_colours.describe(token);
  QToolTip::showText(help->globalPos(), (fate.isEmpty() ? head : head + "\n" + fate).toHtmlEscaped().replace("\n", "<br>"), viewport());
  return true;
}

/// Of all edits the last one is taken back first, and the window knows which.
bool PromptEditor::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && isUndoKey(*static_cast<QKeyEvent*>(event))) {
    event->ignore();
    return false;
  }
  return QPlainTextEdit::event(event);
}

// ---- clipboard and files

bool PromptEditor::canInsertFromMimeData(const QMimeData* source) const {
  if (source->hasUrls()) return !fileOf(source).isEmpty();  // folders and several files are for the window
  return source->hasText();
}

void PromptEditor::insertFromMimeData(const QMimeData* source) {
  const QString path = fileOf(source);
  if (path.isEmpty()) {
    const QString text = source->text();
    if (const QString why = whyNoPrompt(text); !why.isEmpty()) return Q_EMIT refused(why);
    textCursor().insertText(text);
    ensureCursorVisible();
    return;
  }
  const QString failure = loadFile(path);
  if (!failure.isEmpty()) Q_EMIT refused(failure);
}

QMimeData* PromptEditor::createMimeDataFromSelection() const {
  auto* mime = new QMimeData;
  mime->setText(textCursor().selectedText().replace(QChar::ParagraphSeparator, QChar('\n')));
  return mime;
}

}  // namespace kvscope
