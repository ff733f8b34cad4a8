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

 private:
  CaptureOffer capture_;
  std::string left_out_;  // titles of the columns that found no room
  Rect left_out_at_;      // where that is said
};

}  // namespace kvscope::viz
