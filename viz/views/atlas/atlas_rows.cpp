// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_rows.h"

#include <algorithm>
#include <cmath>

namespace kvscope::viz {
namespace {

struct Pitch {
  float cell, gap, layer_gap;
  float height(int n_layers, int n_kv_heads) const {
    return static_cast<float>(n_layers * n_kv_heads) * (cell + gap) - gap + static_cast<float>(n_layers - 1) * layer_gap;
  }
};

constexpr float kLargestCell = 40;  // px at 100 %: large screens are filled, too
constexpr float kLeastCell = 3;     // px: less is no row

Pitch pitch_of(float cell) { return {cell, cell >= 6 ? 1.0f : 0.0f, cell >= 9 ? 4.0f : cell >= 6 ? 3.0f : 2.0f}; }

// Largest cell that fits, in whole pixels; less than the least: none does.
float fitting_cell(int n_layers, int n_kv_heads, float height, float largest) {
  for (float cell = std::floor(largest); cell >= kLeastCell; --cell) {
    if (pitch_of(cell).height(n_layers, n_kv_heads) <= height) return cell;
  }
  return height / static_cast<float>(n_layers * n_kv_heads);
}

}  // namespace

float ideal_rows_height(int n_layers, int n_kv_heads, float scale) {
  return pitch_of(std::floor(11 * scale)).height(std::max(1, n_layers), std::max(1, n_kv_heads));
}

float least_rows_height(int n_layers, int n_kv_heads) {
  return pitch_of(kLeastCell).height(std::max(1, n_layers), std::max(1, n_kv_heads));
}

AtlasRows layout_rows(int n_layers, int n_kv_heads, const AtlasRowView& view, const Rect& area, float scale) {
  AtlasRows result;
  if (n_layers < 1 || n_kv_heads < 1 || area.height() < 1) return result;
  const bool single = view.only_layer >= 0 && view.only_layer < n_layers;
  const int first_layer = single ? view.only_layer : 0, shown = single ? 1 : n_layers;
  const float fit = fitting_cell(shown, n_kv_heads, area.height(), kLargestCell * scale);
  const float wanted = static_cast<float>(fit * std::max(1.0, view.zoom));
  result.by_layer = wanted < kLeastCell;
  const Pitch pitch = pitch_of(std::floor(wanted));
  const float layer_pitch = wanted * static_cast<float>(n_kv_heads);  // by layer
  result.cell = result.by_layer ? std::max(1.0f, layer_pitch - (layer_pitch >= 4 ? 1.0f : 0.0f)) : pitch.cell;
  result.content = result.by_layer ? layer_pitch * static_cast<float>(shown) : pitch.height(shown, n_kv_heads);
  const float scroll = std::clamp(view.scroll, 0.0f, std::max(0.0f, result.content - area.height()));
  const float top = area.y0 - std::round(scroll);
  for (int l = 0; l < shown; ++l) {
    if (result.by_layer) {
      const float y = top + std::round(static_cast<float>(l) * layer_pitch);
      const float end = top + std::round(static_cast<float>(l + 1) * layer_pitch) - (layer_pitch >= 4 ? 1.0f : 0.0f);
      if (end > area.y0 && y < area.y1) result.rows.push_back({first_layer + l, -1, y, end});
      continue;
    }
    for (int h = 0; h < n_kv_heads; ++h) {
      const float y = top + static_cast<float>(l * n_kv_heads + h) * (pitch.cell + pitch.gap) + static_cast<float>(l) * pitch.layer_gap;
      if (y + pitch.cell > area.y0 && y < area.y1) result.rows.push_back({first_layer + l, h, y, y + pitch.cell});
    }
  }
  return result;
}

}  // namespace kvscope::viz
