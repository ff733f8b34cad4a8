// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "viz/views/atlas/atlas_scene.h"

namespace kvscope::viz {

/// The cell of the keyboard: what is selected, until keys or a click move it; and again once something else is selected.
class AtlasCursor {
 public:
  AtlasCell of(const Frame& frame) const;
  /// `selected`: what is, or is about to be.
  void set(const AtlasCell& cell, const Selection& selected);
  /// Keys or a click have moved it.
  bool taken(const Selection& selected) const;
  /// It stands on a token that the step shown has not read yet: what is drawn is the last one read.
  bool ahead(const Frame& frame) const;
  /// Arrows, pages of so many tokens, Home and End. False: another key.
  bool move(const Frame& frame, std::string_view key, int page);

 private:
  std::optional<AtlasCell> cell_;
  Selection selected_;  // while it was moved
};

}  // namespace kvscope::viz
