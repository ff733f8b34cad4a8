// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "core/error.h"

namespace kvscope {

/// Whether a file of this name holds a model's weights, configuration or tokenizer.
inline bool is_name_of_model_file(std::string_view name) {
  return name.ends_with(".safetensors") || name.ends_with(".gguf") || name == "config.json" || name.ends_with(".index.json") ||
         name.starts_with("tokenizer");
}

/// For a result that somebody has named. Throws Error where that is an old file of a model, by its name or that of the file which a link
/// leads to: it would be destroyed.
inline void check_no_model_file(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path there = std::filesystem::canonical(path, ignored);  // empty: nothing is there
  if (!there.empty() &&
      (is_name_of_model_file(there.filename().string()) || is_name_of_model_file(std::filesystem::path(path).filename().string())))
    throw Error(fmt::format("{}: this is a file of a model by its name; writing would destroy it: choose another name", path));
}

/// For a result that an option names. Throws UsageError where that is the file `read`, whatever the two are called.
inline void check_not_read(const std::string& option, const std::string& path, const std::string& read) {
  std::error_code ignored;
  if (!path.empty() && !read.empty() && std::filesystem::equivalent(path, read, ignored))
    throw UsageError(fmt::format("{} {}: this file is read for the result; writing would destroy it; choose another name", option, path));
}

}  // namespace kvscope
