// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_panel.h"

#include <algorithm>
#include <utility>

#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include "app/window/lecture/lecture_answer.h"
#include "app/window/panels/effect/generated_strip.h"
#include "app/window/panels/prompt/chat_button.h"
#include "app/window/panels/prompt/line_ends.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_editor_layout.h"
#include "app/window/panels/prompt/prompt_panel_legend.h"
#include "app/window/panels/prompt/prompt_panel_samples.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "app/window/session/chat_prompt.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {
constexpr int kLowest = 340;  // px of a panel that says what to look for
}

PromptPanel::PromptPanel(Workspace& workspace, SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_controller(controller),
      m_legend(new CategoryLegend(workspace, this)),
      m_chat(new ChatPrompt(workspace, controller, this)),
      m_chat_button(new ChatButton(*m_chat, this)),
      m_editor(new PromptEditor(workspace, this)),
      m_strip(new GeneratedStrip(workspace, this)),
      m_samples(new PromptSamples(this)),
      m_look_for(new QLabel(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 8, 12, 10);
  column->setSpacing(6);
  column->addWidget(m_legend);
  column->addWidget(m_chat_button, 0, Qt::AlignLeft);
  column->addWidget(m_editor, 1);
  column->addWidget(m_look_for);
  column->addWidget(m_strip);
  setFocusProxy(m_editor);
  m_editor->installEventFilter(this);
  m_editor->setPlaceholderText("Type or paste a prompt, or drop a text file here.");
  connect(m_editor, &PromptEditor::edited, this, [this] { sendPrompt(); });
  connect(m_editor, &PromptEditor::focusChanged, this, [this] {
    update();
    Q_EMIT factsChanged();
  });
  connect(m_editor, &PromptEditor::refused, &controller, &SessionController::refused);
  connect(&controller, &SessionController::requestChanged, this, [this] { takeRequestedPrompt(); });
  connect(&controller, &SessionController::requestChanged, this, [this] {
    if (m_chat_button) m_chat_button->refresh();
  });
  connect(&workspace, &Workspace::snapshotChanged, this, [this] {
    if (m_chat_button) m_chat_button->refresh();
    Q_EMIT factsChanged();
  });
  connect(&workspace, &Workspace::dimmedChanged, this, &PromptPanel::factsChanged);
  connect(m_editor->document(), &QTextDocument::contentsChanged, this, [this] {
    m_samples->setVisible(m_editor->document()->isEmpty());
    sayWhatToLookFor();
  });
  connect(m_samples, &PromptSamples::chosen, this, [this](const QString& prompt) {
    m_editor->setExactText(prompt);
    m_editor->setFocus();
  });
  m_look_for->setObjectName("secondary");
  m_look_for->setWordWrap(true);  // a sentence must not widen the panel
  takeRequestedPrompt();
  m_samples->setVisible(m_editor->document()->isEmpty());
  sayWhatToLookFor();
}

PromptPanel::~PromptPanel() { m_editor->disconnect(this); }

/// A sample says what it was made to show; a text of one's own says nothing, nor does the lecture, which has its captions.
void PromptPanel::sayWhatToLookFor() {
  const SamplePrompt* sample = m_plain ? nullptr : samplePromptOf(m_editor->exactText());
  m_look_for->setVisible(sample != nullptr && height() >= px(*this, kLowest));  // a low panel has its room for the text and the figures
  if (!sample) return;
  m_look_for->setText("Look for: " + sample->look_for);
  m_look_for->setToolTip("<p>" + sample->about.toHtmlEscaped() + "</p>");
  m_look_for->setAccessibleDescription(sample->about);
}

void PromptPanel::setPlain() {
  auto* column = static_cast<QVBoxLayout*>(layout());
  column->setContentsMargins(0, 0, 0, 0);
  column->removeWidget(m_strip);
  column->removeWidget(m_legend);
  m_strip->hide();
  m_legend->setPlain();
  delete std::exchange(m_chat_button, nullptr);  // its menu is the other panel's, too
  m_plain = true;
  sayWhatToLookFor();
  m_editor->setLinePitch(19);
  m_editor->setClickSelects(true);
  column->addWidget(new LectureAnswer(m_workspace, this));
  column->addWidget(m_legend);
}

/// The frame around the text grows with it, where a line below it goes.
bool PromptPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_editor && event->type() == QEvent::Resize) update();
  if (watched == m_editor && event->type() == QEvent::KeyPress && m_editor->writing() &&
      static_cast<QKeyEvent*>(event)->matches(QKeySequence::SelectAll) && selectMessage())
    return true;
  return QWidget::eventFilter(watched, event);
}

