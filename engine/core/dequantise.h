// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/dtype.h"

namespace kvscope {

/// The n numbers, whole blocks, of a quantised type as float32, each product and difference rounded once: bit for bit what the reference
/// (gguf-py's quants.py) makes of them. `blocks` need not be aligned. Layouts: ggml-common.h of ggml.
void dequantise(DType type, const void* blocks, std::size_t n, float* out);

/// The values of IQ4_NL's sixteen codes, in units of the block's scale.
inline constexpr signed char kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace kvscope
