// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/views/atlas/atlas_scene.h"
#include "viz/views/atlas/atlas_texels.h"

namespace kvscope::viz {

/// What will have left some steps later, hatched over the cells that are still there.
class AtlasGhosts {
 public:
  void draw(Painter& p, const AtlasScene& s);

 private:
  AtlasTexels stripes_{"atlas.ghosts"};
};

/// Their entry of the legend, from x on; returns the x after it.
float draw_ghost_legend(Painter& p, const AtlasScene& s, float x, float y);

}  // namespace kvscope::viz
