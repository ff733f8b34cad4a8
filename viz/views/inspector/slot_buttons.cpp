// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/slot_buttons.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kvscope::viz {

namespace {

using What = EditTokens::What;

const char* name_of(What what) {
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

/// "all heads" -> "all", "this head" -> "head".
std::string_view brief_scope(std::string_view scope) {
  const std::size_t space = scope.find(' ');
  if (space == std::string_view::npos) return scope;
  return scope.starts_with("this ") ? scope.substr(space + 1) : scope.substr(0, space);
}

}  // namespace

std::string SlotButtons::label(What what, std::string_view scope) { return fmt::format("{} · {}", name_of(what), scope); }

std::string SlotButtons::help(const Pointer& mouse, std::string_view scope) const {
  const Button* const button = under(mouse);
  if (button == nullptr) return {};
  if (button->takes_back) return "It is pinned by hand: let the policy choose again, in every head of that pin (P)";
  switch (button->what) {
    case What::pin:
      return fmt::format(
          "Keep the token whatever its score, {}, in a run beside this one; where it is gone it comes back first, for this step and those after it (P)",
          scope);
    case What::evict:
      return fmt::format("Evict the slot, {}, in a run beside this one (E)", scope);
    case What::merge:
      return fmt::format("Merge the slot into the one that is clicked next, {}, in a run beside this one (M)", scope);
    case What::restore:
      return fmt::format("Give the token its slot back, {}, in a run beside this one (R); Pin (P) keeps it there, too", scope);
  }
  return {};
}

void SlotButtons::draw(Painter& p, const Rect& area, bool has_slot, int token, std::span<const int> pinned) {
  if (p.frame().alone) return;  // an exported picture has no buttons
  const Theme& t = p.theme();
  const std::vector<What> whats = has_slot ? std::vector{What::pin, What::evict, What::merge} : std::vector{What::restore, What::pin};
  // Few buttons have the room of three: whom they are about is said.
  const float gap = p.px(6), n = static_cast<float>(whats.size()), third = (area.width() - 2 * gap) / 3;
  float width = third;
  const Frame& f = p.frame();
  const std::string many = means_selection(f.selection, token) ? fmt::format("{} tokens", n_tokens(f.selection)) : std::string();
  const std::string scope = many.empty() ? std::string(f.edit_scope) : fmt::format("{}, {}", many, f.edit_scope);
  const auto is_pinned = [&](int pos) { return std::ranges::binary_search(pinned, pos); };
  bool unpins = is_pinned(token);
  if (!many.empty())
    for (const TokenRange& range : all_tokens(f.selection))
      for (int pos = range.first; pos <= range.last; ++pos) unpins = unpins && is_pinned(pos);
  for (const What what : whats) width = std::max(width, p.width_of(Face::body, label(what, scope)) + p.px(20));
  width = std::min(width, (area.width() - (n - 1) * gap) / n);
  float x = area.x0;
  for (const What what : whats) {
    const Rect r{std::round(x), area.y1 - p.px(30), std::round(x + width), area.y1 - p.px(5)};  // clear of the frame of the focus
    const bool under = p.pointer().inside && r.contains(p.pointer().at);
    p.fill(r, t.raised, 1, p.px(4));
    p.frame_rect(r, under ? t.accent : t.line, 1, p.px(4));
    const bool takes_back = unpins && what == What::pin;
    const std::string name = takes_back ? "Unpin" : name_of(what);
    const std::string words = takes_back ? name : label(what, scope);
    const std::string brief = takes_back     ? name
                              : many.empty() ? fmt::format("{} · {}", name_of(what), brief_scope(f.edit_scope))
                                             : label(what, many);
    const auto fits = [&](const std::string& text) { return p.width_of(Face::body, text) <= r.width() - p.px(4); };
    p.text_fit({r.middle_x(), r.middle_y()},
               fits(words)   ? words
               : fits(brief) ? brief
                             : name,
               Face::body, t.text, r.width() - p.px(4), Align::centre);
    p.mark("button", name_of(what), r, words);
    buttons_.push_back({what, r, takes_back});
    x += width + gap;
  }
}

const SlotButtons::Button* SlotButtons::under(const Pointer& mouse) const {
  const auto found = std::ranges::find_if(buttons_, [&](const Button& b) { return mouse.inside && b.rect.contains(mouse.at); });
  return found == buttons_.end() ? nullptr : &*found;
}

std::optional<EditTokens> SlotButtons::at(const Pointer& mouse) const {
  const Button* const button = under(mouse);
  return button == nullptr ? std::nullopt : std::optional(EditTokens{button->what});
}

}  // namespace kvscope::viz
