// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>

class QLabel;

namespace kvscope {

class CategoryLegend;
class ChatButton;
class ChatPrompt;
class GeneratedStrip;
class PromptEditor;
class PromptSamples;
class SessionController;
class Workspace;

/// Prompt & output (V1): the legend of the colours behind the text, the editor with the prompt, and what each lane said after it.
/// The scope of the colours is the workspace's selection: one head gives its categories, no head the share of heads that still
/// represent a token.
class PromptPanel : public QWidget {
  Q_OBJECT

 public:
  PromptPanel(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);
  ~PromptPanel() override;  // the editor, whose focus goes with the panel, tells it nothing any more

  /// For the panel's header: "167 + 12 tokens", and what of the prompt was not read; first, how to leave the text while it has the focus.
  QString facts() const;
  PromptEditor& editor() { return *m_editor; }
  GeneratedStrip& strip() { return *m_strip; }
  /// For the lecture: the text first, what follows it in two lines, the legend below. For good.
  void setPlain();

 Q_SIGNALS:
  void factsChanged();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void sendPrompt();
  /// Ctrl+A in a chat: the user's words, and once more everything. False: they are selected, or there are none.
  bool selectMessage();
  void placeSamples();
  void sayWhatToLookFor();
  void takeRequestedPrompt();

  Workspace& m_workspace;
  SessionController& m_controller;
  CategoryLegend* m_legend;
  ChatPrompt* m_chat;
  ChatButton* m_chat_button;  // nullptr in the lecture
  PromptEditor* m_editor;
  GeneratedStrip* m_strip;
  PromptSamples* m_samples;
  QLabel* m_look_for;  // while the text is a sample's
  QStringList m_sent;  // edits on their way to the request, oldest first
  bool m_plain = false;
  bool m_adopting = false;  // the text changes because the request did
};

}  // namespace kvscope
