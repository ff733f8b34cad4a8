// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "found/list_models.h"

namespace kvscope {

/// Finds the models in folders by the names of files alone, and by the small files in which the Hugging Face cache and Ollama say what
/// belongs to what. Rows have a name, a place, a path and their bytes on the disk, or a problem.
class ModelWalk {
 public:
  ModelWalk(const ListLimits& limits, const CancelToken* cancel) : limits_(limits), cancel_(cancel), entries_left_(limits.entries) {}

  void look_in(const ModelPlace& place);
  std::vector<FoundModel> take() { return std::move(rows_); }

 private:
  using Path = std::filesystem::path;

  struct Entry {
    std::string name;
    Path path;
    bool is_folder = false, is_file = false;  // what a link leads to
    double bytes = 0;
  };
  enum class Expected {
    maybe,  // a folder among others
    model,  // a list or setting names it
  };

  /// Sorted by name. Says why where a folder cannot be read.
  std::vector<Entry> entries_of(const Path& folder, const std::string& name);
  /// True the first time that a folder is come to, by whatever links.
  bool is_new(const Path& path);
  void add(const std::string& name, const Path& path, double bytes, const std::string& problem = {});

  void look_into_folder(const Path& folder, const std::string& name, int depth, Expected expected);
  void add_ggufs(const std::vector<Entry>& entries, const std::string& folder_name);
  void look_into_hub(const Path& repository);  // models--ORG--NAME
  void look_into_manifests(const Path& folder, const Path& blobs, const std::string& name, int depth);
  void read_manifest(const Path& manifest, const Path& blobs, const std::string& name);

  ListLimits limits_;
  const CancelToken* cancel_;
  int entries_left_;
  bool said_limit_ = false;
  std::string place_;
  std::set<std::string> folders_, models_;  // that were come to, without links
  std::vector<FoundModel> rows_;
};

}  // namespace kvscope
