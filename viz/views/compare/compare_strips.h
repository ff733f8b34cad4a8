// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/draw/ramp_texels.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/difference.h"
#include "viz/reduce/rows.h"

namespace kvscope::viz {

/// How the rows of one run are drawn: one per head, one per layer with the share of heads that keep a token, or one for all of them.
struct StripScale {
  enum class Rows : std::uint8_t { heads, layers, all };
  Rows rows = Rows::heads;
  float px = 3;   // height of a row
  float gap = 3;  // between layers

  bool shares() const { return rows != Rows::heads; }  // texels are fractions
  int n_bands(int n_layers) const { return rows == Rows::all ? 1 : n_layers; }
  float band_height(int n_kv_heads) const { return px * static_cast<float>(shares() ? 1 : n_kv_heads); }
  float height(int n_layers, int n_kv_heads) const {
    const int n = n_bands(n_layers);
    return static_cast<float>(n) * band_height(n_kv_heads) + static_cast<float>(n - 1) * gap;
  }
};

/// Scales to try, finest first. Heads only where a token has at least a pixel: their categories must not be averaged.
std::vector<StripScale> strip_scales(float token_px);

/// The tokens that a texture shows, in texels of `bin` tokens.
struct StripWindow {
  int first = 0, last = -1;  // tokens, both included
  int bin = 1;

  int columns() const { return last < first ? 0 : last / bin - first / bin + 1; }
};
/// What shows on an axis of the tokens before `seen`; `shares`: of rows that are not single heads.
StripWindow strip_window(const TokenAxis& axis, int seen, bool shares);

/// Texels of strips, kept from frame to frame and made again only when what they show has changed.
class StripTextures {
 public:
  struct Texture {
    ImTextureID id = nullptr;
    int columns = 0;
    int first = 0;  // token of the first column
    int bin = 1;    // tokens per column
  };
  /// Rows of one lane after `step`: categories per token and head, or (shares) the represented share of each band.
  Texture lane(const Frame& frame, int lane, int step, const Represented& shown, StripScale::Rows rows, const StripWindow& window);
  /// Four states per head and token, or (shares) the balance of each band's heads on the diverging ramp. `state` names what `cells` shows.
  Texture difference(const Frame& frame, const std::string& key, const LaneDifference& cells, const std::string& state,
                     StripScale::Rows rows, const StripWindow& window);

 private:
  struct Entry {
    std::string state;
    std::uint64_t version = 0;
    Texture texture;
    int height = 0;
    std::vector<std::uint32_t> pixels;
  };
  using Fill = std::function<void(Entry&)>;
  /// [bands, columns] token-heads: strip and difference ask for the same ones.
  std::span<const std::uint32_t> sums_of(const Represented& shown, int bands, const StripWindow& window);
  Texture get(const Frame& frame, const std::string& key, const std::string& state, const Fill& fill);

  std::map<std::string, Entry> entries_;
  struct Sums {
    RepresentedRows whole;  // in fine bins: what a wheel or a drag shows is made of them
    std::vector<std::uint32_t> shown;
  };
  std::map<const Represented*, Sums> sums_;
  RampTexelsCache ramps_;
  std::uint64_t versions_ = 0;
};

/// Draws a texture band by band; `area` is the strip on the axis.
void draw_bands(Painter& p, const StripTextures::Texture& texture, const Rect& area, const TokenAxis& axis, const StripScale& scale,
                int n_layers, int n_kv_heads);

/// Head (layer-major) whose row is at y of a strip, -1: none. Of a layer: its first head; of all: -1.
int head_at(float y, const Rect& strip, const StripScale& scale, int n_layers, int n_kv_heads);

Rgb difference_fill(const Theme& theme, Difference d);

/// Identity of what a lane shows after a step, for caches.
std::string lane_state(const Frame& frame, int lane, int step);

}  // namespace kvscope::viz
