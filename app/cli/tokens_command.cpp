// SPDX-License-Identifier: Apache-2.0
// What a model's tokenizer makes of a text. Weights are not opened.
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
  if (!is_file(config)) return -1;
  const JsonDocument document = JsonDocument::read(config);
  const JsonCursor o(document);
  return o.given("bos_token_id") ? o.at("bos_token_id").whole(0, std::numeric_limits<int>::max()) : -1;
}

/// Writes to stdout by the megabyte: of a long text the result is many times as long.
class Pieces {
 public:
  void take(std::string_view text) {
    constexpr std::size_t kPiece = 1 << 20;
    waiting_ += text;
    if (waiting_.size() >= kPiece) end();
  }
  void end() {
    print(waiting_);
    waiting_.clear();
  }

 private:
  std::string waiting_;
};

/// As a document that is written whole with an indentation of one space.
void print_json(const TokenizerFile& file, int first, const std::string& text, const std::vector<TextToken>& tokens) {
  const auto written = [](const Json& value) { return value.dump(1, ' ', false, Json::error_handler_t::replace); };
  Json document{{"schema", "kvscope.tokens/1"}, {"tokenizer", file.path}, {"bytes", text.size()}};
  document["first_id"] = first >= 0 ? Json(first) : Json(nullptr);
  std::string head = written(document);
  head.resize(head.size() - 2);  // the end of the object and of its line
  Pieces out;
  out.take(head + ",\n \"tokens\": [");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const TextToken& token = tokens[i];
    Json row{{"id", token.id}, {"piece", file.tokenizer->piece(token.id)}, {"begin", token.begin}, {"end", token.end}};
    if (file.tokenizer->is_special(token.id)) row["special"] = true;
    out.take(i == 0 ? "\n" : ",\n");
    std::string lines = "  " + written(row);
    for (std::size_t at = lines.find('\n'); at != lines.npos; at = lines.find('\n', at + 3)) lines.insert(at + 1, "  ");
    out.take(lines);
  }
  out.take(tokens.empty() ? "]\n}\n" : "\n ]\n}\n");
  out.end();
}

void print_table(const TokenizerFile& file, int first, const std::string& text, const std::vector<TextToken>& tokens) {
  const std::vector<std::string> heading = {"id", "begin", "end", "text", "piece"};
  const auto row = [&](const TextToken& token) -> std::vector<std::string> {
    return {std::to_string(token.id), std::to_string(token.begin), std::to_string(token.end),
            quoted(text.substr(token.begin, token.end - token.begin)), quoted(file.tokenizer->piece(token.id))};
  };
  Columns columns(3);
  columns.measure(heading);
  for (const TextToken& token : tokens) columns.measure(row(token));
  Pieces out;
  out.take(columns.line(heading));
  for (const TextToken& token : tokens) out.take(columns.line(row(token)));
  out.take(fmt::format("{} tokens for {} bytes{}\n", tokens.size(), text.size(),
                       first >= 0 ? fmt::format("; a prompt begins with {} {}", first, quoted(file.tokenizer->piece(first))) : ""));
  out.end();
}

}  // namespace

int tokens(const Arguments& a) {
  const std::string folder = a.model.empty() ? embedded_model() : a.model;
  const TokenizerFile file = open_tokenizer_file(folder);
  if (!file.tokenizer) throw UsageError(fmt::format("tokens: {} has no tokenizer.json or tokenizer.model", folder));
  const std::string where = a.prompt ? "--prompt" : *a.prompt_file;
  std::string text = a.prompt ? *a.prompt : read_text(*a.prompt_file, kMaxTokensBytes);
  if (file.tokenizer->takes_whole_texts() && text.size() > kMaxWholeBytes)
    throw Error(
        fmt::format("{}: expected at most {} bytes, got {}: {} is of sentencepiece, which takes a text as a whole, and a hundred times its "
                    "memory; list the tokens of a part",
                    where, kMaxWholeBytes, text.size(), file.path));
  (a.prompt ? expect_utf8_given : expect_utf8)(text, where);  // places would be those in what the tokenizer makes of it
  std::vector<TextRange> typed;
  if (a.chat) {
    ChatInput chat = as_chat(a, folder, text);
    text = std::move(chat.text);
    typed = std::move(chat.typed);
  }
  const std::vector<TextToken> found =
      file.tokenizer->tokens_of(text, a.special_names || a.chat ? SpecialNames::tokens : SpecialNames::text, typed);
  const int first = a.chat ? -1 : first_token(file, folder);  // a template's text begins itself
  a.json ? print_json(file, first, text, found) : print_table(file, first, text, found);
  return 0;
}

}  // namespace kvscope::cli
