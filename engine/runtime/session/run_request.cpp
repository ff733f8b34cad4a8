// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/run_request.h"

#include <span>

#include "snapshot/snapshot.h"

namespace kvscope {

PromptText prompt_text_of(const Snapshot& result) {
  const auto n_prompt = std::min(result.tokens.size(), static_cast<std::size_t>(std::max(0, result.n_prompt)));
  const std::span<const TokenInfo> prompt(result.tokens.data(), n_prompt);
  const bool names = std::ranges::any_of(prompt, [](const TokenInfo& t) { return t.special && t.text_end > t.text_begin; });
  if (!names) return PromptText::plain;
  const TokenInfo& first = prompt.front();
  return first.special && first.text_end == first.text_begin ? PromptText::names : PromptText::chat;
}

}  // namespace kvscope
