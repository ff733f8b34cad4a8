// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "viz/views/atlas/atlas_scene.h"

namespace kvscope::viz {

/// Which layers are named, asked from top to bottom: those with room for a line, the selected one always.
class LayerNames {
 public:
  LayerNames(const AtlasScene& s, const Frame& f, float line) : selected_(f.selection.layer), line_(line) {
    if (selected_) selected_y_ = s.rows_of(*selected_, std::nullopt).middle_y();
  }
  bool has_room(int layer, float y) {
    const bool free = y - line_ / 2 >= free_from_ && (y >= selected_y_ || y + line_ <= selected_y_);
    if (selected_ != layer && !free) return false;
    free_from_ = y + line_ / 2;
    return true;
  }

 private:
  std::optional<int> selected_;
  float line_, selected_y_ = -1e9f, free_from_ = -1e9f;
};

// What stands around the cells. cursor: of the keyboard, shown while the canvas has the focus.
void draw_atlas_labels(Painter& p, const AtlasScene& s);
void draw_atlas_selection(Painter& p, const AtlasScene& s, const AtlasCell& cursor);
void draw_atlas_legend(Painter& p, const AtlasScene& s);
/// The same as one thought: layers are named, heads are not, and only what is selected is framed.
void draw_plain_atlas(Painter& p, const AtlasScene& s, const AtlasCell& cursor);

}  // namespace kvscope::viz
