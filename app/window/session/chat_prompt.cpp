// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/chat_prompt.h"

#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "core/error.h"
#include "tokenizer/chat_template.h"

namespace kvscope {

namespace {

std::optional<ChatWords> wordsOf(const Workspace& workspace, const RunRequest& request) {
  const ChatTemplate* chat = workspace.snapshot().chat.get();
  return chat && request.prompt_text == PromptText::chat ? chat_words_of(*chat, request.prompt, request.chat_arguments) : std::nullopt;
}

}  // namespace

ChatPrompt::ChatPrompt(Workspace& workspace, SessionController& controller, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_controller(controller) {}

bool ChatPrompt::available() const { return m_workspace.snapshot().chat != nullptr; }

QString ChatPrompt::problem() const { return QString::fromStdString(m_workspace.snapshot().chat_problem); }

bool ChatPrompt::on() const { return m_controller.request().prompt_text == PromptText::chat; }

std::optional<QString> ChatPrompt::system() const {
  const std::optional<ChatWords> words = wordsOf(m_workspace, m_controller.request());
  return words && words->system ? std::optional(QString::fromStdString(*words->system)) : std::nullopt;
}

std::optional<std::pair<int, int>> ChatPrompt::messageIn(const QString& text) const {
  const ChatTemplate* chat = m_workspace.snapshot().chat.get();
  if (chat == nullptr || !on()) return std::nullopt;
  const std::string bytes = text.toStdString();
  const std::vector<TextRange> typed = typed_in(*chat, bytes, m_controller.request().chat_arguments);
  if (typed.empty()) return std::nullopt;
  const auto characters = [&](std::size_t n) {
    return static_cast<int>(QString::fromUtf8(bytes.data(), static_cast<qsizetype>(n)).size());
  };
  return std::pair{characters(typed.back().begin), characters(typed.back().end)};
}

PromptText ChatPrompt::kindOf(const QString& text) const {
  const PromptText now = m_controller.request().prompt_text;
  if (now != PromptText::chat) return now;
  if (text.isEmpty() || !available()) return PromptText::plain;
  return text.startsWith(opening()) ? PromptText::chat : PromptText::plain;
}

const QString& ChatPrompt::opening() const {
  if (const auto& chat = m_workspace.snapshot().chat; chat != m_template) {
    m_template = chat;
    m_opening = QString::fromStdString(chat_opening(*chat));
  }
  return m_opening;
}

void ChatPrompt::setOn(bool on) {
  const RunRequest& request = m_controller.request();
  if (on == this->on() || (on && !available())) return;
  // Of a prompt that was given as ids the text is the result's.
  if (on) return write({}, QString::fromStdString(request.prompt_ids.empty() ? request.prompt : m_workspace.snapshot().prompt));
  const std::optional<ChatWords> words = wordsOf(m_workspace, request);
  m_controller.setPrompt(QString::fromStdString(words ? words->user : request.prompt));
}

void ChatPrompt::setSystem(const std::optional<QString>& message) {
  const RunRequest& request = m_controller.request();
  const std::optional<ChatWords> words = wordsOf(m_workspace, request);
  if (on() && !words) {
    Q_EMIT m_controller.refused(
        "The text is not as the chat template writes it any more, so there is no place for a system's message: write it into the text, "
        "or switch Chat off and on.");
    return;
  }
  write(message, QString::fromStdString(words ? words->user : request.prompt));
}

void ChatPrompt::write(const std::optional<QString>& system, const QString& words) {
  const ChatTemplate* chat = m_workspace.snapshot().chat.get();
  if (chat == nullptr) return;
  try {
    const std::string text = chat_text(*chat, {system ? std::optional(system->toStdString()) : std::nullopt, words.toStdString()},
                                       m_controller.request().chat_arguments);
    m_controller.setPrompt(QString::fromStdString(text), PromptText::chat);
  } catch (const Error& error) {
    Q_EMIT m_controller.refused(QString::fromUtf8(error.what()));
  }
}

}  // namespace kvscope
