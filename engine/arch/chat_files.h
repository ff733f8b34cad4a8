// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tokenizer/chat_template.h"

namespace kvscope {

/// The chat template of a model folder (chat_template.jinja, else chat_template of tokenizer_config.json, of several the one named
/// default), or of a GGUF file; nullopt: it has none. Throws Error naming the file.
std::optional<ChatTemplate> open_chat_template(const std::string& folder);

/// What a model has of it: a bad template is no reason not to open.
struct ModelChat {
  std::shared_ptr<const ChatTemplate> chat;  // null: there is none, or it is of no use
  std::string problem;                       // why it is of no use, one sentence
};
ModelChat model_chat(const std::function<std::optional<ChatTemplate>()>& open);

}  // namespace kvscope
