// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "viz/canvas.h"

namespace kvscope::viz {

/// FNV-1a over 64-bit words, then mixed.
inline std::uint64_t combine(std::uint64_t seed, std::uint64_t v) {
  seed = (seed ^ v) * 0x100000001B3ull;
  return seed ^ (seed >> 29);
}

/// Texels of one picture, kept from frame to frame and made again only when what they show has changed.
struct AtlasTexels {
  std::string name;  // of the texture
  std::uint64_t version = 0;
  int width = 0, height = 0;
  std::vector<std::uint32_t> rgba;

  /// True: they showed something else, and are empty now. Each side is at least one texel.
  bool begin(std::uint64_t now, int columns, int lines) {
    if (version == now) return false;
    version = now;
    width = std::max(1, columns);
    height = std::max(1, lines);
    rgba.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0);
    return true;
  }
  ImTextureID texture(const Frame& frame) const { return frame.textures->texture(name, version, width, height, rgba); }
};

}  // namespace kvscope::viz
