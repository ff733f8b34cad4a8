// SPDX-License-Identifier: Apache-2.0
#include "cache/value_norms.h"

#include <algorithm>

namespace kvscope {

void complete_value_norms(Backend& backend, const Weight& wo, int head_dim, std::span<HeadCache> heads) {
  constexpr int kRows = 64;  // at a time, to need little memory
  const int n_heads = wo.in / head_dim, group = n_heads / static_cast<int>(heads.size());
  const std::size_t head_bytes = static_cast<std::size_t>(head_dim) * size_of(backend.dtype());
  int missing = 0;
  for (const HeadCache& head : heads) missing = std::max(missing, head.kv.n_slots - static_cast<int>(head.value_norm.size()));
  if (missing <= 0) return;
  // row r of x: for every query head the value that is r-th to come in its KV head; heads that have fewer to come repeat what is there
  Buffer x = backend.allocate(static_cast<std::size_t>(std::min(missing, kRows)) * static_cast<std::size_t>(n_heads) * head_bytes);
  std::vector<double> norms;
  for (int first = 0; first < missing; first += kRows) {
    const int rows = std::min(kRows, missing - first);
    for (int r = 0; r < rows; ++r) {
      for (int g = 0; g < n_heads; ++g) {
        const HeadCache& head = heads[static_cast<std::size_t>(g / group)];
        const int slot = std::clamp(static_cast<int>(head.value_norm.size()) + r, 0, head.kv.n_slots - 1);
        backend.copy(static_cast<std::byte*>(x.data()) +
                         (static_cast<std::size_t>(r) * static_cast<std::size_t>(n_heads) + static_cast<std::size_t>(g)) * head_bytes,
                     static_cast<const std::byte*>(head.kv.v.data()) + static_cast<std::size_t>(head.kv.row(slot)) * head_bytes,
                     head_bytes);
      }
    }
    norms.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(n_heads));
    backend.wo_l1(x.data(), wo, rows, norms);
    for (int r = 0; r < rows; ++r) {
      for (std::size_t h = 0; h < heads.size(); ++h) {
        if (static_cast<int>(heads[h].value_norm.size()) == heads[h].kv.n_slots) continue;
        double sum = 0;
        for (int g = 0; g < group; ++g) sum += norms[static_cast<std::size_t>(r * n_heads + static_cast<int>(h) * group + g)];
        heads[h].value_norm.push_back(sum / group);
      }
    }
  }
}

}  // namespace kvscope
