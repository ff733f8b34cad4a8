// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/catalog.h"
#include "policy/text/named_files.h"

namespace kvscope {

/// The files that keys of runs name. A file is read once for as long as its time and size on disk stay the same.
class RunFiles {
 public:
  /// folder: the model's, the second place to look after the working directory; for a model's own file the first one, before assets/heads.
  explicit RunFiles(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  /// What the files of a specification hold. Throws UsageError that names the run and the key: not found (and where it was looked for), not
  /// of the format, too large, not what the key wants.
  GivenFiles of(const LaneSpec& spec);
  /// Where a file of it lies; "": it may lack, and does. Throws UsageError: not found.
  std::string path_of(const LaneSpec& spec, const NamedFile& file) const;

 private:
  template <class T>
  struct Read {
    std::filesystem::file_time_type time;
    std::uintmax_t size = 0;
    std::shared_ptr<const T> content;
  };
  template <class T>
  static std::shared_ptr<const T> read(Read<T>& known, const std::string& path, T (*reader)(const std::string&));

  void check_weights(const FeatureMapsFile& maps);

  std::string folder_;
  std::map<std::string, Read<HeadTable>> tables_;  // by path
  std::map<std::string, Read<HeadVectors>> vectors_;
  std::map<std::string, Read<FeatureMapsFile>> maps_;
  std::map<std::string, Read<HiddenScorer>> scorers_;
  std::map<std::string, Read<BudgetCurves>> curves_;
  std::map<std::string, Read<KeptFile>> kept_;
  Read<std::string> weights_;  // SHA-256 of the model's
};

/// Of the files that the keys of these runs name, those that are there and lie neither in the model's folder nor in one of `folders` or
/// below (links followed), nor in assets/heads: what somebody else's session wants to have read. Throws UsageError.
std::vector<std::string> named_files_outside(const std::vector<LaneSpec>& lanes, const std::string& model_folder,
                                             const std::vector<std::string>& folders);

}  // namespace kvscope
