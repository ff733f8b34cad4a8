// SPDX-License-Identifier: Apache-2.0
#include "app/cli/sweep/sweep_texts.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "app/cli/haystack.h"
#include "app/cli/inputs.h"
#include "core/error.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "io/sha256.h"
#include "runtime/session/prompt_tokens.h"
#include "snapshot/snapshot.h"

namespace kvscope::cli {

namespace {

constexpr std::size_t kMaxTextsBytes = std::size_t(1) << 30;
constexpr JsonLimits kLineLimits{std::size_t(64) << 20, 4096};
constexpr int kMaxNewTokens = 1 << 20;
constexpr int kSpareTokens = 2;  // after a hidden number, so that it is said whole however it is split

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string some_text(const JsonCursor& value) {
  std::string out = value.text();
  if (out.empty()) value.fail("a text that is not empty");
  return out;
}

/// A blank would be found in whatever is said.
std::string answer_of(const JsonCursor& value) {
  std::string out = some_text(value);
  if (out.find_first_not_of(" \t\r\n") == std::string::npos) value.fail("a text that is not blank");
  return out;
}

std::vector<std::string> answers_of(const JsonCursor& answer) {
  if (answer.is_string()) return {answer_of(answer)};
  std::vector<std::string> out;
  if (!answer.is_array() || answer.size() == 0) answer.fail("a text, or a list of texts");
  for (std::size_t i = 0; i < answer.size(); ++i) out.push_back(answer_of(answer.at(i)));
  return out;
}

/// Where in the context an answer stands; nullopt: in no place or in several.
std::optional<std::size_t> place_of(const std::string& answer, const std::string& context) {
  const std::size_t at = context.find(answer);
  if (at == std::string::npos || context.find(answer, at + 1) != std::string::npos) return std::nullopt;
  return at;
}

/// How deep in the context the one answer stands, by bytes: 0 at its beginning, 1 at its end.
double depth_of(const std::vector<std::string>& answers, const std::string& context) {
  if (answers.size() != 1 || answers[0].size() >= context.size()) return kNotAvailable;
  const std::optional<std::size_t> at = place_of(answers[0], context);
  return at ? static_cast<double>(*at) / static_cast<double>(context.size() - answers[0].size()) : kNotAvailable;
}

/// Those of the prompt's tokens in which a byte of an answer stands. tokens: of the context and what follows, the first of them number
/// `first` of the prompt.
std::vector<int> answer_tokens_of(const std::vector<std::string>& answers, const std::string& context, const std::vector<TextToken>& tokens,
                                  int first, int n_prompt) {
  std::vector<bool> in_answer(static_cast<std::size_t>(n_prompt));
  for (const std::string& answer : answers) {
    const std::optional<std::size_t> begin = place_of(answer, context);
    if (!begin) return {};
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (tokens[t].end <= *begin || tokens[t].begin >= *begin + answer.size()) continue;
      const std::size_t position = t + static_cast<std::size_t>(first);
      if (position >= in_answer.size()) return {};  // it is fed after the prompt
      in_answer[position] = true;
    }
  }
  std::vector<int> out;
  for (int p = 0; p < n_prompt; ++p)
    if (in_answer[static_cast<std::size_t>(p)]) out.push_back(p);
  return out;
}

/// What is asked about a text.
struct Question {
  std::string context, question;  // with what the answer begins with
  std::vector<std::string> answers;
  bool any_answer = false;
  int n_new = 0;  // tokens of the answer at most
};

/// where: it stands, for messages.
SweepText text_of(const Question& asked, int number, const std::string& where, const Arguments& a, const ModelFiles& model) {
  SweepText out{.number = number, .request = {}, .answers = asked.answers, .any_answer = asked.any_answer};
  out.depth = depth_of(out.answers, asked.context);
  const std::vector<TextToken> tokens = model.tokenizer->tokens_of(asked.context + asked.question);
  std::vector<int> all = ids_of(tokens);
  if (model.config.bos_id >= 0) all.insert(all.begin(), model.config.bos_id);
  const auto n_prompt = static_cast<std::ptrdiff_t>(common_prefix(all, encode(model, asked.context)));
  const std::size_t n = all.size() + static_cast<std::size_t>(asked.n_new);
  if (model.config.max_positions > 0 && n > static_cast<std::size_t>(model.config.max_positions))
    throw UsageError(
        fmt::format("{}: {} tokens of context and question and {} of the answer, but {} was made for {}; leave the text out or "
                    "give a smaller --generate",
                    where, all.size(), asked.n_new, model.config.name, model.config.max_positions));
  out.answer_tokens =
      answer_tokens_of(out.answers, asked.context, tokens, static_cast<int>(all.size() - tokens.size()), static_cast<int>(n_prompt));
  RunRequest& r = out.request;
  r.prompt_ids.assign(all.begin(), all.begin() + n_prompt);
  r.given_ids.assign(all.begin() + n_prompt, all.end());
  r.follow = Follow::self;
  r.n_generate = static_cast<int>(r.given_ids.size()) + asked.n_new;
  r.mode = a.prompt_mode;
  r.temperature = a.temperature;
  r.detail = Detail::summary;
  return out;
}

SweepText text_of_line(std::string_view line, int number, const Arguments& a, const ModelFiles& model) {
  const std::string where = fmt::format("{}:{}", a.texts, number);
  const JsonDocument document = JsonDocument::parse(line, where, kLineLimits);
  const JsonCursor root(document);
  Question asked;
  asked.context = some_text(root.at("context"));
  asked.answers = answers_of(root.at("answer"));
  asked.any_answer = root.text_or("task", "").starts_with("qa");  // RULER: its two tasks with questions from other data sets
  asked.question = root.at("question").text() + root.text_or("answer_prefix", "");
  asked.n_new = a.generate ? *a.generate : root.whole_or("max_new_tokens", 1, kMaxNewTokens, kDefaultGenerate);
  return text_of(asked, number, where, a, model);
}

/// A number hidden in prose.
std::vector<SweepText> hidden_numbers(const Arguments& a, const ModelFiles& model) {
  std::vector<SweepText> out;
  for (const AskedText& hidden : Haystack(model, prose_of(a, model, "--hidden-numbers")).samples(a, /*question_in_prompt=*/false)) {
    std::string answer = hidden.text.answer;  // " 482."
    std::erase_if(answer, [](char c) { return c < '0' || c > '9'; });
    const Question asked{.context = hidden.text.context,
                         .question = hidden.text.question,
                         .answers = {answer},
                         .n_new = a.generate.value_or(hidden.n_answer + kSpareTokens)};
    const int number = static_cast<int>(out.size()) + 1;
    out.push_back(text_of(asked, number, fmt::format("--hidden-numbers, text {}", number), a, model));
  }
  return out;
}

}  // namespace

