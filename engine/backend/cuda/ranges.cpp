// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/ranges.h"

#include <algorithm>
#include <iterator>

namespace kvscope::cuda {

void Ranges::add(const void* p, std::size_t bytes) {
  if (bytes == 0) return;
  std::uintptr_t begin = address(p), end = begin + bytes;
  auto next = ends_.upper_bound(begin);
  if (next != ends_.begin() && std::prev(next)->second >= begin) --next;
  while (next != ends_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace_hint(next, begin, end);
}

bool Ranges::overlaps(const void* p, std::size_t bytes) const {
  const auto next = ends_.lower_bound(address(p) + bytes);  // the first that begins behind it
  return bytes != 0 && next != ends_.begin() && std::prev(next)->second > address(p);
}

}  // namespace kvscope::cuda
