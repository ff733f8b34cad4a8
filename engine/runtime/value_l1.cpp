// SPDX-License-Identifier: Apache-2.0
#include "runtime/value_l1.h"

namespace kvscope {

void append_value_l1(Backend& backend, const Weight& wo, const void* v, int rows, const ModelConfig& config, std::vector<double>& out) {
  const auto n_heads = static_cast<std::size_t>(config.n_heads), group = static_cast<std::size_t>(config.group());
  const std::size_t head_bytes = size_of(backend.dtype()) * static_cast<std::size_t>(config.head_dim),
                    n_rows = static_cast<std::size_t>(rows);
  Buffer repeated;
  if (group > 1) {  // every query head sees the value of its KV head
    repeated = backend.allocate(n_rows * n_heads * head_bytes);
    for (std::size_t i = 0; i < n_rows * n_heads; ++i) {
      backend.copy(static_cast<std::byte*>(repeated.data()) + i * head_bytes, static_cast<const std::byte*>(v) + i / group * head_bytes,
                   head_bytes);
    }
    v = repeated.data();
  }
  const std::size_t before = out.size();
  out.resize(before + n_rows * n_heads);
  backend.wo_l1(v, wo, rows, std::span(out).subspan(before));
}

}  // namespace kvscope
