// SPDX-License-Identifier: Apache-2.0
#include "arch/chat_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/error.h"
#include "io/files.h"
#include "io/json_file.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxConfigBytes = 16u << 20;  // some list thousands of added tokens

/// A token's name, which may stand inside an object.
std::string token_name(const nlohmann::json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_object() && found->contains("content") && (*found)["content"].is_string() ? (*found)["content"].get<std::string>() : "";
}

std::optional<std::string> template_of(const nlohmann::json& config, const std::string& path) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const nlohmann::json& one : *found)
      if (one.is_object() && one.value("name", nlohmann::json()) == "default" && one.contains("template") && one["template"].is_string())
        return one["template"].get<std::string>();
  }
  throw Error(fmt::format("{}: chat_template: expected a text, or a list with a template named default, got something else", path));
}

}  // namespace

std::optional<ChatTemplate> open_chat_template(const std::string& folder) {
  const std::string config_path = (fs::path(folder) / "tokenizer_config.json").string(), jinja = (fs::path(folder) / "chat_template.jinja").string();
  std::error_code ignored;
  nlohmann::json config = nlohmann::json::object();
  if (fs::exists(config_path, ignored)) config = read_json(config_path, kMaxConfigBytes);
  if (!config.is_object()) throw Error(fmt::format("{}: expected a JSON object, got another value", config_path));
  const bool own_file = fs::exists(jinja, ignored);
  const std::optional<std::string> source = own_file ? read_text(jinja, kMaxConfigBytes) : template_of(config, config_path);
  if (!source) return std::nullopt;
  return ChatTemplate(*source, own_file ? jinja : config_path, token_name(config, "bos_token"), token_name(config, "eos_token"));
}

}  // namespace kvscope
