// SPDX-License-Identifier: Apache-2.0
#include "app/lessons/prompt_text.h"

#include "core/error.h"
#include "io/files.h"
#include "trace/json_text.h"

namespace kvscope {

std::string read_prompt_text(const std::string& path) {
  std::string text = read_text(path, kMostPromptBytes);
  if (!is_utf8(text) || text.find('\0') != std::string::npos)
    throw Error(
        path + ": expected text in UTF-8, got other bytes: the prompt stays as it was; save the file as UTF-8 text, or choose another one");
  return text;
}

}  // namespace kvscope
