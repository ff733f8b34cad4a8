// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/backend.h"

namespace kvscope {

/// Appends ||v W_O^(g)||_1 of every row and query head to `out` [.., n_heads] (CriticalKV, Theorem 3.3): v [rows, n_kv_heads, head_dim] in
/// backend memory, wo [dim, n_heads * head_dim].
void append_value_l1(Backend& backend, const Weight& wo, const void* v, int rows, const ModelConfig& config, std::vector<double>& out);

}  // namespace kvscope
