// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace kvscope {

/// Whole number from -127 to 127 for place i of a synthetic weight; looks random. Times 2^-12 it is a number of every format, exactly.
KVSCOPE_HOST_DEVICE inline int synthetic_number(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ seed;  // the finish of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<int>((x ^ (x >> 31)) % 255) - 127;
}

inline constexpr float kSyntheticUnit = 0x1p-12f;

}  // namespace kvscope