bool PromptPanel::selectMessage() {
  const std::optional<std::pair<int, int>> message = m_chat->messageIn(shownText(m_editor->exactText()));
  QTextCursor cursor = m_editor->textCursor();
  if (!message || (cursor.selectionStart() == message->first && cursor.selectionEnd() == message->second)) return false;
  cursor.setPosition(message->first);
  cursor.setPosition(message->second, QTextCursor::KeepAnchor);
  m_editor->setTextCursor(cursor);
  return true;
}

void PromptPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  sayWhatToLookFor();
  placeSamples();
}

/// A frame around the text that has the focus: there, letters are letters, and no keys of the window.
void PromptPanel::paintEvent(QPaintEvent* event) {
  QWidget::paintEvent(event);
  if (!m_editor->writing()) return;
  QPainter painter(this);
  const QRect frame = m_editor->geometry().adjusted(-6, -3, 6, 3) & rect();
  if (m_plain)  // its text begins at the edge: a line below it
    return painter.fillRect(QRect(frame.left(), frame.bottom() - 1, frame.width(), 2), toColor(m_workspace.theme().accent));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(toColor(m_workspace.theme().accent), 1));
  painter.drawRoundedRect(QRectF(frame).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
}

/// Below the words that invite to type.
void PromptPanel::placeSamples() {
  layout()->activate();
  const QRect editor = m_editor->geometry();
  const int words = QFontMetrics(m_editor->document()->defaultFont())
                        .boundingRect(QRect(0, 0, editor.width(), QWIDGETSIZE_MAX), Qt::TextWordWrap, m_editor->placeholderText())
                        .height();
  const int top = editor.top() + std::max(px(*this, 36), words + px(*this, 10));
  m_samples->setGeometry(editor.left(), top, editor.width(), std::max(0, std::min(m_samples->sizeHint().height(), editor.bottom() - top)));
}

QString PromptPanel::facts() const {
  const Snapshot& snapshot = m_workspace.snapshot();
  const int n_after = std::max(0, static_cast<int>(snapshot.tokens.size()) - snapshot.n_prompt);
  const bool other = qs(snapshot.prompt) != m_editor->exactText();
  QString facts = QString("%1 + %2 tokens").arg(qs(viz::format_count(snapshot.n_prompt)), qs(viz::format_count(n_after)));
  if (const int unread = m_editor->spans().unread(); unread > 0) {
    facts += QString(" · last %1 characters not read").arg(qs(viz::format_count(unread)));
  }
  if (snapshot.lanes.empty() && snapshot.model.n_layers > 0 && !m_editor->document()->isEmpty())
    facts = snapshot.phase == RunPhase::failed                             ? "text not taken"
            : snapshot.phase == RunPhase::idle && !snapshot.tokens.empty() ? facts + ", not read to the end"
                                                                           : "reading the text";
  else if (snapshot.phase == RunPhase::failed && other)
    facts = "text before: " + facts;
  else if (m_workspace.dimmed() && other)
    facts = "reading the text · before: " + facts;
  if (m_editor->textLayout().hasBoxes())
    facts += QString(" · boxes for emoji after the first %1 of a paragraph").arg(qs(viz::format_count(SpacedTextLayout::kMostEmoji)));
  if (!m_editor->writing()) return facts;
  return (m_controller.viewOnly() ? "view only, Esc leaves · " : "writing, Esc leaves · ") + facts;
}

void PromptPanel::sendPrompt() {
  if (m_adopting) return;
  const QString text = m_editor->exactText();
  m_sent.push_back(text);
  m_controller.setPrompt(text, m_chat->kindOf(text));
}

void PromptPanel::takeRequestedPrompt() {
  const QString wanted = qs(m_controller.request().prompt);
  // The request may lag behind the keyboard: what was typed here must not come back and undo what was typed since.
  if (const qsizetype i = m_sent.lastIndexOf(wanted); i >= 0) {
    m_sent.remove(0, i);
    return;
  }
  if (wanted == m_editor->exactText()) return;
  m_sent.clear();
  m_adopting = true;
  m_editor->setExactText(wanted);
  m_adopting = false;
}

}  // namespace kvscope
