// SPDX-License-Identifier: Apache-2.0
#include "policy/query_centers.h"

#include <cmath>

namespace kvscope {

QueryCenters query_centers(const PromptQueries& asked, std::size_t n, std::size_t group) {
  const std::vector<double> one_position = asked.rotations(1, 1), rows = asked.rows(/*rotated=*/false);
  const std::size_t half = one_position.size() / 2, width = rows.size() / (n * group);
  QueryCenters out{.mean = std::vector<double>(group * width, 0.0), .length = std::vector<double>(group * half, 0.0), .turn = {}};
  for (std::size_t f = 0; f < half; ++f) out.turn.push_back(std::atan2(one_position[f + half], one_position[f]));
  for (std::size_t r = 0; r < n * group; ++r) {
    const double* query = &rows[r * width];
    double *mean = &out.mean[r % group * width], *length = &out.length[r % group * half];
    for (std::size_t i = 0; i < width; ++i) mean[i] += query[i] / static_cast<double>(n);
    for (std::size_t f = 0; f < half; ++f) length[f] += std::hypot(query[f], query[f + half]) / static_cast<double>(n);
  }
  return out;
}

}  // namespace kvscope
