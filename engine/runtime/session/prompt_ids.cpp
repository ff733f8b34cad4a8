// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/prompt_ids.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "runtime/session/session.h"

namespace kvscope {

namespace {

/// The longest beginning of the prompt that the model takes, with room for what is to be generated (at most half of all). long_ids: of
/// the prompt.
PromptCut cut_prompt(const RunRequest& request, const std::vector<int>& long_ids, const ModelFiles& model) {
  constexpr int kTries = 16;  // a token may end within a character, and the shorter text may be split into other tokens
  const int limit = model.config.max_positions, most = limit - std::clamp(request.n_generate, 0, limit / 2);
  for (int n = most; n > std::max(0, most - kTries); --n) {
    const std::string text = model.tokenizer->decode({long_ids.begin(), long_ids.begin() + n});
    const bool begins = !text.empty() && text.size() < request.prompt.size() && request.prompt.starts_with(text);
    if (!begins || (request.prompt[text.size()] & 0xC0) == 0x80) continue;
    const int n_tokens = static_cast<int>(model.tokenizer->encode(text).size()) + (model.config.bos_id >= 0 ? 1 : 0);
    if (n_tokens <= most) return {n_tokens, text};
  }
  return {};
}

}  // namespace

std::vector<int> prompt_ids(const RunRequest& request, const ModelFiles& model) {
  const ModelConfig& c = model.config;
  std::vector<int> out = request.prompt_ids;
  bool whole = true;
  if (out.empty()) {
    if (c.bos_id >= 0) out.push_back(c.bos_id);
    const std::size_t most = c.max_positions > 0 ? static_cast<std::size_t>(c.max_positions) : request.prompt.size();
    const std::vector<int> text = model.tokenizer->encode_up_to(request.prompt, most, &whole);
    out.insert(out.end(), text.begin(), text.end());
  }
  if (out.empty()) throw UsageError("prompt: it is empty and the model has no start token; expected at least one token");
  for (const std::vector<int>* list : {&std::as_const(out), &request.follow_ids}) {
    for (const int id : *list) {
      if (id < 0 || id >= c.vocab_size) throw UsageError(fmt::format("token ids: expected 0 to {}, got {}", c.vocab_size - 1, id));
    }
  }
  if (c.max_positions > 0 && static_cast<int>(out.size()) > c.max_positions) {
    throw PromptTooLong(fmt::format("prompt: {}{} tokens, but {} was made for {}; shorten the text", whole ? "" : "more than ",
                                    whole ? out.size() : static_cast<std::size_t>(c.max_positions), c.name, c.max_positions),
                        request.prompt_ids.empty() ? cut_prompt(request, out, model) : PromptCut{});
  }
  return out;
}

}  // namespace kvscope
