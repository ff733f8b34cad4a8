// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "io/gguf_file.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {

/// The tokenizer inside a GGUF file (tokenizer.ggml.*): byte pairs, or a sentencepiece vocabulary with scores, whose joints become merges
/// in their order. Null: the file has none. Throws Error naming the key, and the kind that is not known.
std::unique_ptr<Tokenizer> open_gguf_tokenizer(const GgufFile& file);

/// The file's chat template; nullopt: it has none. Throws Error.
std::optional<ChatTemplate> open_gguf_chat_template(const GgufFile& file);

}  // namespace kvscope
