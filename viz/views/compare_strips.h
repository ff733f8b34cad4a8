// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "viz/draw.h"
#include "viz/reduce_compare.h"

namespace kvscope::viz {

/// How the rows of one run are drawn: one per head, or one per layer with the share of heads that keep a token.
struct StripScale {
  bool by_layer = false;
  float px = 3;   // height of a row
  float gap = 3;  // between layers

  int rows_per_layer(int n_kv_heads) const { return by_layer ? 1 : n_kv_heads; }
  float layer_height(int n_kv_heads) const { return px * static_cast<float>(rows_per_layer(n_kv_heads)); }
  float height(int n_layers, int n_kv_heads) const {
    return static_cast<float>(n_layers) * layer_height(n_kv_heads) + static_cast<float>(n_layers - 1) * gap;
  }
};

/// Scales to try, finest first. Heads only where a token has at least a pixel: their categories must not be averaged.
std::vector<StripScale> strip_scales(float token_px);

/// Texels of strips, kept from frame to frame and made again only when what they show has changed.
class StripTextures {
 public:
  struct Texture {
    ImTextureID id = nullptr;
    int columns = 0;
    int tokens = 0;  // that the columns cover
  };
  /// Rows of one lane after `step`: categories per token, or the kept fraction of `columns` bins per layer.
  Texture lane(const Frame& frame, int lane, int step, bool by_layer, int columns);
  /// Four states per head and token, or (by_layer) the balance of each layer's heads in `columns` bins on the diverging ramp.
  Texture difference(const Frame& frame, const LaneDifference& cells, const std::string& state, bool by_layer, int columns);

 private:
  struct Entry {
    std::string state;
    std::uint64_t version = 0;
    Texture texture;
    int height = 0;
    std::vector<std::uint32_t> pixels;
  };
  using Fill = std::function<void(Entry&)>;
  Texture get(const Frame& frame, const std::string& key, const std::string& state, const Fill& fill);

  std::map<std::string, Entry> entries_;
  std::uint64_t versions_ = 0;
};

/// Draws a texture with one band per layer; `area` starts at token 0 of the axis.
void draw_layers(Painter& p, const StripTextures::Texture& texture, const Rect& area, const TokenAxis& axis, const StripScale& scale,
                 int n_layers, int n_kv_heads);

/// Head (layer-major) whose row is at y of a strip, -1: none. By layer: the layer's first head.
int head_at(float y, const Rect& strip, const StripScale& scale, int n_layers, int n_kv_heads);

Rgb difference_fill(const Theme& theme, Difference d);

/// Identity of what a lane shows after a step, for caches.
std::string lane_state(const Frame& frame, int lane, int step);

}  // namespace kvscope::viz
