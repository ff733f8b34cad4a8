// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/slot.h"

namespace kvscope::viz {

/// The numbered reasons with the numbers put into the equation, and the cost of the step's compression at the bottom; without reasons, why
/// the slot stays. Reasons that have no room are scrolled to, by wheel or Page Up and Page Down.
class WhyCard {
 public:
  /// What draw() needs to have nothing to scroll.
  static float height(Painter& p, float width, const HeadPick& pick, const Why& why, const SlotFacts& slot);
  void draw(Painter& p, const Rect& area, const HeadPick& pick, const Why& why, const SlotFacts& slot);
  /// Nothing of it is in this frame.
  void none() { body_ = cost_ = {}; }
  /// Lines about what is under the mouse; empty: nothing that needs them.
  const std::vector<std::string>& help(const Pointer& mouse) const;
  /// Whether the mouse turned the wheel over the reasons and there was more to see.
  bool react(const Pointer& mouse);
  /// "PageUp", "PageDown"; false: not used, or nothing is hidden.
  bool key(std::string_view key);

 private:
  void scroll(float by);

  Rect body_;  // where the reasons are
  Rect cost_;  // and the cost
  std::vector<std::string> cost_words_;
  float hidden_ = 0;                          // height of the reasons that has no room
  float offset_ = 0;                          // of it above the body
  std::array<int, 4> of_ = {-1, -1, -1, -1};  // run, head, step and token of the removal that it was scrolled for
};

/// The same for who cannot see it: headline, reasons and cost.
std::string why_words(const Snapshot& snapshot, const HeadPick& pick, const Why& why, const SlotFacts& slot);

}  // namespace kvscope::viz
