// SPDX-License-Identifier: Apache-2.0
#include "app/cli/inputs.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "app/cli/commands.h"
#include "arch/chat_files.h"
#include "core/assets.h"
#include "core/error.h"
#include "core/from_chars.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "io/kept_file_reader.h"
#include "policy/catalog.h"
#include "runtime/session/kept_request.h"
#include "runtime/session/prompt_tokens.h"
#include "trace/json_text.h"

namespace kvscope::cli {

namespace {

constexpr std::size_t kMaxTextBytes = std::size_t(64) << 20;
constexpr int kStepsOfPage = 8;  // a trace has no tokens after the prompt unless asked

[[noreturn]] void bad_id(const std::string& where, std::size_t place, int vocab_size, const std::string& got) {
  throw UsageError(fmt::format("{}: token {}: expected a token id in 0..{}, got '{}'", where, place, vocab_size - 1, got.substr(0, 40)));
}

std::string need_text(const ModelFiles& model, const std::string& path_or_text, const char* option, const char* instead, bool is_path) {
  if (!model.has_tokenizer) {
    throw UsageError(fmt::format("{}: {} has no tokenizer.json or tokenizer.model, so text cannot become tokens; use {}", option,
                                 model.folder, instead));
  }
  if (is_path) return read_text_in_utf8(path_or_text, kMaxTextBytes);
  expect_utf8_given(path_or_text, option);
  return path_or_text;
}

}  // namespace

std::string embedded_model() { return asset("models/kvmini"); }
std::string embedded_prose() { return asset("prompts/prose.txt"); }
std::string embedded_novel() { return asset("text/dracula-excerpt.txt"); }

/// Empty: there is none.
static std::string utf8_problem(std::string_view text) {
  if (is_utf8(text) && text.find('\0') == std::string_view::npos) return "";
  std::size_t place = 0;
  for (std::size_t n = 1; place < text.size() && text[place] != '\0'; place += n) {
    for (n = 1; n <= 4 && !is_utf8(text.substr(place, n)); ++n) continue;
    if (n > 4) break;
  }
  return fmt::format("expected text in UTF-8, got the byte 0x{:02x} at byte {} (line {})", static_cast<unsigned char>(text[place]), place,
                     1 + std::ranges::count(text.substr(0, place), '\n'));
}

void expect_utf8(std::string_view text, const std::string& path) {
  if (const std::string problem = utf8_problem(text); !problem.empty())
    throw Error(fmt::format("{}: {}; save it as UTF-8 text", path, problem));
}

void expect_utf8_given(std::string_view text, const std::string& option) {
  if (const std::string problem = utf8_problem(text); !problem.empty()) throw UsageError(fmt::format("{}: {}", option, problem));
}

std::string read_text_in_utf8(const std::string& path, std::size_t max_bytes) {
  std::string text = read_text(path, max_bytes, ReadFrom::file_or_pipe);
  expect_utf8(text, path);
  return text;
}

std::vector<int> encode(const ModelFiles& model, const std::string& text) {
  std::vector<int> ids;
  if (model.config.bos_id >= 0) ids.push_back(model.config.bos_id);
  const std::vector<int> rest = model.tokenizer->encode(text);
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

std::size_t common_prefix(const std::vector<int>& whole, const std::vector<int>& beginning) {
  return static_cast<std::size_t>(std::ranges::mismatch(whole, beginning).in1 - whole.begin());
}

/// NAME=VALUE, ... as an object.
std::string chat_arguments(const std::vector<std::string>& given) {
  constexpr std::array kOwn = {"messages", "add_generation_prompt", "bos_token", "eos_token"};
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const std::string& one : given) {
    const std::size_t equals = one.find('=');
    const std::string name = one.substr(0, equals), value = equals == one.npos ? "" : one.substr(equals + 1);
    if (equals == one.npos || name.empty())
      throw UsageError(fmt::format("--chat-arg: expected NAME=VALUE, as enable_thinking=false, got '{}'", one));
    if (std::ranges::find(kOwn, name) != kOwn.end())
      throw UsageError(fmt::format("--chat-arg: {} is what the prompt and the model say; expected another name", name));
    const nlohmann::ordered_json parsed = nlohmann::ordered_json::parse(value, nullptr, /*allow_exceptions=*/false);
    out[name] = parsed.is_discarded() ? nlohmann::ordered_json(value) : parsed;
  }
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void say_merges_are_not_repeated(const std::string& path, const std::vector<std::string>& merging) {
  if (!merging.empty())
    note(fmt::format("{}: {} merged tokens; a file of kept tokens does not have how, so what repeats it evicts them and has other figures",
                     path, fmt::join(merging, ", ")));
}

ChatInput as_chat(const Arguments& a, const std::string& folder, const std::string& text) {
  const std::optional<ChatTemplate> chat = open_chat_template(folder);
  if (!chat)
    throw UsageError(fmt::format(
        "--chat: {} has no chat template (chat_template.jinja, or in tokenizer_config.json; of a GGUF file tokenizer.chat_template)",
        folder));
  ChatInput out{.text = {}, .typed = {}, .arguments = chat_arguments(a.chat_args)};
  out.text = chat_text(*chat, {a.system, text}, out.arguments);
  if (!a.special_names) out.typed = typed_in(*chat, out.text, out.arguments);
  return out;
}

std::string named_model(const Arguments& arguments, const SessionInput& session) {
  return !arguments.model.empty() ? arguments.model : session.model.empty() ? embedded_model() : session.model;
}

std::string model_of(const Arguments& arguments) {
  if (!arguments.session || !arguments.model.empty()) return named_model(arguments, {});
  const SessionInput session = read_session_input(*arguments.session);
  const std::string model = named_model(arguments, session);
  check_same_model(*arguments.session, session, model);
  return model;
}

ModelFiles open_model_of(const Arguments& arguments) { return open_model(model_of(arguments)); }

std::vector<int> parse_ids(const std::string& given, int vocab_size) {
  std::vector<int> ids;
  // As Python prints a list: in brackets, with spaces.
  const auto trimmed = [](std::string_view part) {
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    return part;
  };
  std::string_view text = trimmed(given);
  if (text.size() > 1 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = trimmed(text.substr(begin, end - begin));
    const auto id = number_from<int>(part);
    if (!id || *id < 0 || *id >= vocab_size) bad_id("--prompt-ids", ids.size() + 1, vocab_size, std::string(part));
    ids.push_back(*id);
    begin = end + 1;
  }
  return ids;
}

std::vector<int> read_ids(const std::string& path, int vocab_size) {
  const JsonDocument document = JsonDocument::read(path);
  const JsonCursor root(document), list = root.has("tokens") ? root.at("tokens") : root;
  if (!list.is_array())
    throw UsageError(fmt::format("{}: expected a JSON list of token ids, or an object with the list under \"tokens\", got neither", path));
  std::vector<int> ids;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonCursor item = list.at(i);
    const bool fits = item.is_whole() && item.real() >= 0 && item.real() < vocab_size;
    if (!fits) bad_id(path, ids.size() + 1, vocab_size, item.shown());
    ids.push_back(static_cast<int>(item.real()));
  }
  return ids;
}

namespace {

void put_behind(std::string& prompt, const std::string& question) {
  if (prompt.empty()) throw UsageError("--question: expected a prompt as text (--prompt or --prompt-file) before it, got none");
  expect_utf8_given(question, "--question");
  prompt += question;
}

/// Tells the runs that ask for it how long the question is: tokens from its first one to the end of the prompt, so that what a chat
/// template writes behind it is in their window, too, and not in its stead.
int ask(RunRequest& request, std::string_view question, const ModelFiles& model) {
  std::size_t begin = request.prompt.rfind(question);
  constexpr std::string_view kBlank = " \t\r\n";
  if (const std::size_t first = question.find_first_not_of(kBlank); begin == request.prompt.npos && first != question.npos)
    begin = request.prompt.rfind(question.substr(first, question.find_last_not_of(kBlank) + 1 - first));  // templates trim what is said
  if (begin == request.prompt.npos)
    throw UsageError(
        "--question: expected it in what the chat template writes, got another text; write it into the prompt, and its tokens into the "
        "run (window=)");
  const std::vector<TextToken> tokens = prompt_tokens(request, model).tokens;
  const auto n = static_cast<int>(std::ranges::count_if(tokens, [begin](const TextToken& t) { return t.end > begin; }));
  for (LaneSpec& lane : request.lanes)
    if (const auto asked = with_question(lane, n)) lane = *asked;
  return n;
}

}  // namespace

RunRequest make_request(const Arguments& a, const ModelFiles& model, int* n_question) {
  RunRequest request;
  if (a.session) {
    request = request_of_session(*a.session, model.folder, a.trust_files);
    if (a.generate) request.n_generate = *a.generate;
    if (request.prompt_ids.empty()) request.prompt = need_text(model, request.prompt, "--session", "a session with prompt_ids", false);
    return request;
  }
  if (a.prompt) request.prompt = need_text(model, *a.prompt, "--prompt", "--prompt-ids", false);
  if (a.prompt_file) request.prompt = need_text(model, *a.prompt_file, "--prompt-file", "--tokens-file", true);
  if (a.prompt_file && a.question.empty() && !a.chat && request.prompt.ends_with('\n'))  // an editor's, and easily not meant
    note(*a.prompt_file + ": ends with a new line, which the model reads, too: the text without it gives other figures");
  request.lanes = a.lanes;
  if (!a.question.empty()) put_behind(request.prompt, a.question);
  if (a.prompt_ids) request.prompt_ids = parse_ids(*a.prompt_ids, model.config.vocab_size);
  if (a.tokens_file) {
    request.prompt_ids = read_ids(*a.tokens_file, model.config.vocab_size);
    if (request.prompt_ids.empty()) throw UsageError(*a.tokens_file + ": expected at least one token id, got none");
  }
  if (a.special_names || a.chat) {
    if (!a.prompt && !a.prompt_file)
      throw UsageError(
          fmt::format("{}: expected a prompt as text (--prompt or --prompt-file), got ids", a.chat ? "--chat" : "--special-tokens"));
    request.prompt_text = a.chat && !a.special_names ? PromptText::chat : a.chat || a.no_start ? PromptText::begun : PromptText::names;
    if (a.chat) {
      ChatInput chat = as_chat(a, model.folder, request.prompt);
      request.prompt = std::move(chat.text);
      request.chat_arguments = std::move(chat.arguments);
    }
  }
  const int n_asked = a.question.empty() ? 0 : ask(request, a.question, model);
  if (n_question != nullptr) *n_question = n_asked;
  if ((a.prompt || a.prompt_file) && request.prompt.empty())
    throw UsageError(fmt::format("{}: expected a text, got an empty one", a.prompt ? "--prompt" : *a.prompt_file));
  if (a.kept) {
    const KeptFile kept = read_kept_file(*a.kept);
    const bool fits = kept.n_layers == model.config.n_layers && kept.n_kv_heads == model.config.n_kv_heads;  // else it is refused
    if (fits && kept.model != model.config.name)
      note(fmt::format("{}: it holds tokens of {}; these are the figures of {}", *a.kept, kept.model, model.config.name));
    std::vector<std::string> merging;
    for (const KeptFile::Run& run : kept.runs)
      if (run.n_merges > 0) merging.push_back(run.name);
    say_merges_are_not_repeated(*a.kept, merging);
    take_kept(request, kept, model.config.vocab_size);
  }
  request.mode = a.prompt_mode;
  request.follow = a.follow;
  if (a.follow == Follow::file) {
    if (a.follow_file.empty()) {
      KVSCOPE_ASSERT(a.kept);  // which has brought them
    } else if (a.follow_file.ends_with(".json")) {
      request.follow_ids = read_ids(a.follow_file, model.config.vocab_size);
    } else {
      request.follow_ids = model.tokenizer->encode(need_text(model, a.follow_file, "--follow", "a .json file of ids", true));
    }
    if (!a.follow_file.empty() && request.follow_ids.empty())
      throw UsageError(fmt::format("--follow: {}: expected at least one token, got none", a.follow_file));
    request.n_generate = a.generate.value_or(-1);
  } else {
    request.n_generate = a.generate.value_or(a.command == Command::trace   ? 0
                                             : a.command == Command::share ? kStepsOfPage
                                                                           : kDefaultGenerate);
  }
  request.temperature = a.temperature;
  request.seed = a.seed;
  return request;
}

}  // namespace kvscope::cli
