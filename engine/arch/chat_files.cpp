// SPDX-License-Identifier: Apache-2.0
#include "arch/chat_files.h"

#include <filesystem>
#include <utility>

#include "arch/gguf_tokenizer.h"
#include "core/error.h"
#include "io/files.h"
#include "io/json_cursor.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxConfigBytes = 16u << 20;  // some list thousands of added tokens

/// A token's name, which may stand inside an object.
std::string token_name(const JsonCursor& config, const char* key) {
  if (!config.given(key)) return "";
  const JsonCursor token = config.at(key);
  if (token.is_string()) return token.text();
  return token.is_object() ? token.text_or("content", "") : "";
}

std::optional<std::string> template_of(const JsonCursor& config) {
  if (!config.given("chat_template")) return std::nullopt;
  const JsonCursor found = config.at("chat_template");
  if (found.is_string()) return found.text();
  for (std::size_t i = 0; found.is_array() && i < found.size(); ++i)
    if (const JsonCursor one = found.at(i); one.is_object() && one.text_or("name", "") == "default") return one.at("template").text();
  found.fail("a text, or a list with a template named default");
}

}  // namespace

ModelChat model_chat(const std::function<std::optional<ChatTemplate>()>& open) {
  try {
    std::optional<ChatTemplate> chat = open();
    return {chat ? std::make_shared<const ChatTemplate>(std::move(*chat)) : nullptr, {}};
  } catch (const Error& error) {
    return {nullptr, error.what()};
  }
}

std::optional<ChatTemplate> open_chat_template(const std::string& folder) {
  if (GgufFile::is_one(folder)) return open_gguf_chat_template(GgufFile::open(folder));
  const std::string config_path = in_folder(folder, "tokenizer_config.json"), jinja = in_folder(folder, "chat_template.jinja");
  std::error_code ignored;
  const JsonDocument document = fs::exists(config_path, ignored)
                                    ? JsonDocument::read(config_path, {.bytes = kMaxConfigBytes, .values = kJsonLimits.values})
                                    : JsonDocument::parse("{}", config_path);
  const JsonCursor config(document);
  if (!config.is_object()) config.fail("an object");
  const bool own_file = fs::exists(jinja, ignored);
  const std::optional<std::string> source = own_file ? read_text(jinja, kMaxConfigBytes) : template_of(config);
  if (!source) return std::nullopt;
  return ChatTemplate(*source, own_file ? jinja : config_path, token_name(config, "bos_token"), token_name(config, "eos_token"));
}

}  // namespace kvscope
