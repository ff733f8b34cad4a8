// SPDX-License-Identifier: Apache-2.0
// What a model's tokenizer makes of a text. Weights are not opened.
#include <filesystem>
#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/inputs.h"
#include "app/cli/table.h"
#include "core/error.h"
#include "io/files.h"
#include "io/json_cursor.h"

namespace kvscope::cli {

namespace {

using Json = nlohmann::ordered_json;

/// As a literal: control characters and bytes that are no character can be seen.
std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Token that a prompt begins with; -1: none. A tokenizer.model leaves it to the config.json beside it.
int first_token(const TokenizerFile& file, const std::string& folder) {
  if (const auto first = file.tokenizer->first_id()) return *first;
  const std::string config = in_folder(folder, "config.json");
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(config, ignored)) return -1;
  const JsonDocument document = JsonDocument::read(config);
  const JsonCursor o(document);
  return o.given("bos_token_id") ? o.at("bos_token_id").whole(0, std::numeric_limits<int>::max()) : -1;
}

Json tokens_json(const TokenizerFile& file, int first, const std::string& text, const std::vector<TextToken>& tokens) {
  Json list = Json::array();
  for (const TextToken& token : tokens) {
    Json row{{"id", token.id}, {"piece", file.tokenizer->piece(token.id)}, {"begin", token.begin}, {"end", token.end}};
    if (file.tokenizer->is_special(token.id)) row["special"] = true;
    list.push_back(std::move(row));
  }
  Json document{{"schema", "kvscope.tokens/1"}, {"tokenizer", file.path}, {"bytes", text.size()}};
  document["first_id"] = first >= 0 ? Json(first) : Json(nullptr);
  document["tokens"] = std::move(list);
  return document;
}

std::string tokens_text(const TokenizerFile& file, int first, const std::string& text, const std::vector<TextToken>& tokens) {
  std::vector<std::vector<std::string>> rows = {{"id", "begin", "end", "text", "piece"}};
  for (const TextToken& token : tokens) {
    rows.push_back({std::to_string(token.id), std::to_string(token.begin), std::to_string(token.end),
                    quoted(text.substr(token.begin, token.end - token.begin)), quoted(file.tokenizer->piece(token.id))});
  }
  return aligned(rows, 3) +
         fmt::format("{} tokens for {} bytes{}\n", tokens.size(), text.size(),
                     first >= 0 ? fmt::format("; a prompt begins with {} {}", first, quoted(file.tokenizer->piece(first))) : "");
}

}  // namespace

int tokens(const Arguments& a) {
  const std::string folder = a.model.empty() ? embedded_model() : a.model;
  const TokenizerFile file = open_tokenizer_file(folder);
  if (!file.tokenizer) throw UsageError(fmt::format("tokens: {} has no tokenizer.json or tokenizer.model", folder));
  std::string text = a.prompt ? *a.prompt : read_text(*a.prompt_file, kMaxProseBytes);
  std::vector<TextRange> typed;
  if (a.chat) {
    ChatInput chat = as_chat(a, folder, text);
    text = std::move(chat.text);
    typed = std::move(chat.typed);
  }
  const std::vector<TextToken> found =
      file.tokenizer->tokens_of(text, a.special_names || a.chat ? SpecialNames::tokens : SpecialNames::text, typed);
  const int first = first_token(file, folder);
  return print(a.json ? tokens_json(file, first, text, found).dump(1, ' ', false, Json::error_handler_t::replace) + "\n"
                      : tokens_text(file, first, text, found));
}

}  // namespace kvscope::cli
