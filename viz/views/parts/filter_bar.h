// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "viz/draw/draw.h"
#include "viz/reduce/filter.h"

namespace kvscope::viz {

/// Sliders for the thresholds of a head's tokens, with the count of what they hide.
class FilterBar {
 public:
  static constexpr float kHeight = 26;

  /// Moves the thresholds as the mouse says. `all`: the tokens before filtering; `area` is where draw() will be called with.
  void react(const Painter& p, const Rect& area, const HeadColumns& all);
  /// Sliders, counts and, at the right, `summary`.
  void draw(Painter& p, const Rect& area, const HeadColumns& all, const HiddenCount& hidden, const std::string& summary) const;

  const TokenFilter& filter() const { return filter_; }
  /// "score ≥ any, votes ≥ 2, age ≤ any"
  std::string words() const;
  void set(const TokenFilter& filter) { filter_ = filter; }
  /// S, V and A hide a tenth of the range more by score, votes or age, with Shift less. False: another key.
  bool key(std::string_view key, const HeadColumns& all);
  /// The mouse holds a slider.
  bool busy() const { return held_ >= 0; }

 private:
  static constexpr int kSliders = 3;  // score, votes, age
  static Rect track(const Painter& p, const Rect& area, int slider);
  double unit(const HeadColumns& all, int slider) const;  // where the handle stands, 0..1
  void set_unit(const HeadColumns& all, int slider, double unit);
  std::string value_text(int slider) const;

  TokenFilter filter_;
  int held_ = -1;
};

}  // namespace kvscope::viz
