// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "arch/family.h"

namespace kvscope {

// What most families have in common. A family's file says what is different: its defaults, its layers, the names of its norms.

/// What holds where config.json leaves a key out, as in transformers' configuration of the family. 0: the key must be there.
struct DecoderDefaults {
  int n_heads = 0;
  int n_kv_heads = 0;  // 0: as many as query heads
  int head_dim = 0;    // 0: hidden_size / heads
  int vocab_size = 0;
  int max_positions = 2048;
  double norm_eps = 1e-6;
  double rope_theta = 10000;
  bool partial_rotation = false;
  bool tied = false;
  Activation activation = Activation::silu;
  int bos_id = 1, eos_id = 2;
};

/// All fields but name and arch: shapes, tables of rotations, biases that `attention_bias` and `mlp_bias` ask for. `layers` stays empty.
/// Throws Error for what the forward pass does not do.
ModelConfig read_decoder(const ConfigReader& config, const DecoderDefaults& defaults = {});

/// The layer's own configuration, made where there is none yet.
std::vector<LayerConfig>& layers_of(ModelConfig& model);

/// The window of `sliding_window` in the layers that `layer_types` calls sliding, or, without that key, where `slides` says so. A window
/// that covers all positions is none. usual: the window where the key is absent; 0: none.
void read_windows(const ConfigReader& config, ModelConfig& model, int usual, const std::function<bool(int layer)>& slides);

/// Which tensors a layer has, by their names in the file, without "model.layers.N." and ".weight". nullptr: none.
struct DecoderTensors {
  enum class HeadNorm : std::uint8_t { none, per_head, whole };
  const char* attn_norm = "input_layernorm";
  const char* attn_after_norm = nullptr;
  const char* ffn_norm = "post_attention_layernorm";
  const char* ffn_after_norm = nullptr;
  HeadNorm head_norm = HeadNorm::none;  // q_norm and k_norm: over each head, or over the whole projection
  bool fused = false;                   // qkv_proj holds q, k and v, gate_up_proj both of them, one after the other
  bool norms_lack_one = false;          // norms multiply by 1 + w
};
/// Fills embedding, final_norm, lm_head and layers. Throws Error (Weights::get), also for a layer's biases and norms that nobody asked for.
void bind_decoder(const Weights& weights, ModelFiles& model, const DecoderTensors& tensors = {});

}  // namespace kvscope