std::string SweepText::hash(const ModelFiles& model) const {
  Sha256 all;
  const auto add_ids = [&](std::span<const int> ids) { all.add(fmt::format("{} ids:{};", ids.size(), fmt::join(ids, ","))); };
  add_ids(request.prompt_ids.empty() ? ids_of(prompt_tokens(request, model).tokens) : request.prompt_ids);
  add_ids(request.given_ids);
  add_ids(request.follow_ids);
  all.add(any_answer ? "any of" : "all of");
  for (const std::string& answer : answers) all.add(fmt::format("{}:{};", answer.size(), answer));
  return hexadecimal(all.digest());
}

std::vector<SweepText> sweep_texts(const Arguments& a, const ModelFiles& model) {
  if (a.hidden_numbers) return hidden_numbers(a, model);
  if (a.texts.empty()) {
    SweepText only;
    only.request = make_request(a, model, &only.n_question);
    only.request.detail = Detail::summary;
    const auto n_prompt = static_cast<int>(prompt_tokens(only.request, model).tokens.size());
    only.notice = decode_length(only.request, n_prompt, model.config).notice;
    return {only};
  }
  if (!model.has_tokenizer)
    throw UsageError(fmt::format("--texts: {} has no tokenizer.json or tokenizer.model, so text cannot become tokens", model.folder));
  const std::string file = read_text(a.texts, kMaxTextsBytes, ReadFrom::file_or_pipe);
  std::vector<SweepText> out;
  int number = 1;
  for (std::size_t begin = 0; begin < file.size(); ++number) {
    const std::size_t end = std::min(file.find('\n', begin), file.size());
    const std::string_view line = std::string_view(file).substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) out.push_back(text_of_line(line, number, a, model));
    begin = end + 1;
  }
  if (out.empty())
    throw UsageError(fmt::format("{}: expected a JSON object with context, question and answer in each line, got no line", a.texts));
  return out;
}

double answer_score(const SweepText& text, std::string_view said) {
  if (text.answers.empty()) return kNotAvailable;
  const std::string heard = lower(said);
  const auto n =
      std::ranges::count_if(text.answers, [&](const std::string& answer) { return heard.find(lower(answer)) != std::string::npos; });
  if (text.any_answer) return n > 0 ? 1 : 0;
  return static_cast<double>(n) / static_cast<double>(text.answers.size());
}

}  // namespace kvscope::cli
