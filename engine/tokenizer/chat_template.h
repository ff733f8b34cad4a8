// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace kvscope {

struct ChatMessage {
  std::string role;  // system, user, assistant
  std::string content;
};

/// A model's own way of writing a conversation as one text (Jinja). Templates are programs out of a file: they are read and run in a
/// process of their own, each time anew (engine/io/confined.h).
class ChatTemplate {
 public:
  /// `name` is for messages; bos and eos: names of the tokens, which templates write themselves. Throws Error: no Jinja, too large.
  ChatTemplate(const std::string& source, const std::string& name, std::string bos, std::string eos);

  /// The text that the model sees; its special tokens by their names. answer_follows: with the beginning of the assistant's turn.
  /// `variables` as JSON: what else the template asks for. Throws Error with the template's own words where it refuses a conversation, with
  /// what it took where that is too much.
  std::string render(const std::vector<ChatMessage>& messages, bool answer_follows, const std::string& variables = "{}") const;

  /// What it was made of, so that it can be made again elsewhere.
  struct Source {
    std::string text, name, bos, eos;
  };
  const Source& source() const { return source_; }

 private:
  Source source_;
};

/// What a person puts into a chat template.
struct ChatWords {
  std::optional<std::string> system;  // the message before theirs; none: what the template says without one
  std::string user;
  bool operator==(const ChatWords&) const = default;
};

// `variables` as render() takes them.
/// The text that the model sees, up to where its answer begins. Throws Error as render() does: some templates know no system's message.
std::string chat_text(const ChatTemplate& chat, const ChatWords& words, const std::string& variables = "{}");
/// The words in a text that chat_text() wrote, or that was written since between what the template writes around them; nullopt: another
/// text.
std::optional<ChatWords> chat_words_of(const ChatTemplate& chat, std::string_view text, const std::string& variables = "{}");
/// Where they stand in it, in order; none: another text.
std::vector<TextRange> typed_in(const ChatTemplate& chat, std::string_view text, const std::string& variables = "{}");
/// What a template writes around the words, in order: three parts with a system's message, two without; none: it leaves words out. Throws
/// Error as render() does.
std::vector<std::string> chat_frame(const ChatTemplate& chat, bool system, const std::string& variables = "{}");
/// What every text of the template begins with, whichever role speaks first; may be empty.
std::string chat_opening(const ChatTemplate& chat);

}  // namespace kvscope
