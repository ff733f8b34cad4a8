// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/sweep_contents.h"
#include "trace/sweep_item.h"

namespace kvscope {

inline constexpr std::size_t kMaxSweepContentsBytes = std::size_t(256) << 20;

/// A folder in which every finished item of a sweep is a file, so that a sweep which was killed goes on where it stopped, and several
/// programs fill one folder: `KEY.json` (the first 32 digits of the item's key), there whole or not at all. `sweep-DIGEST.json` beside them
/// is what a sweep consists of. Other files are nobody's.
class SweepStore {
 public:
  /// Makes the folder where it is missing. Throws Error: no folder, not writable.
  explicit SweepStore(std::string folder);

  const std::string& folder() const { return folder_; }
  std::string path_of(const SweepItem& item) const;
  /// Nothing: the item is not there, or what stands in its place is no use, and `problem` says why; it is to be computed. Throws Error: a
  /// link stands in its place, and to write would change another file.
  std::optional<SweepResult> find(const SweepItem& item, std::string* problem) const;
  /// Throws Error.
  void put(const SweepItem& item, const SweepResult& result) const;
  /// What will be in the folder; the same contents are the same file. Throws Error: a link stands in its place, and so on.
  void announce(const SweepContents& contents) const;

 private:
  std::string folder_;
};

// Names in the folder.
std::string sweep_item_name(std::string_view key);
bool is_sweep_item_name(std::string_view name);
bool is_sweep_contents_name(std::string_view name);

// Between programs that share one sweep.
std::string sweep_result_json(const SweepResult& result);
/// Throws Error. `name` begins the message.
SweepResult read_sweep_result(std::string_view json, const std::string& name);

// In the files.
std::string sweep_item_json(const SweepItem& item, const SweepResult& result);
/// Throws Error: no such item, another key, another version, damaged. `name` begins the message.
SweepResult read_sweep_item(std::string_view json, std::string_view key, const std::string& name);
/// The same of a file. Throws Error: it cannot be read, or is a link, which is nobody's item.
SweepResult load_sweep_item(const std::string& path, std::string_view key);

}  // namespace kvscope
