// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/vector_math.h"
#include "policy/head_view.h"

namespace kvscope {

Nearest KeyGeometry::largest_product(int from, std::span<const int> to) const {
  std::vector<int> wanted(to.begin(), to.end());
  wanted.push_back(from);
  thread_local std::vector<double> rows;  // kept by its thread: in a step an allocation would cost as much as the work
  keys(wanted, rows);
  const std::size_t width = rows.size() / wanted.size();
  std::vector<double> products(to.size());
  row_products(rows.data(), std::span(rows).last(width), products);
  const auto best = std::ranges::max_element(products);  // the first of equal ones
  return {to[static_cast<std::size_t>(best - products.begin())], *best};
}

}  // namespace kvscope
