// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/memory.h"

#include <fmt/core.h>

#include <cstdlib>

#include "core/error.h"

namespace kvscope::cpu {

Buffer allocate_aligned(std::size_t bytes) {
  const std::size_t rounded = (bytes / kAlignment + 1) * kAlignment;
  void* p = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (p == nullptr) throw Error(fmt::format("cpu memory: expected {} free bytes, got none; use a smaller model, context or batch", bytes));
  return Buffer(p, bytes, [](void* q) { std::free(q); });
}

}  // namespace kvscope::cpu
