// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "arch/chat_files.h"
#include "arch/weights.h"
#include "io/gguf_file.h"
#include "io/json_document.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {

/// A GGUF in the words that families know: its metadata as the config.json that the same model has, its tensors under the names of its
/// safetensors, the rows of queries and keys in their order (half-split rotation), and the tokenizer.
struct GgufSource {
  JsonDocument config;
  Weights weights;
  std::shared_ptr<const Tokenizer> tokenizer;  // null: the file has none
  ModelChat chat = {};                         // where weights are read
};

/// What of the weights is read when a model opens.
enum class ReadWeights {
  what_changes,  // rows and norms that a GGUF has in another form than we
  nothing,       // only shapes and types are right: for questions, not for computing
};

/// `path`: the file, of several (-00001-of-00003) the first. Throws Error naming file and key or tensor.
GgufSource open_gguf_source(const std::string& path, ReadWeights read = ReadWeights::what_changes);

}  // namespace kvscope
