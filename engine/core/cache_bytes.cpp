// SPDX-License-Identifier: Apache-2.0
#include "core/cache_bytes.h"

#include <algorithm>

namespace kvscope {

double full_cache_bytes(const ModelConfig& c, DType precision, int n_tokens) {
  double tokens = 0;
  for (int l = 0; l < c.n_layers; ++l) tokens += c.window(l) > 0 ? std::min(c.window(l), n_tokens) : n_tokens;
  return 2 * tokens * c.kv_dim() * static_cast<double>(size_of(precision));
}

}  // namespace kvscope
