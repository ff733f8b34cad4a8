// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "cache/head_cache.h"

namespace kvscope {

/// Completes value_norm of all heads of one layer: mean over the query heads g of a KV head of ||v_i W_O^(g)||_1, only of the slots that
/// have none yet. wo [dim, n_heads * head_dim].
void complete_value_norms(Backend& backend, const Weight& wo, int head_dim, std::span<HeadCache> heads);

}  // namespace kvscope
