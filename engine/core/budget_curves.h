// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace kvscope {

/// Which share of its slots every KV head of a model gives up when 1, 2, ... 99 % of all are to go, from a file
/// (io/trained/budget_curves_file.h).
struct BudgetCurves {
  static constexpr int kShares = 99;
  std::string path;  // for messages
  int n_layers = 0, n_kv_heads = 0;
  std::vector<double> numbers;  // [kShares, n_layers, n_kv_heads], 0 to 1
  /// Of the heads of a layer, for this many per cent.
  std::span<const double> removed(int percent, int layer) const {
    const auto heads = static_cast<std::size_t>(n_kv_heads);
    return std::span(numbers).subspan(static_cast<std::size_t>((percent - 1) * n_layers + layer) * heads, heads);
  }
};

}  // namespace kvscope
