// SPDX-License-Identifier: Apache-2.0
#include "arch/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/error.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxIndexBytes = 64u << 20;
constexpr std::size_t kMaxShards = 1024;

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Why there are no weights: names what lies there instead.
[[noreturn]] void fail_without_safetensors(const std::string& folder) {
  std::string other, gguf;
  each_name(folder, [&](std::string_view name) {
    const std::string_view suffix = name.rfind('.') == std::string_view::npos ? std::string_view() : name.substr(name.rfind('.'));
    const bool pickled = suffix == ".bin" || suffix == ".pth" || suffix == ".pt" || suffix == ".ckpt" || suffix == ".pkl" ||
                         name.ends_with(".bin.index.json");
    if (pickled && (other.empty() || name < other)) other = name;
    if (suffix == ".gguf" && (gguf.empty() || name < gguf)) gguf = name;
    return true;
  });
  if (!gguf.empty())
    throw Error(fmt::format("{}: expected model.safetensors or model.safetensors.index.json, got only {}; open that file itself", folder,
                            quote_name(gguf)));
  if (!other.empty()) {
    throw Error(fmt::format(
        "{}: expected model.safetensors or model.safetensors.index.json, got only {}, which is not read; convert it, e.g. in Python "
        "with transformers: AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder, safe_serialization=True)",
        folder, quote_name(other)));
  }
  throw Error(fmt::format("{}: expected model.safetensors or model.safetensors.index.json, got neither; {}", folder, kWhatOpens));
}

/// Tensor name to shard name. A shard is a plain file name: an index must not reach outside its folder.
std::map<std::string, std::string> read_index(const std::string& path) {
  const JsonDocument document = JsonDocument::read(path, {.bytes = kMaxIndexBytes, .values = kJsonLimits.values});
  const JsonCursor index(document);
  if (!index.has("weight_map") || !index.at("weight_map").is_object()) {
    throw Error(fmt::format("{}: expected an object \"weight_map\" from tensor names to files, got none", path));
  }
  std::map<std::string, std::string> map;
  const JsonCursor shards = index.at("weight_map");
  for (std::size_t i = 0; i < shards.n_members(); ++i) {
    const std::string tensor(shards.member_name(i));
    const JsonCursor shard = shards.member(i);
    const std::string name = shard.is_string() ? shard.text() : "";
    if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos || !name.ends_with(".safetensors")) {
      throw Error(fmt::format("{}: weight_map: expected the name of a .safetensors file in the same folder for tensor {}, got {}", path,
                              quote_name(tensor), shard.is_string() ? quote_name(name) : "no text"));
    }
    map[tensor] = name;
  }
  return map;
}

std::string join(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace

Weights Weights::open(const std::string& folder) {
  Weights weights;
  weights.folder_ = folder;
  constexpr const char* kIndex = "model.safetensors.index.json";
  const std::string single = in_folder(folder, "model.safetensors"), index = in_folder(folder, kIndex);
  if (is_there(single)) {
    weights.paths_ = {single};
    weights.files_.push_back(TensorFile::open(single));
    weights.add_all(0);
    return weights;
  }
  if (!is_there(index)) fail_without_safetensors(folder);

  const auto map = read_index(index);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map) shards.insert(shard);
  if (shards.size() > kMaxShards) throw Error(fmt::format("{}: expected at most {} files, got {}", index, kMaxShards, shards.size()));
  std::map<std::string, std::size_t> number;
  for (const std::string& shard : shards) {
    const std::string path = in_folder(folder, shard);
    if (!is_there(path)) throw Error(fmt::format("{}: is missing, {} names it; is the download complete?", path, kIndex));
    number[shard] = weights.files_.size();
    weights.paths_.push_back(path);
    weights.files_.push_back(TensorFile::open(path));
  }
  for (const auto& [tensor, shard] : map) {
    const std::size_t file = number[shard];
    const auto& views = weights.files_[file].tensors();
    const auto view = views.find(tensor);
    if (view == views.end() && !weights.files_[file].others().contains(tensor)) {
      throw Error(fmt::format("{}: tensor {} is missing, {} says it is here", weights.paths_[file], quote_name(tensor), kIndex));
    }
    weights.places_[tensor] = {file, view == views.end() ? nullptr : &view->second};
  }
  return weights;
}

void Weights::add_all(std::size_t file) {
  for (const auto& [name, view] : files_[file].tensors()) places_[name] = {file, &view};
  for (const auto& [name, tensor] : files_[file].others()) places_[name] = {file, nullptr};
}

void Weights::add(const std::string& path, TensorFile file, const Naming& ours) {
  const std::size_t place = files_.size();
  files_.push_back(std::move(file));
  paths_.push_back(path);
  const auto put = [&](const std::string& name, const TensorView* view) {
    if (!places_.try_emplace(ours(name), Place{place, view}).second)
      throw Error(fmt::format("{}: tensor {} is in another part of the model, too", path, quote_name(name)));
  };
  for (const auto& [name, view] : files_[place].tensors()) put(name, &view);
  for (const auto& [name, tensor] : files_[place].others()) put(name, nullptr);
}

std::string Weights::shown(const std::string& name) const { return quote_name(in_file_ ? in_file_(name) : name); }

const TensorView& Weights::get(const std::string& name, const std::vector<ExpectedDim>& shape) const {
  std::vector<std::int64_t> sizes;
  std::vector<std::string_view> words;
  for (const ExpectedDim& dim : shape) {
    sizes.push_back(dim.size);
    words.push_back(dim.words);
  }
  const auto found = places_.find(name);
  if (found == places_.end()) {
    throw Error(fmt::format("{}: tensor {} is missing, expected [{}] = {}; is this another kind of model?", folder_, shown(name),
                            fmt::join(words, ", "), join(sizes)));
  }
  const Place& place = found->second;
  if (!place.view) {
    throw Error(fmt::format("{}: tensor {} is {}, expected F32, F16, BF16 or F64{}", paths_[place.file], shown(name),
                            files_[place.file].others().at(in_file_ ? in_file_(name) : name).dtype,
                            in_file_ ? ", or Q8_0, Q4_0, Q5_0, Q4_K, Q5_K, Q6_K or IQ4_NL; take the model in another of these"
                                     : "; quantised weights are read from GGUF files only"));
  }
  if (place.view->shape != sizes) {
    throw Error(fmt::format("{}: tensor {} is {}, {} says [{}] = {}; is this checkpoint for another model?", paths_[place.file],
                            shown(name), join(place.view->shape), config_, fmt::join(words, ", "), join(sizes)));
  }
  return *place.view;
}

std::vector<std::string> Weights::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

}  // namespace kvscope
