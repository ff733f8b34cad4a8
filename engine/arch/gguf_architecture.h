// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/gguf_file.h"

namespace kvscope {

/// What general.architecture of a GGUF means (llama.cpp's convert_hf_to_gguf.py writes it).
struct GgufArchitecture {
  std::string_view name;
  std::string_view model_type;  // of the config.json
  /// Rows of queries and keys are in the order of rotated neighbours.
  bool pairs_neighbours = false;
  /// Norms hold the 1 of 1 + w.
  bool norms_hold_one = false;
  /// Its keys of windows mean something.
  bool has_windows = false;
  /// Of the config.json where there is a window; empty: the same as without.
  std::string_view model_type_with_windows = {};
  /// Without a key of its own.
  double usual_theta = 10000;
  /// Layers of its largest model, whose queries are scaled by another number than head_dim; the file says it in no other way, and llama.cpp
  /// tells it by these. 0: no model's are.
  std::int64_t n_layers_of_largest = 0;
  /// Its sentencepiece vocabularies take the space behind a special token, for which there is no key.
  bool special_tokens_take_space = false;
  struct Name {
    std::string_view gguf, config;
  };
  /// Real numbers under keys of its own, and their names in the config.json.
  std::span<const Name> numbers = {};
  /// Parts of a layer that have other names than elsewhere.
  std::span<const Name> parts = {};
};

/// nullptr: the architecture is not known, or is given by no text.
const GgufArchitecture* known_gguf_architecture(const GgufFile& file);
/// The same; throws Error.
const GgufArchitecture& gguf_architecture(const GgufFile& file);

/// The config.json of the model, of which `parts` are all files, the one with the metadata first. Ranges are left to who reads it. Throws
/// Error for what no key of it says.
std::string config_of_gguf(std::span<const GgufFile> parts, const GgufArchitecture& architecture);

/// The name of a tensor in the model's safetensors; the same name where it has none there.
std::string name_in_safetensors(const GgufArchitecture& architecture, std::string_view gguf_name);
/// And back, for messages.
std::string name_in_gguf(const GgufArchitecture& architecture, std::string_view safetensors_name);

}  // namespace kvscope
