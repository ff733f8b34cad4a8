// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>

#include <minja/minja.hpp>

#include "core/error.h"

namespace kvscope {
namespace {

using Json = nlohmann::ordered_json;

// The reader of templates calls itself for what is nested, and its expressions cost stack by the byte.
constexpr std::size_t kMaxBytes = 64 << 10, kMaxTags = 2000;
constexpr int kMaxBrackets = 64;

void check_size(const std::string& source, const std::string& name) {
  if (source.size() > kMaxBytes)
    throw Error(fmt::format("{}: expected a chat template of at most {} bytes, got {}", name, kMaxBytes, source.size()));
  std::size_t tags = 0;
  int depth = 0, deepest = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    tags += source.compare(i, 2, "{%") == 0;
    if (std::string_view("([{").find(source[i]) != std::string_view::npos) deepest = std::max(deepest, ++depth);
    if (std::string_view(")]}").find(source[i]) != std::string_view::npos) depth = std::max(0, depth - 1);
  }
  if (tags > kMaxTags || deepest > kMaxBrackets)
    throw Error(fmt::format("{}: expected a chat template of at most {} tags and {} brackets in each other, got more", name, kMaxTags,
                            kMaxBrackets));
}

/// One line, as all messages are.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

minja::Value date_now(const std::shared_ptr<minja::Context>&, minja::ArgumentsValue& arguments) {
  arguments.expectArgs("strftime_now", {1, 1}, {0, 0});
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[256];
  const std::size_t size = std::strftime(text, sizeof text, arguments.args[0].get<std::string>().c_str(), &local);
  return minja::Value(std::string(text, size));
}

}  // namespace

struct ChatTemplate::Parsed {
  std::shared_ptr<minja::TemplateNode> root;
  std::string name, bos, eos;
};

ChatTemplate::ChatTemplate(const std::string& source, const std::string& name, std::string bos, std::string eos)
    : parsed_(std::make_unique<Parsed>(Parsed{nullptr, name, std::move(bos), std::move(eos)})) {
  check_size(source, name);
  try {
    parsed_->root = minja::Parser::parse(source, {.trim_blocks = true, .lstrip_blocks = true, .keep_trailing_newline = false});
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: expected a Jinja template: {}", name, first_line(error.what())));
  }
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&& other) noexcept = default;

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, bool answer_follows, const std::string& variables) const {
  try {
    Json values = Json::parse(variables);
    Json list = Json::array();
    for (const ChatMessage& message : messages) list.push_back({{"role", message.role}, {"content", message.content}});
    values["messages"] = std::move(list);
    values["add_generation_prompt"] = answer_follows;
    values["bos_token"] = parsed_->bos;
    values["eos_token"] = parsed_->eos;
    const auto context = minja::Context::make(minja::Value(values));
    context->set("strftime_now", minja::Value::callable(date_now));
    return parsed_->root->render(context);
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: the chat template refuses this conversation: {}", parsed_->name, first_line(error.what())));
  }
}

}  // namespace kvscope
