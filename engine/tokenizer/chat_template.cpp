// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <minja/minja.hpp>

#include "core/error.h"
#include "io/confined.h"
#include "tokenizer/chat_functions.h"

namespace kvscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = 64 << 10;
// How often a message is copied while it is written: into JSON, the reader's values, each expression that holds it, the text.
constexpr std::size_t kCopies = 32;
constexpr minja::Options kOptions{.trim_blocks = true, .lstrip_blocks = true, .keep_trailing_newline = false};

/// One line, as all messages are.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

ChatTemplate::ChatTemplate(const std::string& source, const std::string& name, std::string bos, std::string eos)
    : source_{source, name, std::move(bos), std::move(eos)} {
  if (source.size() > kMaxBytes)
    throw Error(fmt::format("{}: expected a chat template of at most {} bytes, got {}", name, kMaxBytes, source.size()));
  try {
    confined([&] {
      minja::Parser::parse(source, kOptions);
      return std::string();
    });
  } catch (const Error& error) {
    throw Error(fmt::format("{}: expected a Jinja template: {}", name, first_line(error.what())));
  }
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, bool answer_follows, const std::string& variables) const {
  // A template is a program of the model's makers: it may make texts without end, divide by zero, call itself for ever.
  Confinement limits;
  for (const ChatMessage& message : messages) limits.memory_mib += kCopies * message.content.size() >> 20;
  try {
    return confined(
        [&] {
          Json values = {{"tools", nullptr}, {"documents", nullptr}};  // as transformers gives them
          values.update(Json::parse(variables));
          Json list = Json::array();
          for (const ChatMessage& message : messages) list.push_back({{"role", message.role}, {"content", message.content}});
          values["messages"] = std::move(list);
          values["add_generation_prompt"] = answer_follows;
          values["bos_token"] = source_.bos;
          values["eos_token"] = source_.eos;
          const std::shared_ptr<minja::Context> functions = minja::Context::builtins();
          add_chat_functions(*functions);
          const auto context = minja::Context::make(minja::Value(values), functions);
          return minja::Parser::parse(source_.text, kOptions)->render(context);
        },
        limits);
  } catch (const Confined& error) {
    throw Error(fmt::format("{}: the chat template cannot write this conversation: {}", source_.name, error.what()));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: the chat template refuses this conversation: {}", source_.name, first_line(error.what())));
  }
}

namespace {

/// Words that no template writes by itself.
constexpr std::string_view kSystem = "words of the system", kUser = "words of the user";

std::vector<ChatMessage> messages_of(const ChatWords& words) {
  std::vector<ChatMessage> messages;
  if (words.system) messages.push_back({"system", *words.system});
  messages.push_back({"user", words.user});
  return messages;
}

/// None where the template refuses, too.
std::vector<std::string> frame_or_none(const ChatTemplate& chat, bool system, const std::string& variables = "{}") {
  try {
    return chat_frame(chat, system, variables);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> chat_frame(const ChatTemplate& chat, bool system, const std::string& variables) {
  const ChatWords words{system ? std::optional<std::string>(kSystem) : std::nullopt, std::string(kUser)};
  const std::string text = chat.render(messages_of(words), /*answer_follows=*/true, variables);
  std::string_view rest = text;
  std::vector<std::string> out;
  for (const std::string_view part : {kSystem, kUser}) {
    if (part == kSystem && !system) continue;
    const std::size_t place = rest.find(part);
    if (place == rest.npos) return {};
    out.emplace_back(rest.substr(0, place));
    rest.remove_prefix(place + part.size());
  }
  out.emplace_back(rest);
  return out;
}

std::string chat_text(const ChatTemplate& chat, const ChatWords& words, const std::string& variables) {
  return chat.render(messages_of(words), /*answer_follows=*/true, variables);
}

std::vector<TextRange> typed_in(const ChatTemplate& chat, std::string_view text, const std::string& variables) {
  // Without a system's message first: what a template says by itself in its place is not a person's.
  for (const bool system : {false, true}) {
    const std::vector<std::string> parts = frame_or_none(chat, system, variables);
    if (parts.empty() || !text.starts_with(parts.front())) continue;
    const std::size_t begin = parts.front().size();
    if (!text.substr(begin).ends_with(parts.back())) continue;
    const std::size_t end = text.size() - parts.back().size();
    if (!system) return {{begin, end}};
    const std::size_t between = text.substr(0, end).find(parts[1], begin);
    if (between != text.npos) return {{begin, between}, {between + parts[1].size(), end}};
  }
  return {};
}

std::optional<ChatWords> chat_words_of(const ChatTemplate& chat, std::string_view text, const std::string& variables) {
  const std::vector<TextRange> typed = typed_in(chat, text, variables);
  const auto words = [&](const TextRange& range) { return std::string(text.substr(range.begin, range.end - range.begin)); };
  if (typed.empty()) return std::nullopt;
  return ChatWords{typed.size() > 1 ? std::optional(words(typed.front())) : std::nullopt, words(typed.back())};
}

std::string chat_opening(const ChatTemplate& chat) {
  const std::vector<std::string> without = frame_or_none(chat, false), with = frame_or_none(chat, true);
  if (without.empty() || with.empty()) return without.empty() ? std::string() : without.front();
  const auto [end, unused] = std::ranges::mismatch(without.front(), with.front());
  return {without.front().begin(), end};
}

}  // namespace kvscope
