// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace kvscope::test {

/// A model folder of this many layers of 122 MB each and 131 MB around them, all weights zero. The file is one hole: it takes no room on
/// the disk, but reading it takes time.
inline std::string write_sparse_model(const std::string& folder, int n_layers) {
  constexpr std::int64_t dim = 2048, hidden = 8192, vocab = 32000, kv = 512;
  const nlohmann::json config = {
      {"model_type", "llama"},     {"hidden_size", dim},         {"intermediate_size", hidden}, {"num_hidden_layers", n_layers},
      {"num_attention_heads", 32}, {"num_key_value_heads", 8},   {"vocab_size", vocab},         {"max_position_embeddings", 2048},
      {"rms_norm_eps", 1e-5},      {"tie_word_embeddings", true}};
  nlohmann::json header = nlohmann::json::object();
  std::uintmax_t offset = 0;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::uintmax_t bytes = 2;
    for (const std::int64_t n : shape) bytes *= static_cast<std::uintmax_t>(n);
    header[name] = {{"dtype", "F16"}, {"shape", shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  };
  add("model.embed_tokens.weight", {vocab, dim});
  add("model.norm.weight", {dim});
  for (int l = 0; l < n_layers; ++l) {
    const std::string p = "model.layers." + std::to_string(l) + ".";
    add(p + "input_layernorm.weight", {dim});
    add(p + "post_attention_layernorm.weight", {dim});
    add(p + "self_attn.q_proj.weight", {dim, dim});
    add(p + "self_attn.k_proj.weight", {kv, dim});
    add(p + "self_attn.v_proj.weight", {kv, dim});
    add(p + "self_attn.o_proj.weight", {dim, dim});
    add(p + "mlp.gate_proj.weight", {hidden, dim});
    add(p + "mlp.up_proj.weight", {hidden, dim});
    add(p + "mlp.down_proj.weight", {dim, hidden});
  }
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << config.dump();
  std::string text = header.dump();
  while (text.size() % 8 != 0) text += ' ';
  const std::string path = folder + "/model.safetensors";
  {
    std::ofstream out(path, std::ios::binary);
    for (int i = 0; i < 8; ++i) out.put(static_cast<char>(text.size() >> (8 * i) & 0xff));
    out << text;
  }
  std::filesystem::resize_file(path, 8 + text.size() + offset);
  return folder;
}

}  // namespace kvscope::test
