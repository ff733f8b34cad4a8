// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/prompt_tokens.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/error.h"
#include "runtime/session/session.h"

namespace kvscope {

namespace {

SpecialNames names_in(const RunRequest& request) {
  return request.prompt_text == PromptText::plain ? SpecialNames::text : SpecialNames::tokens;
}

/// The token that is put before the text; -1: none.
int start_of(const RunRequest& request, const ModelFiles& model) {
  return request.prompt_text == PromptText::chat || request.prompt_text == PromptText::begun ? -1 : model.config.bos_id;
}

/// A person's words in a chat template's text.
std::vector<TextRange> typed_words(const RunRequest& request, const ModelFiles& model) {
  if (request.prompt_text != PromptText::chat || !model.chat) return {};
  return typed_in(*model.chat, request.prompt, request.chat_arguments);
}

/// The longest beginning of the prompt that the model takes, with room for what is to be generated (at most half of all). long_ids: of
/// the prompt.
PromptCut cut_prompt(const RunRequest& request, const std::vector<int>& long_ids, const ModelFiles& model,
                     std::span<const TextRange> typed) {
  constexpr int kTries = 16;  // a token may end within a character, and the shorter text may be split into other tokens
  const int limit = model.config.max_positions, most = limit - std::clamp(request.n_generate, 0, limit / 2);
  const int start = start_of(request, model) >= 0 ? 1 : 0;
  for (int n = most; n > std::max(0, most - kTries); --n) {
    const std::string text = model.tokenizer->decode({long_ids.begin() + start, long_ids.begin() + n}, names_in(request));
    const bool begins = !text.empty() && text.size() < request.prompt.size() && request.prompt.starts_with(text);
    if (!begins || (request.prompt[text.size()] & 0xC0) == 0x80) continue;
    const int n_tokens = static_cast<int>(model.tokenizer->tokens_of(text, names_in(request), typed).size()) + start;
    if (n_tokens <= most) return {n_tokens, text};
  }
  return {};
}

}  // namespace

PromptTokens prompt_tokens(const RunRequest& request, const ModelFiles& model) {
  const ModelConfig& c = model.config;
  const auto check = [&](const std::vector<int>& ids) {
    for (const int id : ids)
      if (id < 0 || id >= c.vocab_size) throw UsageError(fmt::format("token ids: expected 0 to {}, got {}", c.vocab_size - 1, id));
  };
  check(request.prompt_ids);
  check(request.follow_ids);
  check(request.given_ids);
  PromptTokens out;
  bool whole = true;
  std::vector<TextRange> typed;
  if (!request.prompt_ids.empty()) {
    out.text = model.tokenizer->decode(request.prompt_ids);  // the names of special tokens do not stand in it
    out.tokens = model.tokenizer->places_of(request.prompt_ids, out.text.size());
  } else {
    out.text = request.prompt;
    const std::size_t most = c.max_positions > 0 ? static_cast<std::size_t>(c.max_positions) : request.prompt.size();
    typed = typed_words(request, model);
    out.tokens = model.tokenizer->tokens_up_to(request.prompt, most, names_in(request), &whole, typed);
    if (const int start = start_of(request, model); start >= 0) out.tokens.insert(out.tokens.begin(), {start, 0, 0});
  }
  if (out.tokens.empty()) throw UsageError("prompt: it is empty and the model has no start token; expected at least one token");
  const std::vector<int> ids = ids_of(out.tokens);
  check(ids);
  if (c.max_positions > 0 && static_cast<int>(ids.size()) > c.max_positions) {
    throw PromptTooLong(fmt::format("prompt: {}{} tokens, but {} was made for {}; shorten the text", whole ? "" : "more than ",
                                    whole ? ids.size() : static_cast<std::size_t>(c.max_positions), c.name, c.max_positions),
                        request.prompt_ids.empty() ? cut_prompt(request, ids, model, typed) : PromptCut{});
  }
  return out;
}

DecodeLength decode_length(const RunRequest& request, int n_prompt, const ModelConfig& config) {
  int n = std::max(0, request.n_generate);
  if (request.follow == Follow::file) {
    const int given = static_cast<int>(request.follow_ids.size());
    n = request.n_generate < 0 ? given : std::min(n, given);
  }
  const int limit = config.max_positions;
  if (limit <= 0 || n_prompt + n <= limit) return {n, ""};
  n = limit - n_prompt;
  return {n, fmt::format("generation ends after {} tokens: {} was made for {} positions", n, config.name, limit)};
}

}  // namespace kvscope
