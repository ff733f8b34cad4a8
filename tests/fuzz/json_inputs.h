// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "io/files.h"
#include "paths.h"

namespace kvscope::testing {

/// The texts in tests/fuzz/seeds/<name>.
inline std::vector<std::string> seeds_of(const std::string& name) {
  std::vector<std::string> found;
  for (const auto& file : std::filesystem::directory_iterator(in_checkout("tests/fuzz/seeds/") + name))
    found.push_back(read_text(file.path().string(), 1u << 20));
  return found;
}

/// One to three random edits of a JSON text: bytes, words, digits, doubled or removed pieces.
inline std::string changed_json(std::string text, std::mt19937& random) {
  static const std::vector<std::string> words = {"null", "-1",  "1e308",       "[]",          "{}",   "\"\"",
                                                 "true", "0.5", "99999999999", "\"\\ud800\"", "[[[[", "}"};
  const auto below = [&random](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.replace(at, 1 + below(6), words[below(words.size())]);
        break;
      case 2:
        text.insert(at, text.substr(at, 1 + below(30)));
        break;
      case 3:
        text[at] = static_cast<char>('0' + below(10));
        break;
      default:
        text.erase(at, 1 + below(8));
    }
  }
  return text;
}

}  // namespace kvscope::testing
