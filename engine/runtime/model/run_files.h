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

/// What a name in a file that lies in `folder` means here: of what lies there, too, that file, wherever the program was started.
std::string name_beside(const std::string& name, const std::string& folder);
/// The name for a file in `folder`: relative to it of what lies in it or below, absolute of what lies elsewhere ("": everything does); of
/// what is not there, or only in the model's folder, as it is.
std::string name_told(const std::string& name, const std::string& folder);
/// The runs with such names in the place of all that their keys name.
std::vector<LaneSpec> with_files_beside(std::vector<LaneSpec> lanes, const std::string& folder);
std::vector<LaneSpec> with_files_told(std::vector<LaneSpec> lanes, const std::string& folder);

/// A file that runs name and that is none of the model's own, which hash_of_model() (arch/model_parts.h) covers.
struct RunFile {
  std::string name;  // as the run has it
  std::string path;  // where it was found; "": nowhere
  bool operator==(const RunFile&) const = default;
};
std::vector<RunFile> files_beside_model(const std::vector<LaneSpec>& lanes, const std::string& model_folder);
/// SHA-256 of what such a file held, by its name.
struct RunFileHash {
  std::string name, sha256;
  bool operator==(const RunFileHash&) const = default;
};
/// Those that hold something else now; one that cannot be read does.
std::vector<std::string> changed_files(const std::vector<RunFileHash>& known, const std::vector<LaneSpec>& lanes,
                                       const std::string& model_folder);

/// Of the files that the keys of these runs name, those that are there and lie neither in the model's folder nor in that of the file
/// `naming`, which has the runs, or below (links followed), nor in assets/heads: what somebody else's session or lesson wants to have read.
/// Throws UsageError.
std::vector<std::string> named_files_outside(const std::vector<LaneSpec>& lanes, const std::string& model_folder,
                                             const std::string& naming);
/// The same as a refusal: throws UsageError that names them.
void refuse_files_outside(const std::vector<LaneSpec>& lanes, const std::string& model_folder, const std::string& naming);

}  // namespace kvscope
