// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <QPlainTextEdit>

#include "app/window/panels/prompt/line_ends.h"
#include "app/window/panels/prompt/prompt_editor_colours.h"
#include "app/window/panels/prompt/prompt_editor_leads.h"
#include "app/window/panels/prompt/prompt_editor_spans.h"

namespace kvscope {

class SpacedTextLayout;
class Workspace;

/// The prompt as plain text. Typing, IME, clipboard and drag are Qt's own, undo is the window's; behind the visible lines every token
/// carries the colour of its fate. Selecting text selects tokens in all views. Only the visible blocks are looked at, however long the text
/// is.
class PromptEditor : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit PromptEditor(Workspace& workspace, QWidget* parent = nullptr);

  /// The text, character for character, line ends included (the document has one kind of them).
  const QString& exactText() const { return m_text.get(); }
  /// What differs is replaced, as by hand. Emits edited().
  void setExactText(const QString& text);
  /// Replaces the text by a file's: UTF-8, at most kMostPromptBytes. On failure the text stays and the reason is returned.
  QString loadFile(const QString& path);

  /// From line to line, px at 14 px text.
  void setLinePitch(double pitch);
  /// For an audience: a click on a word selects its tokens, one beside the text selects none, and letters stay keys of the window until
  /// writing begins, by a double click, Enter or beginWriting(). It ends with the focus. What the model reads before the text stands there,
  /// too.
  void setClickSelects(bool on);
  void beginWriting();
  /// The last lines: where a question stands.
  void showEnd();
  void bringIntoSight(int token);  // its line, and some above it, where it is not to be seen
  /// From the beginning on, the selected tokens in sight: the same whatever was shown before.
  void showAnew();
  /// The first token of the category that is spoken of, where none of them is to be seen.
  void showEmphasis();
  /// Letters are letters here, and no keys of the window.
  bool writing() const { return hasFocus() && !isReadOnly(); }
  /// Token under a point of the viewport; -1: none.
  int tokenAt(const QPoint& point) const;
  /// Where a visible token is drawn, one rectangle a line, in the viewport's coordinates.
  std::vector<QRectF> rectsOf(int token) const;
  const TokenColours& colours() const { return m_colours; }
  const TokenSpans& spans() const { return m_spans; }
  const SpacedTextLayout& textLayout() const { return *m_layout; }

 Q_SIGNALS:
  void edited();
  /// A dropped file could not be taken: one sentence.
  void refused(const QString& message);
  /// The text got the focus or lost it, or writing began.
  void focusChanged();

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  bool canInsertFromMimeData(const QMimeData* source) const override;
  void insertFromMimeData(const QMimeData* source) override;
  QMimeData* createMimeDataFromSelection() const override;

 private:
  struct Piece {  // of one token on one line
    int token;
    QRectF rect;  // viewport
  };

  void applyType();
  void keepWholeLines();
  void recolour();
  void placeLeads();
  /// Where a token begins in the text; what stands before the text is at its beginning. -1: nowhere.
  int placeOf(int token) const { return m_leads.holds(token) ? 0 : m_spans.positionOf(token); }
  void publishSelection();
  void selectWordAt(const QPoint& point);
  void showSelection();
  void setHoveredToken(int token);
  std::vector<Piece> pieces(const QTextBlock& block, const QPointF& offset) const;  // of the lines in the viewport
  /// Found, selected, pinned, pointed at: what is drawn over one token.
  void paintMarks(QPainter& painter, const Piece& piece) const;
  void paintBlock(QPainter& painter, const QTextBlock& block, const QPointF& offset,
                  const QAbstractTextDocumentLayout::PaintContext& context);
  QPointF onLine(const QPointF& point) const;

  Workspace& m_workspace;
  ExactText m_text;
  SpacedTextLayout* m_layout;
  double m_pitch = 25;
  TokenSpans m_spans;
  TokenColours m_colours;
  LeadTokens m_leads;
  SnapshotPtr m_spans_of;                             // the snapshot m_spans was read from
  bool m_selecting = false, m_click_selects = false;  // the user selects text right now; for an audience
  std::optional<QPoint> m_pressed;                    // where the left button went down; nothing once it was moved away, or pressed twice
  bool m_hovering = false;                            // the workspace's hover is ours
};

}  // namespace kvscope
