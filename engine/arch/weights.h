// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"

namespace kvscope {

/// What to do where a folder holds no model.
inline constexpr std::string_view kWhatOpens =
    "choose the folder of a model in the Hugging Face layout (config.json, model.safetensors, tokenizer.json or tokenizer.model), or a "
    "GGUF file";

/// One dimension a tensor should have, with the words of config.json it comes from.
struct ExpectedDim {
  std::string_view words;  // "n_kv_heads * head_dim"
  std::int64_t size = 0;
};

/// The tensors of a model: of a folder (model.safetensors, or the shards that model.safetensors.index.json names) or of files that are
/// added.
class Weights {
 public:
  /// A name of a tensor in another format's words.
  using Naming = std::function<std::string(std::string_view name)>;

  /// Throws Error naming the missing, damaged or contradicting file. Pickled weights are never read: they get a sentence on converting.
  static Weights open(const std::string& folder);

  /// Of no file yet. `path` and the names that `in_file` makes of ours are for messages.
  Weights(const std::string& path, Naming in_file) : folder_(path), config_("its metadata"), in_file_(std::move(in_file)) {}
  /// The tensors of a file under the names that `ours` makes of its. Throws Error where two have the same.
  void add(const std::string& path, TensorFile file, const Naming& ours);

  bool has(const std::string& name) const { return places_.contains(name); }
  /// Throws Error if the tensor is missing, has another shape or is no floating-point tensor.
  const TensorView& get(const std::string& name, const std::vector<ExpectedDim>& shape) const;
  /// Names of all tensors, sorted.
  std::vector<std::string> names() const;

  /// Hands over the maps that the views point into.
  std::vector<TensorFile> take_files() { return std::move(files_); }

 private:
  struct Place {
    std::size_t file = 0;
    const TensorView* view = nullptr;  // null: a dtype without view
  };
  Weights() = default;
  void add_all(std::size_t file);
  std::string shown(const std::string& name) const;

  std::string folder_, config_ = "config.json";  // where shapes come from, for messages
  Naming in_file_;                               // none: names are the files' own
  std::vector<std::string> paths_;
  std::vector<TensorFile> files_;
  std::map<std::string, Place> places_;
};

}  // namespace kvscope
