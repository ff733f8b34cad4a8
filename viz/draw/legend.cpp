// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/legend.h"

#include <cmath>

#include "viz/reduce/text.h"

namespace kvscope::viz {
namespace {

constexpr float kSwatch = 10, kSwatchGap = 6, kItemGap = 14;

std::string_view label_of(const LegendItem& item) { return item.label.empty() ? category_name(item.category) : item.label; }

float item_width(const Painter& p, const LegendItem& item) {
  return std::round(p.px(kSwatch)) + p.px(kSwatchGap) + p.width_of(Face::caption, label_of(item));
}

/// How many of the items stand in the first line; one, however narrow it is.
std::size_t first_line(const Painter& p, float width, std::span<const LegendItem> items) {
  float x = 0;
  for (std::size_t n = 0; n < items.size(); ++n) {
    const float end = x + item_width(p, items[n]);
    if (end > width && n > 0) return n;
    x = std::round(end + p.px(kItemGap));
  }
  return items.size();
}

}  // namespace

std::vector<LegendItem> category_items(const LaneSnapshot& lane) {
  std::vector<LegendItem> out(kCategoryLegend.begin(), kCategoryLegend.end());
  if (reads_pages(lane)) out.insert(out.end() - 1, LegendItem{Category::unread, {}});
  for (LegendItem& item : out) item.label = category_word(lane, item.category);
  return out;
}

float draw_category_legend(Painter& p, float x, float y, std::span<const LegendItem> items) {
  for (const LegendItem& item : items) {
    const float s = std::round(p.px(kSwatch));
    const Rect swatch{x, std::round(y - s / 2), x + s, std::round(y - s / 2) + s};
    // As the cells are: small evicted ones have no outline, and what steps back has no glyph.
    const std::optional<Category>& emphasis = p.frame().emphasis;
    const bool back = emphasis && item.category != *emphasis;
    if (back || item.category == Category::evicted) p.fill(swatch, cell_fill(p.theme(), item.category, emphasis));
    if (!back || item.category == Category::evicted) p.category(swatch, item.category);
    const std::string_view label = label_of(item);
    const float text = x + s + p.px(kSwatchGap), end = text + p.text({text, y}, label, Face::caption, p.theme().secondary);
    p.mark("legend", std::string(label), {x, swatch.y0, end, swatch.y1});
    x = std::round(end + p.px(kItemGap));
  }
  return x;
}

void draw_category_lines(Painter& p, const Rect& area, float line, std::span<const LegendItem> items) {
  for (float y = area.y0 + line / 2; !items.empty(); y += line) {
    const std::size_t n = first_line(p, area.width(), items);
    draw_category_legend(p, area.x0, y, items.first(n));
    items = items.subspan(n);
  }
}

int category_lines(const Painter& p, float width, std::span<const LegendItem> items) {
  int lines = 0;
  for (; !items.empty(); ++lines) items = items.subspan(first_line(p, width, items));
  return lines;
}

float draw_prompt_end_legend(Painter& p, float x, float y, std::string_view label) {
  p.dashed({std::round(x), y - p.px(6)}, {std::round(x), y + p.px(6)}, p.theme().text, kDashPromptEnd, 1, 0.7);
  const float end = x + p.px(7) + p.text({x + p.px(7), y}, label, Face::caption, p.theme().secondary);
  p.mark("legend", std::string(label), {x, y - p.px(6), end, y + p.px(6)});
  return std::round(end + p.px(14));
}

float legend_width(const Painter& p, const RampLegend& l) {
  float w = p.px(l.width) + 2 * p.px(6) + p.width_of(Face::caption, l.low) + p.width_of(Face::caption, l.high);
  if (!l.name.empty()) w += p.width_of(Face::caption, l.name) + p.px(10);
  if (!l.note.empty()) w += p.width_of(Face::caption, l.note) + p.px(10);
  if (l.clipped_low) w += p.px(8);
  if (l.clipped_high) w += p.px(8);
  return std::ceil(w);
}

float draw_ramp_legend(Painter& p, float x, float y, const RampLegend& l) {
  const Theme& t = p.theme();
  const float begin = x;
  if (!l.name.empty()) x += p.text({x, y}, l.name, Face::caption, t.secondary) + p.px(10);
  x += p.text({x, y}, l.low, Face::caption, t.secondary) + p.px(6);
  const float h = p.px(10) / 2;
  if (l.clipped_low) {
    p.triangle({x, y}, {x + p.px(5), y - h}, {x + p.px(5), y + h}, l.colours.empty() ? t.line : l.colours.front());
    x += p.px(8);
  }
  x = std::round(x);
  const Rect bar{x, std::round(y - h), std::round(x + p.px(l.width)), std::round(y + h)};
  for (std::size_t i = 0; i + 1 < l.colours.size(); ++i) {
    const float n = static_cast<float>(l.colours.size() - 1);
    const float a = bar.x0 + bar.width() * static_cast<float>(i) / n, b = bar.x0 + bar.width() * static_cast<float>(i + 1) / n;
    p.gradient({a, bar.y0, b, bar.y1}, l.colours[i], l.colours[i + 1]);
  }
  x = bar.x1;
  if (l.clipped_high) {
    p.triangle({x + p.px(8), y}, {x + p.px(3), y + h}, {x + p.px(3), y - h}, l.colours.empty() ? t.line : l.colours.back());
    x += p.px(8);
  }
  x += p.px(6);
  x += p.text({x, y}, l.high, Face::caption, t.secondary);
  if (!l.note.empty()) x += p.px(10) + p.text({x + p.px(10), y}, l.note, Face::caption, t.disabled);
  p.mark("legend", l.name, {begin, y - h, x, y + h}, l.low + " to " + l.high + (l.note.empty() ? "" : ", " + l.note));
  return std::round(x + p.px(14));
}

}  // namespace kvscope::viz
