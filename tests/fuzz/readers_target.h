// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvscope::testing {

/// A reader of small files or of words: what it is called, inputs that it takes, and the reader, which throws Error or gives a result.
struct Reader {
  const char* name;
  std::vector<std::string> (*seeds)();
  void (*read)(const std::string& bytes);
};

/// readers_target.cpp: config.json, model.safetensors.index.json, heads.json, tables of heads, kvscope.kept/1, specifications of runs, chat
/// templates. window_readers_target.cpp: lessons, sample prompts, glossaries.
const std::vector<Reader>& readers();

}  // namespace kvscope::testing
