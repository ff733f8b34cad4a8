// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/disagreement.h"

#include <algorithm>
#include <cstdint>

namespace kvscope::viz {

std::vector<double> disagreement(const StepRecord& record) {
  std::vector<double> out;
  std::vector<std::uint32_t> n_holders(static_cast<std::size_t>(std::max(0, record.position + 1)));
  const std::vector<HeadRecord>& heads = record.heads;
  for (std::size_t first = 0, end = 0; first < heads.size(); first = end) {
    while (end < heads.size() && heads[end].layer == heads[first].layer) ++end;
    std::ranges::fill(n_holders, 0U);
    for (std::size_t h = first; h < end; ++h)
      for (const int pos : heads[h].pos) ++n_holders[static_cast<std::size_t>(pos)];
    const std::size_t n_heads = end - first;
    for (std::size_t h = first; h < end; ++h) {
      double without = 0;
      for (const int pos : heads[h].pos) without += static_cast<double>(n_heads - n_holders[static_cast<std::size_t>(pos)]);
      const double asked = static_cast<double>(heads[h].pos.size()) * static_cast<double>(n_heads - 1);
      out.push_back(asked > 0 ? without / asked : kNotAvailable);
    }
  }
  return out;
}

}  // namespace kvscope::viz
