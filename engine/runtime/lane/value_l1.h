// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"

namespace kvscope {

/// Values of one layer.
struct ValueRows {
  const Weight* wo = nullptr;  // [dim, n_heads * head_dim]
  const void* v = nullptr;     // [rows, n_kv_heads, head_dim] in backend memory
  int rows = 0;
  std::vector<double>* out = nullptr;  // [.., n_heads]
};

/// Appends ||v W_O^(g)||_1 of every row and query head to `out` of its layer (CriticalKV, Theorem 3.3).
void append_value_l1(Backend& backend, const ModelConfig& config, std::span<const ValueRows> layers);

}  // namespace kvscope
