// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/slot_buttons.h"

#include <cmath>

#include <fmt/format.h>

namespace kvscope::viz {

namespace {

using What = EditTokens::What;

const char* label(What what) {
  switch (what) {
    case What::pin:
      return "Pin";
    case What::evict:
      return "Evict";
    case What::merge:
      return "Merge…";
    case What::restore:
      return "Restore";
  }
  return "";
}

}  // namespace

std::string SlotButtons::help(What what, std::string_view scope) {
  switch (what) {
    case What::pin:
      return fmt::format("Keep the slot whatever its score, {}, in a run beside this one (P)", scope);
    case What::evict:
      return fmt::format("Evict the slot, {}, in a run beside this one (E)", scope);
    case What::merge:
      return fmt::format("Merge the slot into the one that is clicked next, {}, in a run beside this one (M)", scope);
    case What::restore:
      return fmt::format("Give the token its slot back, {}, in a run beside this one (R)", scope);
  }
  return {};
}

void SlotButtons::draw(Painter& p, const Rect& area, bool has_slot) {
  if (p.frame().alone) return;  // an exported picture has no buttons
  const Theme& t = p.theme();
  const std::vector<What> whats = has_slot ? std::vector{What::pin, What::evict, What::merge} : std::vector{What::restore};
  const float gap = p.px(6), width = (area.width() - 2 * gap) / 3;
  float x = area.x0;
  for (const What what : whats) {
    const Rect r{std::round(x), area.y1 - p.px(27), std::round(x + width), area.y1 - p.px(2)};
    const bool under = p.pointer().inside && r.contains(p.pointer().at);
    p.fill(r, t.raised, 1, p.px(4));
    p.frame_rect(r, under ? t.accent : t.line, 1, p.px(4));
    p.text_fit({r.middle_x(), r.middle_y()}, label(what), Face::body, t.text, r.width() - p.px(6), Align::centre);
    p.mark("button", label(what), r);
    buttons_.push_back({what, r});
    x += width + gap;
  }
}

std::optional<EditTokens> SlotButtons::at(const Pointer& mouse) const {
  if (!mouse.inside) return std::nullopt;
  for (const Button& b : buttons_)
    if (b.rect.contains(mouse.at)) return EditTokens{b.what};
  return std::nullopt;
}

}  // namespace kvscope::viz
