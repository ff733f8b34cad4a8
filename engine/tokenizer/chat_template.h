// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace kvscope {

struct ChatMessage {
  std::string role;  // system, user, assistant
  std::string content;
};

/// A model's own way of writing a conversation as one text (Jinja).
class ChatTemplate {
 public:
  /// `name` is for messages; bos and eos: names of the tokens, which templates write themselves. Throws Error: no Jinja, too large.
  ChatTemplate(const std::string& source, const std::string& name, std::string bos, std::string eos);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&& other) noexcept;

  /// The text that the model sees; its special tokens by their names. answer_follows: with the beginning of the assistant's turn.
  /// `variables` as JSON: what else the template asks for. Throws Error with the template's own words where it refuses a conversation.
  std::string render(const std::vector<ChatMessage>& messages, bool answer_follows, const std::string& variables = "{}") const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace kvscope
