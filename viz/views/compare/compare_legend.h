// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/views/compare/compare_scene.h"
#include "viz/views/inspector/inspector_bars.h"
#include "viz/views/parts/capture_offer.h"

namespace kvscope::viz {

/// The line below the runs: what colours and rows stand for, what is not captured, which columns found no room.
class CompareLegend {
 public:
  void draw(Painter& p, const Rect& legend, const CompareScene& s);
  /// True: the pointer is on something of it.
  bool react(const Pointer& mouse, HoverPublisher& hover, std::vector<Intent>& intents) const;
  /// A click there asks for the difference of two runs, for which there is no room beside all.
  bool offers_pair(const Pointer& mouse) const { return pair_offered_ && mouse.inside && left_out_at_.contains(mouse.at); }

 private:
  CaptureOffer capture_;
  std::string left_out_;  // titles of the columns that found no room
  Rect left_out_at_;      // where that is said
  bool pair_offered_ = false;
};

}  // namespace kvscope::viz
