// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/draw/ramp_texels.h"
#include "viz/reduce/represented.h"
#include "viz/reduce/rows.h"
#include "viz/views/atlas/atlas_scene.h"
#include "viz/views/atlas/atlas_texels.h"

namespace kvscope::viz {

/// The cells of the atlas as texels: categories while a token has 3 px, else the share of represented tokens, or scores. They are never
/// mixed in one picture.
class AtlasMap {
 public:
  /// represented: after the step of the scene.
  void draw(Painter& p, const AtlasScene& s, const Represented& represented);

 private:
  void fill_categories(const Frame& frame, const AtlasScene& s);
  void fill_fractions(const Frame& frame, const AtlasScene& s, const Represented& represented);
  void fill_scores(const Frame& frame, const AtlasScene& s);

  AtlasTexels cells_{"atlas.cells"};
  RepresentedRows counts_;  // of what shows
  RampTexelsCache ramps_;
};

}  // namespace kvscope::viz
