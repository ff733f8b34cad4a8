// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.h"
#include "core/dtype.h"

namespace kvscope {

/// Keys and values of the full cache after so many tokens, in bytes. A layer with a window holds no more tokens than that.
double full_cache_bytes(const ModelConfig& config, DType precision, int n_tokens);

}  // namespace kvscope
