// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/feature_maps.h"

namespace kvscope {

/// Reads the maps of a safetensors file (F32, F16, BF16): for every set NAME the tensors NAME.query_1 [layers, KV heads, head_dim, hidden],
/// NAME.query_2 [layers, KV heads, hidden, features], NAME.key_1 and NAME.key_2 alike and NAME.key_3 [layers, KV heads, features,
/// features]; and, where the file says it, weights_sha256 (U8 [32]). Throws Error (file, expected, got): not a safetensors file, other
/// tensors or none, shapes that do not fit together, a number that is not finite.
FeatureMapsFile read_feature_maps(const std::string& path);

}  // namespace kvscope
