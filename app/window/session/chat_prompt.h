// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <QObject>
#include <QString>

#include "runtime/session/run_request.h"

namespace kvscope {

class ChatTemplate;
class SessionController;
class Workspace;

/// The prompt as a message to a chat model. The text stays what the model sees, character for character, with what its template writes
/// around the words, so that everything can be looked at and edited; this turns words into that text and back.
class ChatPrompt : public QObject {
  Q_OBJECT

 public:
  ChatPrompt(Workspace& workspace, SessionController& controller, QObject* parent = nullptr);

  /// The model has a template.
  bool available() const;
  /// Why it is of no use; empty: it is, or there is none.
  QString problem() const;
  bool on() const;
  /// The system's message in the text, where it is one that the template writes.
  std::optional<QString> system() const;
  /// Where the user's message stands in a text that the template wrote, in its characters; nothing: nowhere.
  std::optional<std::pair<int, int>> messageIn(const QString& text) const;
  /// What a text that was typed or pasted is: a chat template's as long as it begins as those do.
  PromptText kindOf(const QString& text) const;

 public Q_SLOTS:
  void setOn(bool on);
  /// The template's text with this system's message; without one: with what it says by itself.
  void setSystem(const std::optional<QString>& message);

 private:
  /// The prompt becomes this text. A template that refuses is told of.
  void write(const std::optional<QString>& system, const QString& words);

  Workspace& m_workspace;
  SessionController& m_controller;
  const QString& opening() const;

  mutable std::shared_ptr<const ChatTemplate> m_template;
  mutable QString m_opening;  // of m_template: asked for with every key
};

}  // namespace kvscope
