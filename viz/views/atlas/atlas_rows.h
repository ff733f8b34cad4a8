// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "viz/draw/draw.h"

namespace kvscope::viz {

struct AtlasRow {
  int layer = 0;
  int kv_head = -1;  // -1: the mean over the layer's heads
  float y0 = 0, y1 = 0;
};

/// Where the rows of the atlas stand. Rows of one head while they are at least 3 px high, else one row per layer.
struct AtlasRows {
  std::vector<AtlasRow> rows;  // only those that show
  bool by_layer = false;
  float cell = 0;     // height of a row
  float content = 0;  // height of all rows
};

struct AtlasRowView {
  int only_layer = -1;  // show only this layer's heads, large
  double zoom = 1;      // of the row height; 1: all rows fit
  float scroll = 0;     // pixels above the area
};

/// Fits the rows into `area`. At zoom 1 a cell is 11 px (times scale) with 1 px between heads and 4 between layers where that fits.
AtlasRows layout_rows(int n_layers, int n_kv_heads, const AtlasRowView& view, const Rect& area, float scale);

/// Height that shows every head at its ideal size.
float ideal_rows_height(int n_layers, int n_kv_heads, float scale);
/// In which every head just has a row of its own, px.
float least_rows_height(int n_layers, int n_kv_heads);

}  // namespace kvscope::viz
