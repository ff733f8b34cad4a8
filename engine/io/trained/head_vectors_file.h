// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/head_vectors.h"

namespace kvscope {

/// Reads the tensor `q_filters` [n_layers, n_kv_heads, head_dim] (F32, F16 or BF16) of a safetensors file, as the authors of Q-Filters
/// publish it. Throws Error (file, expected, got): not a safetensors file, no such tensor, another shape or type, a number that is not
/// finite.
HeadVectors read_head_vectors(const std::string& path);

}  // namespace kvscope
