// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "io/gguf_file.h"
#include "tokenizer/parts.h"

namespace kvscope {

/// How a byte-level tokenizer makes words of a text, which a GGUF says by a name only (tokenizer.ggml.pre).
struct WordRule {
  std::vector<PreTokenizer> steps;
  bool nfc = false;
  bool ignore_merges = false;
  bool begins_with_bos = false;  // where the file does not say
};

/// Throws Error: the name is not known.
WordRule word_rule_of(const GgufFile& file, std::string_view name);

}  // namespace kvscope
