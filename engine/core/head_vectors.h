// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace kvscope {

/// A vector for every KV head of a model, from a file (io/trained/head_vectors_file.h).
struct HeadVectors {
  std::string path;  // for messages
  int n_layers = 0, n_kv_heads = 0, width = 0;
  std::vector<double> numbers;  // [n_layers, n_kv_heads, width]
  std::span<const double> of(int layer, int kv_head) const {
    const auto w = static_cast<std::size_t>(width);
    return std::span(numbers).subspan(static_cast<std::size_t>(layer * n_kv_heads + kv_head) * w, w);
  }
};

}  // namespace kvscope
