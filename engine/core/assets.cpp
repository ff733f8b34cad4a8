// SPDX-License-Identifier: Apache-2.0
#include "core/assets.h"

#include <filesystem>

namespace kvscope {

std::string asset(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = program.parent_path().parent_path() / "share" / "kvscope" / path;
    if (fs::exists(installed, error)) return installed.string();
  }
  return KVSCOPE_ASSETS_DIR "/" + path;
}

}  // namespace kvscope
