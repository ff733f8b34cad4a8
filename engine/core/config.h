// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kvscope {

/// How the rotary frequencies are changed for long contexts (Hugging Face `rope_scaling`).
struct RopeScaling {
  enum class Kind { none, linear, llama3 };
  Kind kind = Kind::none;
  double factor = 1.0;
  double low_freq_factor = 1.0;      // llama3
  double high_freq_factor = 4.0;     // llama3
  int original_max_position = 8192;  // llama3, tokens
};

/// Shape of a decoder-only transformer of the Llama family.
struct ModelConfig {
  std::string name;  // shown to people: config "name", else the folder's name
  std::string arch;  // model_type of config.json
  int n_layers = 0;
  int n_heads = 0;     // query heads
  int n_kv_heads = 0;  // key/value heads; divides n_heads (GQA)
  int head_dim = 0;    // not always dim / n_heads
  int dim = 0;         // width of the residual stream
  int hidden_dim = 0;  // width of the feed-forward layer
  int vocab_size = 0;
  int max_positions = 0;  // tokens the model was made for
  double norm_eps = 1e-6;
  double rope_theta = 10000.0;  // base of the rotary frequencies
  RopeScaling rope_scaling;
  bool tied_embeddings = false;
  int bos_id = 1;  // -1: none
  int eos_id = 2;  // -1: none

  int group() const { return n_heads / n_kv_heads; }  // query heads that share one KV head
  int q_dim() const { return n_heads * head_dim; }
  int kv_dim() const { return n_kv_heads * head_dim; }
};

}  // namespace kvscope
