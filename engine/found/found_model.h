// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "core/not_available.h"

namespace kvscope {

/// Lengths of a text, in tokens, for which the memory of a model is said.
inline constexpr std::array<int, 3> kFoundContexts = {2048, 8192, 32768};

/// A model that lies on this machine.
struct FoundModel {
  std::string name;     // as the program that keeps it calls it: "Qwen/Qwen3-0.6B", "llama3.2:1b"
  std::string place;    // who keeps it: "Hugging Face"
  std::string path;     // what opens it: a folder, or a GGUF file, of several the first
  std::string family;   // model_type of config.json, general.architecture of a GGUF; empty: nothing says it
  std::string numbers;  // types of the weights, those with most of them first: "BF16", "Q4_K, Q6_K"; empty: not known
  double disk_bytes = 0;
  double weight_bytes = kNotAvailable;
  int max_positions = 0;  // 0: not known
  /// Weights, and keys and values of the full cache, after so many tokens as kFoundContexts says; NaN: not known, or more than the model
  /// was made for.
  std::array<double, kFoundContexts.size()> run_bytes = {kNotAvailable, kNotAvailable, kNotAvailable};
  bool reads_text = true;  // else it has no tokenizer and takes token ids only
  std::string problem;     // why it does not open, one sentence; empty: it opens

  bool opens() const { return problem.empty(); }
};

/// Where to look: a folder that holds models, or is one, or a GGUF file.
struct ModelPlace {
  std::string label;  // FoundModel::place
  std::string path;
};

}  // namespace kvscope
