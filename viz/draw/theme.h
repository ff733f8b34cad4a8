// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "snapshot/fates.h"

namespace kvscope::viz {

/// 0xRRGGBB.
struct Rgb {
  std::uint32_t value = 0;
  constexpr int r() const { return (value >> 16) & 255; }
  constexpr int g() const { return (value >> 8) & 255; }
  constexpr int b() const { return value & 255; }
};

/// Every colour of the window, Qt and canvases alike (viz/README.md section 4).
struct Theme {
  bool dark = true;
  Rgb window, panel, raised, line, text, secondary, disabled, accent;
  Rgb on_accent;                          // text on a filled accent button
  Rgb changed;                            // the output changed
  std::array<Rgb, kCategories> category;  // by Category; unseen: panel
  Rgb evicted_outline;
  std::span<const Rgb> sequential;  // scores, kept fraction; low to high
  std::span<const Rgb> damage;      // perturbation; low to high
  std::span<const Rgb> diverging;   // negative to positive
  std::array<Rgb, 6> runs;          // lines and markers of lanes
  double text_tint = 0.36;          // opacity of category fills behind text
};

const Theme& dark_theme();
const Theme& light_theme();

/// Colour at t in [0, 1] of a ramp, interpolated in sRGB; NaN gives the first colour.
Rgb ramp(std::span<const Rgb> colours, double t);

}  // namespace kvscope::viz
