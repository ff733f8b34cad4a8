// SPDX-License-Identifier: Apache-2.0
// The atlas as one thought.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/reduce/slot.h"
#include "viz/views/atlas/atlas_frames.h"
#include "viz/views/atlas/atlas_ghosts.h"

namespace kvscope::viz {
namespace {

/// The selected slot, where it speaks for several tokens: which they are, and around `y` how many and what its votes add to its logit.
/// False: it does not.
bool draw_votes(Painter& p, const AtlasScene& s, float y) {
  const Selection& selection = p.frame().selection;
  if (s.binned || !selection.layer || !selection.kv_head || !selection.tokens) return false;
  const HeadPick pick = pick_head(*s.snapshot, selection);
  if (pick.values == nullptr || pick.run->fates == nullptr) return false;
  const SlotFacts slot = slot_facts(pick, selection.tokens->first);
  if (slot.pos != selection.tokens->first || slot.votes < 2) return false;
  const Theme& t = p.theme();
  const Rect row = s.rows_of(*selection.layer, selection.kv_head);
  const std::string head = fmt::format("L{} H{}", *selection.layer, *selection.kv_head);
  for (const int token : slot.members) {
    const Rect cell{s.axis.x_of(token) - 1, row.y0 - 1, s.axis.x_of(token + 1), row.y1 + 1};
    if (token == slot.pos || cell.x0 < s.axis.x0 || cell.x1 > s.axis.x1 + 1) continue;
    p.frame_rect(cell, t.text, p.px(1));
    p.mark("went in", fmt::format("{} t{}", head, token), cell, fmt::format("lives on in t{}", slot.pos));
  }
  const std::string log = log_of_votes(slot);
  const std::string bias = std::isnan(slot.bias) ? "" : ", logit " + (log.empty() ? "+0" : format_change(slot.bias) + " = " + log);
  const std::string words = fmt::format("×{}{}", slot.votes, bias);
  const float width = p.width_of(Face::caption, words) + p.px(8), height = p.line_height(Face::caption) + p.px(2);
  const float x = std::clamp(s.axis.x_of(slot.pos) - width / 2, s.axis.x0, std::max(s.axis.x0, s.axis.x1 - width));
  const Rect tag{x, y - height / 2, x + width, y + height / 2};
  p.fill(tag, t.raised, 1, 2);
  p.frame_rect(tag, t.category[static_cast<std::size_t>(Category::merged)], 1, 2);
  p.text({tag.middle_x(), tag.middle_y()}, words, Face::caption, t.text, Align::centre);
  p.mark("votes", fmt::format("{} t{}", head, slot.pos), tag, fmt::format("{} votes{}", slot.votes, bias));
  return true;
}

}  // namespace

void draw_plain_atlas(Painter& p, const AtlasScene& s, const AtlasCell& cursor) {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  if (s.rows.rows.empty()) return;
  const float line = p.line_height(Face::body);
  LayerNames names(s, f, line);
  for (std::size_t i = 0; i < s.rows.rows.size();) {
    const int layer = s.rows.rows[i].layer;
    const float y0 = s.rows.rows[i].y0;
    while (i + 1 < s.rows.rows.size() && s.rows.rows[i + 1].layer == layer) ++i;
    const float y1 = s.rows.rows[i++].y1, y = (y0 + y1) / 2;
    const bool chosen = f.selection.layer == layer;
    if (names.has_room(layer, y)) {
      p.text({s.axis.x0 - p.px(8), y}, fmt::format("L{}", layer), chosen ? Face::strong : Face::body, chosen ? t.text : t.secondary,
             Align::right);
    }
    p.mark("label", fmt::format("L{}", layer), {0, y0, s.axis.x0, y1});
  }
  // Two frames are the only emphasis: this head, these tokens.
  const float thick = p.px(1.6f), out = p.px(2);
  const auto around = [&](int layer, std::optional<int> head) {
    const Rect r = s.rows_of(layer, head);
    return Rect{r.x0 - out, r.y0 - out, r.x1 + out, r.y1 + out};
  };
  if (f.hover.layer) {
    const Rect r = around(*f.hover.layer, f.hover.kv_head);
    if (r.y1 > r.y0) p.frame_rect(r, t.text, 1, 0, 0.45);
  }
  if (f.hover.token && *f.hover.token < s.n_tokens) {
    const Rect r{s.axis.x_of(*f.hover.token) - 1, s.area.y0, s.axis.x_of(*f.hover.token + 1) + 1, s.rows.rows.back().y1};
    if (r.x0 >= s.axis.x0 - 1 && r.x1 <= s.axis.x1 + 1) p.frame_rect(r, t.text, 1, 0, 0.45);
  }
  if (f.selection.layer) {
    const Rect r = around(*f.selection.layer, f.selection.kv_head);
    if (r.y1 > r.y0) {
      p.selection(r, thick, p.px(3));
      p.mark("selected head",
             fmt::format("L{}", *f.selection.layer) + (f.selection.kv_head ? fmt::format(" H{}", *f.selection.kv_head) : ""), r);
    }
  }
  if (f.selection.tokens && f.selection.tokens->first < s.n_tokens) {
    const TokenRange range = *f.selection.tokens;
    const float top = s.area.y0 - p.px(5), bottom = std::min(s.area.y1, s.rows.rows.back().y1) + p.px(3);
    const Rect r{std::max(s.axis.x0, s.axis.x_of(range.first)) - out, top, std::min(s.axis.x1, s.axis.x_of(range.last + 1)) + out, bottom};
    if (r.x1 > r.x0) {
      p.selection(r, thick, p.px(3));
      p.mark("selected tokens", fmt::format("tokens {} to {}", range.first, range.last), r);
    }
  }
  if (f.has_focus) {
    const AtlasCell& c = cursor;
    for (const AtlasRow& row : s.rows.rows)
      if (row.layer == c.layer && (row.kv_head < 0 || row.kv_head == c.kv_head))
        p.focus_cursor({s.axis.x_of(c.token), row.y0, std::max(s.axis.x_of(c.token + 1), s.axis.x_of(c.token) + 3), row.y1});
  }
  // Below: what the axes are. Shades need their ramp even here.
  const float y = s.legend.y0 + p.px(17);
  if (s.binned) {
    draw_ramp_legend(p, s.axis.x0, y, {"kept or merged", t.sequential, "0", "100 %", false, false, {}});
    return;
  }
  if (f.ghost_steps == 0 && draw_votes(p, s, y)) return;  // what is meant takes the line of what the axes are
  float x = s.axis.x0;
  if (f.ghost_steps > 0) x = draw_ghost_legend(p, s, x, y);
  const std::string rows = fmt::format("rows: {} layers × {} heads", s.snapshot->model.n_layers, s.snapshot->model.n_kv_heads);
  const std::string_view columns = "columns: tokens";
  const float room = s.axis.x1 - x;
  const bool both = p.width_of(Face::caption, columns) + p.width_of(Face::caption, rows) + p.px(16) <= room;
  if (both) p.text({x, y}, columns, Face::caption, t.secondary);
  if (p.width_of(Face::caption, rows) <= room) p.text({s.axis.x1, y}, rows, Face::caption, t.secondary, Align::right);
}

}  // namespace kvscope::viz
