// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "viz/views/atlas/atlas_scene.h"

namespace kvscope::viz {

/// The cell of the keyboard: what is selected, until keys or a click move it.
class AtlasCursor {
 public:
  AtlasCell of(const Frame& frame) const;
  void set(const AtlasCell& cell) { cell_ = cell; }
  /// Keys or a click have moved it.
  bool taken() const { return cell_.has_value(); }
  /// Arrows, pages of so many tokens, Home and End. False: another key.
  bool move(const Frame& frame, std::string_view key, int page);

 private:
  std::optional<AtlasCell> cell_;
};

}  // namespace kvscope::viz
