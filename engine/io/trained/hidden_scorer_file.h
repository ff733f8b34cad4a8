// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/hidden_scorer.h"

namespace kvscope {

/// Reads what scores hidden states from a safetensors file (F64, F32, F16 or BF16): KVzap's networks as they are published, with the
/// tensors layers.L.weight and layers.L.bias, or those of layers.L.0 and layers.L.2; or the gates of Fast KVzip, with the tensors of gate L
/// behind "L.", as its authors name them. Throws Error (file, tensor, expected, got): neither of the two, a tensor that is missing, too
/// much or of another shape than those of the first layer, a number that is not finite.
HiddenScorer read_hidden_scorer(const std::string& path);

}  // namespace kvscope
