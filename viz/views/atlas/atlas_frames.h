// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/views/atlas/atlas_scene.h"

namespace kvscope::viz {

// What stands around the cells. cursor: of the keyboard, shown while the canvas has the focus.
void draw_atlas_labels(Painter& p, const AtlasScene& s);
void draw_atlas_selection(Painter& p, const AtlasScene& s, const AtlasCell& cursor);
void draw_atlas_legend(Painter& p, const AtlasScene& s);
/// The same as one thought: layers are named, heads are not, and only what is selected is framed.
void draw_plain_atlas(Painter& p, const AtlasScene& s, const AtlasCell& cursor);

}  // namespace kvscope::viz
