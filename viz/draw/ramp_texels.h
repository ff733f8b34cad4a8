// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "viz/draw/theme.h"

namespace kvscope::viz {

/// Texels of the shares 0/n, 1/n, ... n/n on a ramp: counts are whole numbers, so a picture of many texels has few colours.
class RampTexels {
 public:
  RampTexels() = default;
  /// `colours` must outlive this, as those of the themes do.
  RampTexels(std::span<const Rgb> colours, std::size_t n);
  /// Of the share i / n, 0 <= i <= n; 0 of n = 0 is the low end.
  std::uint32_t operator[](std::size_t i) const { return texels_.empty() ? texel(i) : texels_[i]; }

 private:
  static constexpr std::size_t kMost = 1 << 14;  // more are computed each time
  std::uint32_t texel(std::size_t i) const;

  std::span<const Rgb> colours_;
  std::size_t n_ = 0;
  std::vector<std::uint32_t> texels_;
};

/// The ones used last, by ramp and n.
class RampTexelsCache {
 public:
  const RampTexels& of(std::span<const Rgb> colours, std::size_t n);

 private:
  static constexpr std::size_t kMost = 8;
  std::map<std::pair<const Rgb*, std::size_t>, RampTexels> known_;
};

}  // namespace kvscope::viz
