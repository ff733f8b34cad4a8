// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvscope {

/// A tokenizer.json with its two long lists apart: they are most of the file, and as a tree they would take many times its size.
struct TokenizerDocument {
  nlohmann::json rest = nlohmann::json::object();  // everything but the two
  std::vector<std::pair<std::string, int>> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;
  bool has_vocabulary = false;  // as an object of ids
};

/// Throws Error: not JSON, too deep, too many values, a list of another kind. `name` is for messages.
TokenizerDocument read_tokenizer_document(std::string_view text, const std::string& name);

}  // namespace kvscope
