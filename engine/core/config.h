// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kvscope {

/// How the rotary frequencies are changed for long contexts (Hugging Face `rope_scaling`).
struct RopeScaling {
  enum class Kind : std::uint8_t { none, linear, llama3, yarn, longrope };
  Kind kind = Kind::none;
  double factor = 1.0;
  double low_freq_factor = 1.0;      // llama3
  double high_freq_factor = 4.0;     // llama3
  int original_max_position = 8192;  // llama3, yarn: tokens
  double beta_fast = 32.0;           // yarn: frequencies of more turns in the original length stay
  double beta_slow = 1.0;            // yarn: those of fewer are divided by factor
  bool whole_bounds = true;          // yarn: the two are rounded to whole pairs
  std::vector<double> divisors;      // longrope: of every pair's frequency
};

/// A table of rotations.
struct Rope {
  double theta = 10000.0;  // base of the frequencies
  int dims = 0;            // the first so many of a head's dimensions are rotated; 0: all
  RopeScaling scaling;
  double gain = 1.0;  // what rotates of queries and keys is multiplied by it before (yarn and longrope: attention factor)
  int up_to = 0;      // longrope: for texts of at most so many tokens; 0: for all
  int beyond = -1;    // the table of longer ones
};

/// What becomes of q . k before the softmax: z = q . k * scale, with a cap z = cap * tanh(q . k * scale / cap). Every figure and every
/// policy sees this z.
struct LogitRule {
  double scale = 0;  // 0: 1 / sqrt(head_dim)
  double cap = 0;    // 0: none
};

/// What may differ between the layers of a model.
struct LayerConfig {
  int window = 0;  // a query sees so many tokens, itself included; 0: all before it
  int rope = 0;    // table of the model; -1: queries and keys are not rotated
  LogitRule logits;
  /// The first token that the one at `position` sees.
  int first_seen(int position) const { return window > 0 && position >= window ? position + 1 - window : 0; }
};

enum class Activation : std::uint8_t { silu, gelu_tanh };

/// Shape of a decoder-only transformer. Which norms a layer has (of queries and keys, before and after its halves) is said by its tensors
/// (LayerTensors).
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
  std::vector<Rope> ropes = std::vector<Rope>(1);
  std::vector<LayerConfig> layers;  // [n_layers]; empty: all are as LayerConfig says
  Activation activation = Activation::silu;
  double embedding_scale = 1;  // the embedding's rows are multiplied by it
  double residual_scale = 1;   // what a layer adds to the residual stream is
  double logit_scale = 1;      // the next token's logits are
  double logit_cap = 0;        // then they become cap * tanh(logit / cap); 0: they stay
  bool tied_embeddings = false;
  bool qkv_bias = false, out_bias = false, mlp_bias = false;  // projections of queries, keys and values, of outputs, of the MLP have biases
  int bos_id = 1;                                             // -1: none
  int eos_id = 2;                                             // -1: none

  int group() const { return n_heads / n_kv_heads; }  // query heads that share one KV head
  int q_dim() const { return n_heads * head_dim; }
  int kv_dim() const { return n_kv_heads * head_dim; }
  LayerConfig layer(int l) const { return layers.empty() ? LayerConfig() : layers[static_cast<std::size_t>(l)]; }
  /// Tokens a query of this layer sees; 0: all before it.
  int window(int l) const { return layer(l).window; }
  /// The layer's table of rotations in a text whose prompt has n_prompt tokens; -1: none. The prompt decides for all that follows it, so
  /// that all keys of a cache are rotated alike.
  int rope_of(int l, int n_prompt) const {
    const int table = layer(l).rope;
    if (table < 0) return table;
    const Rope& rope = ropes[static_cast<std::size_t>(table)];
    return rope.up_to > 0 && n_prompt > rope.up_to ? rope.beyond : table;
  }
  /// True if a key of one text means the same in the other.
  bool rotates_alike(std::size_t n_prompt, std::size_t other_prompt) const {
    for (int l = 0; l < n_layers; ++l)
      if (rope_of(l, static_cast<int>(n_prompt)) != rope_of(l, static_cast<int>(other_prompt))) return false;
    return true;
  }
};

}  // namespace kvscope
