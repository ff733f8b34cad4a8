// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QToolButton>

namespace kvscope {

class ChatPrompt;

/// "Chat": whether the prompt is written as the model's chat template wants, and in its menu the system's message. Hidden where the model
/// has no template.
class ChatButton : public QToolButton {
  Q_OBJECT

 public:
  ChatButton(ChatPrompt& chat, QWidget* parent = nullptr);
  /// The model or the request may have changed.
  void refresh();

 private:
  void askForSystem();

  ChatPrompt& m_chat;
  QAction* m_no_system;
};

}  // namespace kvscope
