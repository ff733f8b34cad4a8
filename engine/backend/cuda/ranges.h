// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace kvscope::cuda {

inline std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// A union of address ranges.
class Ranges {
 public:
  void add(const void* p, std::size_t bytes);
  bool overlaps(const void* p, std::size_t bytes) const;
  void clear() { ends_.clear(); }

 private:
  std::map<std::uintptr_t, std::uintptr_t> ends_;  // by their begin, disjoint
};

}  // namespace kvscope::cuda
