// SPDX-License-Identifier: Apache-2.0
#include "cache/page_bounds.h"

#include <algorithm>
#include <numeric>

namespace kvscope {

void complete_page_bounds(Backend& backend, HeadCache& cache, int page, int head_dim) {
  PageBounds& bounds = cache.pages;
  bounds.page = page;
  const auto width = static_cast<std::size_t>(head_dim);
  const int known = static_cast<int>(bounds.least.size() / width), full = cache.kv.n_slots / page;
  if (known >= full) return;
  std::vector<int> slots(static_cast<std::size_t>((full - known) * page));
  std::iota(slots.begin(), slots.end(), known * page);
  std::vector<double> keys(slots.size() * width);
  const KeyRowsJob job{.kv = &cache.kv, .slots = slots, .out = keys};
  backend.key_rows({&job, 1});
  for (std::size_t first = 0; first < keys.size(); first += width * static_cast<std::size_t>(page))
    for (std::size_t c = 0; c < width; ++c) {
      double least = keys[first + c], most = least;
      for (std::size_t row = 1; row < static_cast<std::size_t>(page); ++row) {
        least = std::min(least, keys[first + row * width + c]);
        most = std::max(most, keys[first + row * width + c]);
      }
      bounds.least.push_back(least);
      bounds.most.push_back(most);
    }
}

}  // namespace kvscope
