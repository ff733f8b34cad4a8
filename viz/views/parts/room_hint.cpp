// SPDX-License-Identifier: Apache-2.0
#include "viz/views/parts/room_hint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kvscope::viz {

void RoomHint::draw(Painter& p, const Rect& strip, const std::string& hidden, float needed) {
  const Theme& t = p.theme();
  p.fill(strip, t.raised);
  p.hline(strip.x0, strip.x1, strip.y0, t.line);
  if (p.frame().alone) {  // an exported picture has no buttons and a fixed height
    p.text_fit({12, strip.middle_y()}, fmt::format("No room for {}", hidden), Face::caption, t.secondary, strip.width() - 24);
    return;
  }
  const std::string_view offer = "Show them instead (Enter)";
  const float y = strip.middle_y(), width = p.width_of(Face::body, offer) + p.px(16);
  button_ = Rect{std::max(strip.x0, strip.x1 - 12 - width), strip.y0 + p.px(3), strip.x1 - 12, strip.y1 - p.px(3)};
  const bool on = under(p.pointer());
  p.frame_rect(*button_, on ? t.accent : t.disabled, 1, p.px(4));
  p.text({button_->middle_x(), y}, offer, Face::body, t.text, Align::centre);
  p.mark("button", std::string(offer), *button_);
  const std::string room = fmt::format("a window {} px higher shows both", static_cast<int>(std::ceil(std::max(1.0f, needed))));
  const std::string words = fmt::format("No room for {}: {}", hidden, room);
  p.text_fit({12, y}, words, Face::caption, t.secondary, button_->x0 - 24);
  p.mark("no room", hidden, strip, words);
}

}  // namespace kvscope::viz
