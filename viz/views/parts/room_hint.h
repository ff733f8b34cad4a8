// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "viz/draw/draw.h"

namespace kvscope::viz {

/// One line at the foot of a canvas that is too low for all its parts: which are hidden, how much room they need, and a button that shows
/// them instead of the others.
class RoomHint {
 public:
  static constexpr float kHeight = 26;  // logical pixels

  void none() { button_.reset(); }
  /// `needed`: logical pixels that the canvas lacks.
  void draw(Painter& p, const Rect& strip, const std::string& hidden, float needed);
  /// The mouse is on the button.
  bool under(const Pointer& mouse) const { return button_ && mouse.inside && button_->contains(mouse.at); }
  bool shown() const { return button_.has_value(); }

 private:
  std::optional<Rect> button_;
};

}  // namespace kvscope::viz
