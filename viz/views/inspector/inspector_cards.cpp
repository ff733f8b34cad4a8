// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/inspector_cards.h"

#include <algorithm>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/text.h"

namespace kvscope::viz {

namespace {

/// The members as running text on the tints of their fates; as many lines as fit, then "+ n more". Returns the height used.
float draw_members(Painter& p, const Rect& area, std::span<const TokenInfo> tokens, const SlotFacts& facts, int max_lines) {
  const Theme& t = p.theme();
  const float size = p.px(14), height = p.px(20), gap = 2;
  float x = area.x0, y = area.y0;
  int line = 1;
  for (std::size_t i = 0; i < facts.members.size(); ++i) {
    const int token = facts.members[i];
    const std::string text = token_text(tokens, token);
    const float guess = size * 0.62f * static_cast<float>(utf8_length(text)) + p.px(4);
    const float reserve = line == max_lines && i + 1 < facts.members.size() ? p.px(58) : 0;
    if (x + guess > area.x1 - reserve && x > area.x0) {
      if (line == max_lines) {
        p.text({x + p.px(4), y + height / 2}, fmt::format("+ {} more", format_count(static_cast<std::int64_t>(facts.members.size() - i))),
               Face::caption, t.secondary);
        return y + height - area.y0;
      }
      x = area.x0;
      y += height + gap;
      ++line;
    }
    const Category c = token == facts.pos ? Category::kept : Category::merged;
    const Rect chip{x, y, std::min(x + guess, area.x1), y + height};
    p.fill(chip, t.category[static_cast<std::size_t>(c)], t.text_tint, 2);
    p.token({x + p.px(2), y + height / 2}, text, size, t.text);
    p.mark("member", fmt::format("t{}", token), chip, text);
    x += guess + 1;
  }
  return y + height - area.y0;
}

}  // namespace

Rect draw_card_head(Painter& p, Rect area, std::string_view title, std::string_view facts) {
  const Theme& t = p.theme();
  const Rect head = area.cut_top(p.px(kCardHead));
  const float x = head.x0 + p.px(12);
  const float end = x + p.text({x, head.middle_y()}, title, Face::strong, t.text);
  if (!facts.empty())
    p.text_fit({end + p.px(10), head.middle_y()}, facts, Face::body, t.secondary, std::max(0.0f, head.x1 - end - p.px(22)));
  p.mark("card", std::string(title), {head.x0, head.y0, area.x1, area.y1}, std::string(facts));
  p.hline(head.x0, head.x1, head.y1, t.line);
  area.y0 += 1;
  return area.inset(p.px(kCardPadding), 0);
}

void draw_habit(Painter& p, const Rect& area, const HabitCaption& caption) {
  const Theme& t = p.theme();
  const float y = area.middle_y(), gap = p.px(12);
  float x = area.x0 + p.px(12), right = area.x1 - p.px(12);
  p.mark("habit", caption.name, area, caption.words + (caption.besides.empty() ? "" : "; " + caption.besides));
  if (caption.name.empty()) {
    p.text_fit({x, y}, caption.words, Face::caption, t.disabled, right - x);
    return;
  }
  x += p.text({x, y}, caption.name, Face::strong, t.text) + p.px(8);
  const float words = p.width_of(Face::body, caption.words);
  if (const float w = p.width_of(Face::caption, caption.measured); x + words + gap + w <= right) {
    p.text({right, y}, caption.measured, Face::caption, t.secondary, Align::right);
    right -= w + gap;
  }
  x += p.text_fit({x, y}, caption.words, Face::body, t.text, right - x) + gap;
  // Whole habits or none: half of a name says nothing.
  std::string_view besides = caption.besides;
  while (!besides.empty() && p.width_of(Face::body, besides) > right - x) {
    const std::size_t before = besides.rfind(", ");
    besides = besides.substr(0, before == std::string_view::npos ? 0 : before);
  }
  p.text({x, y}, besides, Face::body, t.secondary);
}

void draw_slot_card(Painter& p, Rect area, const Snapshot& snapshot, const HeadPick& pick, const SlotFacts& facts, SlotButtons& buttons) {
  const Theme& t = p.theme();
  if (facts.token < 0) return;
  std::vector<CardRow> rows = slot_card(snapshot, pick, facts);
  const bool members = facts.pos >= 0 && facts.members.size() > 1;
  const float buttons_height = pick.lane > 0 ? p.px(SlotButtons::kHeight) : 0;
  const auto needed = [&](float around) { return p.px(around + 17 * static_cast<float>(rows.size())) + buttons_height; };
  // A low card has its first words beside the name, less air, and no row that only repeats its title and these words, or says nothing.
  const bool low = area.height() < needed(members ? 90 : 65);
  const float around = (members ? 25 : 0) + (low ? 4 + 24 + 4 : 65);
  if (area.height() < needed(around))
    std::erase_if(rows, [](const CardRow& row) { return row.name == "position" || row.name == "members" || row.value == kNotMeasured; });
  if (area.height() < needed(around)) std::erase_if(rows, [](const CardRow& row) { return row.name == "protected" && row.value == "no"; });
  if (pick.lane > 0 && area.height() >= needed(around))
    buttons.draw(p, area.cut_bottom(buttons_height), SlotButtons::has_slot(facts, pick.step), facts.token, pick.values->pinned);
  area.cut_top(p.px(low ? 4 : 10));
  const int shown = facts.pos >= 0 ? facts.pos : facts.token;
  const Rect name = area.cut_top(p.px(24));
  const std::string text =
      p.elide(quoted(token_text(tokens_of(snapshot, pick.lane), shown)), Face::headline, name.width() * (low ? 0.4f : 0.9f));
  const float name_end =
      name.x0 + p.token({name.x0, name.middle_y()}, text, p.size_of(Face::headline), facts.pos >= 0 ? t.text : t.secondary).x;
  p.mark("headline", fmt::format("slot {}", shown), name, text);
  const Rect caption = low ? Rect{name_end + p.px(8), name.y0, name.x1, name.y1} : area.cut_top(p.px(17));
  const std::string stands = facts.pos < 0 ? "no slot stands for it in this head"
                             : members     ? fmt::format("stands for {} tokens", facts.members.size())
                                           : "stands for itself alone";
  p.text_fit({caption.x0, caption.middle_y()}, stands, Face::caption, t.secondary, caption.width());
  if (members) {
    area.cut_top(p.px(3));
    const float lines_below = p.px(18) * static_cast<float>(rows.size());
    const int lines = std::clamp(static_cast<int>((area.height() - lines_below) / p.px(22)), 1, 3);
    area.cut_top(draw_members(p, area, tokens_of(snapshot, pick.lane), facts, lines));
  }
  area.cut_top(p.px(low ? 2 : 8));
  area.cut_bottom(p.px(low ? 2 : 6));
  const float line = std::clamp(area.height() / static_cast<float>(std::max<std::size_t>(1, rows.size())), p.px(17), p.px(24));
  for (const CardRow& row : rows) {
    if (area.height() < line - 1) break;
    const Rect r = area.cut_top(line);
    const float end = r.x0 + p.text({r.x0, r.middle_y()}, row.name, Face::body, t.secondary);
    p.text_fit({r.x1, r.middle_y()}, row.value, Face::body, t.text, r.x1 - end - p.px(8), Align::right);
    p.hline(r.x0, r.x1, r.y1 - 1, t.line, 0.7);
    p.mark("slot.row", row.name, r, row.value);
  }
}

}  // namespace kvscope::viz
