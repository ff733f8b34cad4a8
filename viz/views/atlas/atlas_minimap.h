// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/reduce/represented.h"
#include "viz/views/atlas/atlas_scene.h"
#include "viz/views/atlas/atlas_texels.h"

namespace kvscope::viz {

/// All tokens in one row below the atlas: how many heads represent each, and the window that the atlas shows of them.
class AtlasMinimap {
 public:
  /// zoomed: the window is not all tokens.
  void draw(Painter& p, const AtlasScene& s, const Represented& represented, bool zoomed);
  /// Drags the window, or frames a new one. True: it is another one.
  bool react(const Pointer& m, const AtlasScene& s, TokenWindow& window);

 private:
  void fill(const Frame& frame, const AtlasScene& s, const Represented& represented);
  bool drag(const Pointer& m, const AtlasScene& s, TokenWindow& window);

  AtlasTexels heads_{"atlas.heads"};
  bool held_ = false;
  double grabbed_ = 0;    // tokens between the start of the window and the mouse that drags it
  bool framing_ = false;  // the mouse draws a new window
};

}  // namespace kvscope::viz
