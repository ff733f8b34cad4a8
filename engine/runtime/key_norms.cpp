// SPDX-License-Identifier: Apache-2.0
#include "runtime/key_norms.h"

#include <cmath>
#include <vector>

namespace kvscope {

void key_norms(Backend& backend, const void* k, int head_dim, std::span<double> out) {
  const std::size_t width = static_cast<std::size_t>(head_dim);
  std::vector<double> rows(out.size() * width);
  backend.to_double(rows, k);
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (std::size_t d = 0; d < width; ++d) sum += rows[i * width + d] * rows[i * width + d];
    out[i] = std::sqrt(sum);
  }
}

}  // namespace kvscope
