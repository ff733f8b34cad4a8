// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/ramp_texels.h"

#include "viz/draw/draw.h"

namespace kvscope::viz {

RampTexels::RampTexels(std::span<const Rgb> colours, std::size_t n) : colours_(colours), n_(n) {
  if (n > kMost) return;
  texels_.resize(n + 1);
  for (std::size_t i = 0; i <= n; ++i) texels_[i] = texel(i);
}

std::uint32_t RampTexels::texel(std::size_t i) const {
  return colour(ramp(colours_, n_ > 0 ? static_cast<double>(i) / static_cast<double>(n_) : 0));
}

const RampTexels& RampTexelsCache::of(std::span<const Rgb> colours, std::size_t n) {
  const std::pair key(colours.data(), n);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  if (known_.size() >= kMost) known_.clear();
  return known_.emplace(key, RampTexels(colours, n)).first->second;
}

}  // namespace kvscope::viz
