// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "io/temp_folder.h"
#include "paths.h"

namespace kvscope::test {

/// Test data that is not part of the repository: a path in the folder that KVSCOPE_SHARED names, else in ../shared. Tests on it are
/// skipped where it is absent.
inline std::filesystem::path shared_file(const std::string& path) {
  const char* set = std::getenv("KVSCOPE_SHARED");
  return std::filesystem::absolute(std::filesystem::path(set ? std::string(set) : in_checkout("../shared")) / path);
}

/// False: it could not be unpacked.
inline bool unpack(const std::filesystem::path& archive, const TempFolder& into) {
  return std::system(("cd '" + into.path() + "' && cmake -E tar xf '" + archive.string() + "'").c_str()) == 0;
}

}  // namespace kvscope::test
