// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "policy/catalog.h"
#include "policy/text/head_file.h"

namespace kvscope {

/// The files with numbers of heads that keys of runs name. A file is read once for as long as its time and size on disk stay the same.
class HeadTableFiles {
 public:
  /// folder: the model's, the second place to look after the working directory, and the only one for a model's own file.
  explicit HeadTableFiles(std::string folder) : folder_(std::move(folder)) {}

  /// What the files of a specification hold. Throws UsageError that names the key: not found (and where it was looked for), not JSON, too
  /// large.
  HeadTables of(const LaneSpec& spec);

 private:
  struct Read {
    std::filesystem::file_time_type time;
    std::uintmax_t size = 0;
    std::shared_ptr<const HeadTable> table;
  };
  std::string path_of(const HeadFile& file) const;  // "": it may lack, and does
  std::shared_ptr<const HeadTable> table_at(const std::string& path);

  std::string folder_;
  std::map<std::string, Read> read_;  // by path
};

}  // namespace kvscope
