// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/views/atlas/atlas_scene.h"

namespace kvscope::viz {

inline constexpr float kAtlasTick = 3;  // width of the marks of what is rare

// What stands over the cells.
void draw_atlas_glyphs(Painter& p, const AtlasScene& s);  // of categories, or the tokens' text, where cells have room
void draw_atlas_ends(Painter& p, const AtlasScene& s);    // of the prompt, and of what the step has seen
/// What is rare never vanishes in a bin: ticks above the columns of the sinks, of the newest token and of what left in this very step, the
/// last taller the more heads removed something there.
void draw_atlas_rare(Painter& p, const AtlasScene& s);
/// Pins are outlines, never fills: one around each run of neighbours, so that it does not hide the fates it holds, and only where the head
/// has the slot that it was told to keep. Where cells are too small they are ticks above the columns, as everything else that is rare.
void draw_atlas_pins(Painter& p, const AtlasScene& s);

}  // namespace kvscope::viz
