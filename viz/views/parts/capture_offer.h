// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viz/draw/draw.h"

namespace kvscope::viz {

/// "capture now (412 ms)": what it would take is what the last answer took.
std::string capture_words(const Snapshot& s);

/// The same of what makes every run compress anew, at least: "measure now (2.7 min)".
std::string measure_words(const Snapshot& s);
/// What that takes at least: the policy work of all runs over the prompt, ms.
double recompute_ms(const Snapshot& s);

/// "not captured – capture now (412 ms)": stands where a figure needs the uncompressed history, which was not kept, or a measure that
/// takes too long to be asked for by merely looking. A click asks for it.
class CaptureOffer {
 public:
  explicit CaptureOffer(WantMeasure::What offers = WantMeasure::What::history) : offers_(offers) {}
  void none() { rect_.reset(); }
  /// On the line of `at`, at most `room` wide; `what` is missing, said before the offer. Returns where it ends.
  float draw(Painter& p, ImVec2 at, std::string_view what, float room);
  /// The same on a plate of its own, over what a chart shows.
  void draw_plate(Painter& p, ImVec2 top_left, std::string_view what, float room);
  float plate_width(Painter& p, std::string_view what, float room) const;
  bool offered() const { return rect_.has_value(); }
  /// True: the pointer is on it, and nothing under it is meant.
  bool react(const Pointer& pointer, std::vector<Intent>& intents) const;
  void ask(std::vector<Intent>& intents) const;

 private:
  static constexpr float kPlatePad = 6;  // logical pixels

  std::string missing(std::string_view what) const;
  std::string offer(const Snapshot& s) const;

  WantMeasure::What offers_;
  std::optional<Rect> rect_;
};

}  // namespace kvscope::viz
