// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

namespace kvscope {

/// One matrix, or two with GELU between them, for every layer of a model. Matrices are [to, from].
struct ScorerNetworks {
  struct Layer {
    std::vector<double> first, first_bias;    // [n_kv_heads, dim], or [hidden, dim]
    std::vector<double> second, second_bias;  // [n_kv_heads, hidden]; none: one matrix
  };
  int hidden = 0;  // 0: one matrix
  std::vector<Layer> layers;
};

/// A small query and key of the token itself for every KV head: how much of its attention goes to its own key and not to `sinks` fixed
/// ones.
struct ScorerGates {
  struct Layer {
    std::vector<double> query, query_bias, key;  // [n_kv_heads * group * width, dim], its bias, [n_kv_heads * width, dim]
    std::vector<double> query_norm, key_norm;    // [width]
    std::vector<double> sinks, bias;             // [n_kv_heads, sinks, width]; [n_kv_heads, group]: added to the logit of the token's own
  };
  int group = 0, width = 0, sinks = 0;
  std::vector<Layer> layers;
};

/// What was trained for one model to say of a token, from its hidden state as a layer makes queries, keys and values of it, how much it is
/// worth to every KV head: from a file (io/trained/hidden_scorer_file.h).
struct HiddenScorer {
  std::string path;  // for messages
  int n_layers = 0, n_kv_heads = 0, dim = 0;
  std::variant<ScorerNetworks, ScorerGates> function;

  /// hidden [n, dim] of n tokens into out [n_kv_heads, n]. Weights are read once for all of them: a few tokens at a time.
  void score(int layer, std::span<const double> hidden, std::span<double> out) const;
};

}  // namespace kvscope
