// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace kvscope {

/// How much two sequences have in common at their beginning, and besides that at their end.
template <class Sequence>
std::pair<std::size_t, std::size_t> common_ends(const Sequence& a, const Sequence& b) {
  const auto n_a = static_cast<std::size_t>(a.size()), n_b = static_cast<std::size_t>(b.size());
  const auto front = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const std::size_t most = std::min(n_a, n_b) - front;
  std::size_t back = 0;
  while (back < most && a.end()[-1 - static_cast<std::ptrdiff_t>(back)] == b.end()[-1 - static_cast<std::ptrdiff_t>(back)]) ++back;
  return {front, back};
}

}  // namespace kvscope
