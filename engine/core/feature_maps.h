// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kvscope {

/// Maps of queries and keys to a few numbers each, none of them negative, whose product stands for exp of the logit: for every KV head of
/// a model, trained for it.
struct FeatureMaps {
  int n_layers = 0, n_kv_heads = 0, head_dim = 0;
  int hidden = 0, width = 0;                    // numbers between the two layers, and features
  std::vector<double> query_1, query_2;         // of every head [head_dim, hidden], [hidden, width]
  std::vector<double> key_1, key_2, key_mixed;  // the same, then [width, width]

  /// |gelu(gelu(q A) B)|, [width], of a query as it meets the keys, [head_dim].
  std::vector<double> of_query(int layer, int kv_head, std::span<const double> q) const;
  /// |gelu(gelu(k A) B) C|, [width].
  std::vector<double> of_key(int layer, int kv_head, std::span<const double> k) const;
};

/// What a file of maps holds (io/trained/feature_maps_file.h): a set for each of some names.
struct FeatureMapsFile {
  std::string path;            // for messages
  std::string weights_sha256;  // of the file of weights that they were trained for; empty: it does not say
  std::map<std::string, FeatureMaps, std::less<>> sets;
};

}  // namespace kvscope
