// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tokenizer/chat_template.h"

namespace kvscope {

/// The chat template of a model folder (chat_template.jinja, else chat_template of tokenizer_config.json, of several the one named
/// default), or of a GGUF file; nullopt: it has none. Throws Error naming the file.
std::optional<ChatTemplate> open_chat_template(const std::string& folder);

}  // namespace kvscope
