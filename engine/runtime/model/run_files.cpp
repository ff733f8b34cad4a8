// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/run_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "arch/model_files.h"
#include "core/assets.h"
#include "core/error.h"
#include "io/file_hash.h"
#include "io/files.h"
#include "io/head_table_file.h"
#include "io/kept_file_reader.h"
#include "io/trained/budget_curves_file.h"
#include "io/trained/feature_maps_file.h"
#include "io/trained/head_vectors_file.h"
#include "io/trained/hidden_scorer_file.h"
#include "policy/policy_pair.h"
#include "policy/text/params.h"

namespace kvscope {

namespace fs = std::filesystem;

namespace {

/// Where a file is looked for, the first place first. Of a model's own the last is what the program has of public models (assets/heads).
std::vector<std::string> places_of(const NamedFile& file, const std::string& model_folder) {
  std::vector<std::string> out;
  if (!file.of_model) out.push_back(file.name);
  out.push_back(in_folder(model_folder, file.name));
  if (file.of_model && !model_folder.empty()) out.push_back(asset("heads/" + name_of_model(model_folder) + "/" + file.name));
  return out;
}

UsageError refused(const LaneSpec& spec, const NamedFile& file, std::string_view why) {
  return UsageError(fmt::format("run {}: {}: {}", kvscope::quoted(spec.text), file.key, why));
}

}  // namespace

GivenFiles RunFiles::of(const LaneSpec& spec) {
  GivenFiles out;
  for (const NamedFile& file : files_named_by(spec)) {
    const std::string path = path_of(spec, file);
    if (path.empty()) continue;
    try {
      switch (file.holds) {
        case FileHolds::kept:
          out.kept = read(kept_[path], path, read_kept_file);
          break;
        case FileHolds::vectors:
          out.vectors = read(vectors_[path], path, read_head_vectors);
          break;
        case FileHolds::maps:
          out.maps = read(maps_[path], path, read_feature_maps);
          check_weights(*out.maps);
          break;
        case FileHolds::scorer:
          out.scorer = read(scorers_[path], path, read_hidden_scorer);
          break;
        case FileHolds::curves:
          out.curves = read(curves_[path], path, read_budget_curves);
          break;
        case FileHolds::numbers:
          out.heads[file.key] = read(tables_[path], path, read_head_table);
          break;
      }
    } catch (const Error& error) {
      throw refused(spec, file, error.what());
    }
  }
  return out;
}

/// Maps that say which weights they were trained for. Weights in several files are not compared.
void RunFiles::check_weights(const FeatureMapsFile& maps) {
  const std::string weights = in_folder(folder_, "model.safetensors");
  if (maps.weights_sha256.empty() || !is_file(weights)) return;
  const std::string& hash = *read<std::string>(weights_, weights, [](const std::string& path) { return hash_of_file(path).sha256; });
  if (hash != maps.weights_sha256)
    throw Error(fmt::format("{}: expected maps that were trained for these weights (SHA-256 {}...), got those of others ({}...)", maps.path,
                            hash.substr(0, 8), maps.weights_sha256.substr(0, 8)));
}

std::string RunFiles::path_of(const LaneSpec& spec, const NamedFile& file) const {
  for (std::string& path : places_of(file, folder_))
    if (is_file(path)) return std::move(path);
  if (file.may_lack) return {};
  if (file.of_model)
    throw refused(spec, file,
                  fmt::format("expected {} in the model's folder {}, got none; {}", file.name, kvscope::quoted(folder_), file.source));
  std::error_code error;
  for (const std::string& path : places_of(file, folder_))
    if (fs::exists(path, error))
      throw refused(spec, file,
                    fmt::format("expected a file, got {}, which is {}", kvscope::quoted(path),
                                fs::is_directory(path, error) ? "a folder" : "no regular file"));
  throw refused(spec, file,
                fmt::format("file {} is neither in the working directory nor in the model's folder", kvscope::quoted(file.name)));
}

namespace {

using NewName = std::string (*)(const std::string& name, const std::string& folder);

/// The run with other names for the files that its keys name.
LaneSpec with_file_names(LaneSpec spec, NewName new_name, const std::string& folder) {
  try {
    if (const std::optional<PolicyPair> pair = pair_of(spec)) {
      for (const auto& [key, half] : {std::pair("prefill", &pair->prefill), std::pair("decode", &pair->decode)})
        if (const LaneSpec other = with_file_names(*half, new_name, folder); other.text != half->text)
          spec = with_param(spec, key, other.text);
      return spec;
    }
    for (const NamedFile& file : files_named_by(spec))
      if (const std::string name = file.of_model ? file.name : new_name(file.name, folder); name != file.name)
        spec = with_param(spec, file.key, name);
  } catch (const UsageError&) {
    return spec;  // of a name with a quote in a half of a pair there is no text
  }
  return spec;
}

}  // namespace

std::string name_beside(const std::string& name, const std::string& folder) {
  if (fs::path(name).is_absolute() || folder == ".") return name;
  std::string beside = in_folder(folder, name);
  return is_file(beside) ? beside : name;
}

std::string name_told(const std::string& name, const std::string& folder) {
  if (!is_file(name)) return name;
  std::error_code error;
  const fs::path path = fs::absolute(name, error).lexically_normal();
  if (folder.empty()) return path.string();
  const fs::path from_there = path.lexically_relative(fs::absolute(folder, error).lexically_normal() / "");
  return from_there.empty() || *from_there.begin() == ".." ? path.string() : from_there.string();
}

std::vector<LaneSpec> with_files_beside(std::vector<LaneSpec> lanes, const std::string& folder) {
  for (LaneSpec& lane : lanes) lane = with_file_names(std::move(lane), name_beside, folder);
  return lanes;
}

std::vector<LaneSpec> with_files_told(std::vector<LaneSpec> lanes, const std::string& folder) {
  for (LaneSpec& lane : lanes) lane = with_file_names(std::move(lane), name_told, folder);
  return lanes;
}

std::vector<RunFile> files_beside_model(const std::vector<LaneSpec>& lanes, const std::string& model_folder) {
  std::vector<RunFile> out;
  for (const LaneSpec& lane : lanes) {
    for (const NamedFile& file : files_named_by(lane)) {
      if (file.of_model || std::ranges::find(out, file.name, &RunFile::name) != out.end()) continue;
      const std::vector<std::string> places = places_of(file, model_folder);
      const auto path = std::ranges::find_if(places, is_file);
      out.push_back({file.name, path == places.end() ? std::string() : *path});
    }
  }
  return out;
}

std::vector<std::string> changed_files(const std::vector<RunFileHash>& known, const std::vector<LaneSpec>& lanes,
                                       const std::string& model_folder) {
  std::vector<std::string> out;
  if (known.empty()) return out;
  const std::vector<RunFile> now = files_beside_model(lanes, model_folder);
  for (const auto& [name, sha256] : known) {
    const auto file = std::ranges::find(now, name, &RunFile::name);
    if (file == now.end()) continue;  // no run of them names it
    try {
      if (!file->path.empty() && hash_of_file(file->path).sha256 == sha256) continue;
    } catch (const Error&) {
      // cannot be read
    }
    out.push_back(name);
  }
  return out;
}

std::vector<std::string> named_files_outside(const std::vector<LaneSpec>& lanes, const std::string& model_folder,
                                             const std::string& naming) {
  const std::array inside = {model_folder.empty() ? std::string(".") : model_folder, asset("heads"), folder_of(naming)};
  const auto exists = [](const std::string& path) {
    std::error_code error;
    return fs::exists(path, error);
  };
  std::vector<std::string> out;
  for (const LaneSpec& lane : lanes) {
    for (const NamedFile& named : files_named_by(lane)) {
      const std::vector<std::string> places = places_of(named, model_folder);
      const auto path = std::ranges::find_if(places, exists);
      if (path == places.end()) continue;
      const auto has = [&](const std::string& folder) { return lies_in(*path, folder); };
      if (std::ranges::none_of(inside, has) && std::ranges::find(out, *path) == out.end()) out.push_back(*path);
    }
  }
  return out;
}

void refuse_files_outside(const std::vector<LaneSpec>& lanes, const std::string& model_folder, const std::string& naming) {
  if (const std::vector<std::string> outside = named_files_outside(lanes, model_folder, naming); !outside.empty())
    throw UsageError(
        fmt::format("{}: its runs name files outside of its folder: {}; --trust-files reads them", naming, fmt::join(outside, ", ")));
}

template <class T>
std::shared_ptr<const T> RunFiles::read(Read<T>& known, const std::string& path, T (*reader)(const std::string&)) {
  std::error_code no_time, no_size;
  const fs::file_time_type time = fs::last_write_time(path, no_time);
  const std::uintmax_t size = fs::file_size(path, no_size);
  const bool same = !no_time && !no_size && known.content && known.time == time && known.size == size;
  if (!same) known = {time, size, std::make_shared<const T>(reader(path))};
  return known.content;
}

}  // namespace kvscope
