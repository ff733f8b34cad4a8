// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/safetensors_builder.h"
#include "io/temp_folder.h"

namespace kvscope::test {

/// A small model folder to be spoilt by a test: dim 8, 2 layers, 4 query heads on 2 KV heads of size 6, hidden 12, vocabulary 10.
class ModelFolder {
 public:
  using Shape = std::vector<std::int64_t>;

  nlohmann::json config = {{"model_type", "llama"},
                           {"hidden_size", 8},
                           {"intermediate_size", 12},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 4},
                           {"num_key_value_heads", 2},
                           {"head_dim", 6},
                           {"vocab_size", 10},
                           {"max_position_embeddings", 128},
                           {"rms_norm_eps", 1e-5},
                           {"tie_word_embeddings", false}};
  std::map<std::string, Shape> shapes;
  std::map<std::string, std::string> dtypes;  // F32 where not named

  ModelFolder() {
    shapes["model.embed_tokens.weight"] = shapes["lm_head.weight"] = {10, 8};
    shapes["model.norm.weight"] = {8};
    for (int l = 0; l < 2; ++l) {
      const std::string p = "model.layers." + std::to_string(l) + ".";
      shapes[p + "input_layernorm.weight"] = shapes[p + "post_attention_layernorm.weight"] = {8};
      shapes[p + "self_attn.q_proj.weight"] = {24, 8};
      shapes[p + "self_attn.k_proj.weight"] = shapes[p + "self_attn.v_proj.weight"] = {12, 8};
      shapes[p + "self_attn.o_proj.weight"] = {8, 24};
      shapes[p + "mlp.gate_proj.weight"] = shapes[p + "mlp.up_proj.weight"] = {12, 8};
      shapes[p + "mlp.down_proj.weight"] = {8, 12};
    }
  }

  /// Of queries, keys and values.
  void add_biases() {
    for (int l = 0; l < 2; ++l) {
      const std::string p = "model.layers." + std::to_string(l) + ".self_attn.";
      shapes[p + "q_proj.bias"] = {24};
      shapes[p + "k_proj.bias"] = shapes[p + "v_proj.bias"] = {12};
    }
  }

  std::string path() const { return folder_.path(); }
  const TempFolder& folder() const { return folder_; }
  void write_config() const { folder_.write("config.json", config.dump()); }
  /// The tensors whose name passes, as one file.
  template <class F>
  void write_tensors(const std::string& file, F&& passes) const {
    nlohmann::json header = nlohmann::json::object();
    std::size_t offset = 0;
    for (const auto& [name, shape] : shapes) {
      if (!passes(name)) continue;
      const auto dtype = dtypes.contains(name) ? dtypes.at(name) : "F32";
      std::size_t bytes = dtype == "I64" || dtype == "F64" ? 8 : dtype == "F32" ? 4 : dtype == "U8" ? 1 : 2;
      for (const std::int64_t n : shape) bytes *= static_cast<std::size_t>(n);
      header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {offset, offset + bytes}}};
      offset += bytes;
    }
    folder_.write(file, safetensors(header.dump(), offset));
  }
  /// config.json and model.safetensors; returns the folder.
  std::string write() const {
    write_config();
    write_tensors("model.safetensors", [](const std::string&) { return true; });
    return path();
  }

 private:
  TempFolder folder_;
};

}  // namespace kvscope::test
