// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "arch/model_files.h"
#include "runtime/session/run_request.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {

/// A request's prompt as the model reads it.
struct PromptTokens {
  std::string text;               // of a prompt that is given as ids: theirs
  std::vector<TextToken> tokens;  // the start token included, whose range is empty
};

/// Throws UsageError: nothing to read, ids that the model does not know; PromptTooLong with the beginning that fits.
PromptTokens prompt_tokens(const RunRequest& request, const ModelFiles& model);

/// How far a request goes after its prompt.
struct DecodeLength {
  int n = 0;           // tokens
  std::string notice;  // for people, where the model's positions end it early; else empty
};
DecodeLength decode_length(const RunRequest& request, int n_prompt, const ModelConfig& config);

}  // namespace kvscope
