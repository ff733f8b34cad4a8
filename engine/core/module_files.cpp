// SPDX-License-Identifier: Apache-2.0
#include "core/module_files.h"

#include <filesystem>

namespace kvscope {

std::vector<std::string> module_files(std::string_view built) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path(), name = fs::path(built).filename();
  std::vector<std::string> files = {(folder / name).string(), (folder / "../lib/kvscope" / name).string()};
  if (files.front() != built) files.emplace_back(built);
  return files;
}

}  // namespace kvscope
