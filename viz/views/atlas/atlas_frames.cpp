// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_frames.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/views/atlas/atlas_ghosts.h"
#include "viz/views/atlas/atlas_marks.h"

namespace kvscope::viz {
namespace {

RampLegend score_legend(const Theme& theme, const AtlasScene& s) {
  const char* const what = s.colour == AtlasColour::max ? "largest" : s.colour == AtlasColour::min ? "smallest" : "mean";
  RampLegend legend;
  legend.name = s.bin > 1 ? fmt::format("{} score of the slots in {} tokens", what, format_count(s.bin))
                          : (s.rows.by_layer ? fmt::format("{} score of the layer's slots", what) : std::string("score of the slot"));
  legend.colours = theme.sequential;
  legend.low = format_number(s.scores.low);
  legend.high = format_number(s.scores.high);
  legend.note = s.scores.n == 0        ? "no slot was ranked in this step"
                : s.scores.square_root ? "√ scale · empty: not ranked"
                                       : "empty: not ranked";
  return legend;
}

}  // namespace

void draw_atlas_labels(Painter& p, const AtlasScene& s) {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  const float line = p.line_height(Face::caption);
  const bool every_head = s.rows.cell + 1 >= 0.78f * line;
  p.clip({0, s.area.y0 - 2, s.area.x0, s.area.y1 + 2});
  LayerNames names(s, f, line);
  for (std::size_t i = 0; i < s.rows.rows.size();) {
    const int layer = s.rows.rows[i].layer;
    std::size_t end = i;
    while (end < s.rows.rows.size() && s.rows.rows[end].layer == layer) ++end;
    const bool chosen = f.selection.layer == layer;
    const float y = (std::max(s.rows.rows[i].y0, s.area.y0) + std::min(s.rows.rows[end - 1].y1, s.area.y1)) / 2;
    if (names.has_room(layer, y)) {
      p.text({12, y}, fmt::format("L{}", layer), chosen ? Face::strong : Face::body, chosen ? t.text : t.secondary);
    }
    p.mark("label", fmt::format("L{}", layer), {0, s.rows.rows[i].y0, p.px(36), s.rows.rows[end - 1].y1});
    for (; i < end; ++i) {
      const AtlasRow& row = s.rows.rows[i];
      if (row.kv_head < 0) continue;
      const bool head_chosen = chosen && f.selection.kv_head == row.kv_head;
      const float middle = (row.y0 + row.y1) / 2;
      if (head_chosen || every_head) {  // some labels but not others would be read as wrong rows
        p.text({s.area.x0 - p.px(8), middle}, fmt::format("H{}", row.kv_head), head_chosen ? Face::strong : Face::caption,
               head_chosen ? t.accent : t.disabled, Align::right);
      }
    }
  }
  p.unclip();
}

void draw_atlas_selection(Painter& p, const AtlasScene& s, const AtlasCell& cursor) {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  const float x1 = std::min(s.axis.x_of(s.seen), s.axis.x1);
  const Rect map = s.map();
  p.clip({map.x0 - 3, map.y0 - 3, map.x1 + 3, s.minimap.y1 + 2});
  for (const TokenRange& range : all_tokens(f.selection)) {
    const float a = s.axis.x_of(range.first) - 1, b = std::max(s.axis.x_of(range.last + 1), a + 2);
    for (float x : {a, b}) {
      if (x >= map.x0 - 1 && x <= map.x1) p.vline(x, s.area.y0, s.minimap.y1 - 1, t.accent);
    }
    p.mark("selected tokens", fmt::format("tokens {} to {}", range.first, range.last), {a, map.y0, b, map.y1});
  }
  for (const TokenRange& place : f.found) {
    const float a = s.axis.x_of(place.first), b = std::max(s.axis.x_of(place.last + 1) - 1, a + 3);
    if (b >= map.x0 && a <= map.x1) p.fill({std::max(a, map.x0), map.y0 - 3, std::min(b, map.x1), map.y0}, t.accent);
    p.mark("found", fmt::format("tokens {} to {}", place.first, place.last), {a, map.y0 - 3, b, map.y0});
  }
  if (f.hover.token && *f.hover.token < s.n_tokens) {
    const float a = std::round(s.axis.x_of(*f.hover.token)) - 1, b = std::max(std::round(s.axis.x_of(*f.hover.token + 1)), a + 2);
    if (a >= map.x0 - 1 && b <= map.x1 + 1) {
      p.vline(a, map.y0, map.y1, t.text, 0.45);
      p.vline(b, map.y0, map.y1, t.text, 0.45);
    }
  }
  if (f.hover.layer) {
    const Rect r = s.rows_of(*f.hover.layer, f.hover.kv_head);
    if (r.y1 > r.y0) p.frame_rect({map.x0 - 1, r.y0 - 1, x1 + 1, r.y1 + 1}, t.text, 1, 0, 0.45);
  }
  if (f.selection.layer) {
    const Rect r = s.rows_of(*f.selection.layer, f.selection.kv_head);
    if (r.y1 > r.y0) {
      const Rect outline{map.x0 - 2, r.y0 - 2, x1 + 2, r.y1 + 2};
      p.selection(outline);
      p.mark("selected head",
             fmt::format("L{}", *f.selection.layer) + (f.selection.kv_head ? fmt::format(" H{}", *f.selection.kv_head) : ""), outline);
    }
  }
  if (f.has_focus) {
    const AtlasCell& c = cursor;
    const Rect r = s.rows_of(c.layer, c.kv_head);
    if (r.y1 > r.y0) p.focus_cursor({s.axis.x_of(c.token), r.y0, std::max(s.axis.x_of(c.token + 1), s.axis.x_of(c.token) + 3), r.y1});
  }
  p.unclip();
}

void draw_atlas_legend(Painter& p, const AtlasScene& s) {
  if (s.legend.height() <= 0) return;
  const Theme& t = p.theme();
  p.hline(0, p.canvas().x1, s.legend.y0, t.line, 0.6);
  const float y = s.legend.y0 + p.px(17);
  RampLegend heads{
      "bottom row: heads that represent it", t.sequential, "0", format_count(n_heads_total(*s.snapshot)), false, false, {}, 72};
  float x = 12;
  if (s.by_score()) {
    RampLegend rows = score_legend(t, s);
    if (legend_width(p, rows) + x + 12 > p.canvas().x1) rows.note.clear();
    x = draw_ramp_legend(p, x, y, rows);
    heads.name = "bottom row: heads";
  } else if (s.binned) {
    std::string unit = s.bin > 1 ? fmt::format("mean of {} tokens", format_count(s.bin)) : std::string();
    if (s.axis.px < 1) unit = fmt::format("1 px = {} tokens, {}", format_mean(1.0 / static_cast<double>(s.axis.px)), unit);
    const std::string name = s.rows.by_layer ? "rows: tokens represented, below it the range over the heads" : "rows: tokens represented";
    RampLegend rows{name, t.sequential, "0", "100 %", false, false, unit, 72};
    if (legend_width(p, rows) + x + 12 > p.canvas().x1) rows.name = "represented";
    if (legend_width(p, rows) + x + 12 > p.canvas().x1) rows.note.clear();
    x = draw_ramp_legend(p, x, y, rows);
    if (!s.prefill()) {
      const std::string_view left = "ticks: left in this step";
      if (x + p.px(16) + p.width_of(Face::caption, left) < p.canvas().x1 - 12) {
        p.fill({x, y - 3, x + kAtlasTick, y + 3}, t.text, 0.9);
        x += p.px(9) + p.text({x + p.px(9), y}, left, Face::caption, t.secondary) + p.px(14);
      }
    }
    heads.name = "bottom row: heads";
  } else {
    x = draw_category_legend(p, x, y, category_items(*s.lane));
    x = draw_ghost_legend(p, s, x, y);
  }
  const bool prompt_end = s.has_prompt_end();
  const float mark_width = prompt_end ? p.width_of(Face::caption, "prompt ends") + p.px(21) : 0;
  const float right = p.canvas().x1 - 12;
  for (const char* shorter : {"bottom row: heads", "heads"}) {
    if (x + mark_width + legend_width(p, heads) > right) heads.name = shorter;
  }
  const bool ramp_fits = x + legend_width(p, heads) <= right;
  const bool mark_fits = prompt_end && x + mark_width + (ramp_fits ? legend_width(p, heads) : 0) <= right;
  float at = right - (ramp_fits ? legend_width(p, heads) : 0) - (mark_fits ? mark_width : 0);
  if (mark_fits) at = draw_prompt_end_legend(p, at, y);
  if (ramp_fits) draw_ramp_legend(p, at, y, heads);
}

}  // namespace kvscope::viz
