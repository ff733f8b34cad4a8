// SPDX-License-Identifier: Apache-2.0
#include "core/group_reduce.h"

#include <algorithm>

namespace kvscope {

void reduce_group(const double* a, std::size_t stride, int group, GroupReduce how, std::span<double> abar) {
  const std::size_t n = abar.size();
  std::copy_n(a, n, abar.begin());
  for (int g = 1; g < group; ++g) {
    const double* row = a + stride * static_cast<std::size_t>(g);
    if (how == GroupReduce::max)
      for (std::size_t i = 0; i < n; ++i) abar[i] = std::max(abar[i], row[i]);
    else
      for (std::size_t i = 0; i < n; ++i) abar[i] += row[i];
  }
  if (how == GroupReduce::mean && group > 1)
    for (double& x : abar) x /= group;
}

}  // namespace kvscope
