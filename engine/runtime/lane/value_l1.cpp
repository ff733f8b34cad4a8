// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/value_l1.h"

namespace kvscope {

void append_value_l1(Backend& backend, const ModelConfig& config, std::span<const ValueRows> layers) {
  const auto n_heads = static_cast<std::size_t>(config.n_heads), group = static_cast<std::size_t>(config.group());
  const std::size_t head_bytes = size_of(backend.dtype()) * static_cast<std::size_t>(config.head_dim);
  std::size_t n_rows = 0;
  for (const ValueRows& layer : layers) n_rows += static_cast<std::size_t>(layer.rows);
  Buffer repeated;
  if (group > 1) repeated = backend.allocate(n_rows * n_heads * head_bytes);  // every query head sees the value of its KV head
  auto* to = static_cast<std::byte*>(repeated.data());
  std::vector<WoNormJob> jobs;
  for (const ValueRows& layer : layers) {
    const std::size_t n = static_cast<std::size_t>(layer.rows) * n_heads, before = layer.out->size();
    layer.out->resize(before + n);
    jobs.push_back({.x = group > 1 ? to : layer.v, .wo = layer.wo, .rows = layer.rows, .out = std::span(*layer.out).subspan(before)});
    for (std::size_t i = 0; i < n && group > 1; ++i, to += head_bytes)
      backend.copy(to, static_cast<const std::byte*>(layer.v) + i / group * head_bytes, head_bytes);
  }
  backend.wo_l1(jobs);
}

}  // namespace kvscope
