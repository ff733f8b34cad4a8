// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

constexpr float kAxisHeight = 30, kMinimapHeight = 24, kMinimapGap = 7, kLegendHeight = 33, kLegendGap = 4, kCategoriesHeight = 22;
constexpr float kGlyphPixels = 10;    // cells of this size show the glyph of their category
constexpr int kMaxGlyphCells = 1200;  // each takes up to three shapes and a gap
constexpr float kTick = 3;            // width of the marks of what is rare
constexpr float kPlainLeastPx = 2;    // plain pictures speak of fates: columns this narrow show them still
constexpr float kTextPixels = 36;     // columns of this width show the token

}  // namespace

std::string Atlas::facts(const Frame& frame) const {
  const LaneSnapshot* lane = lane_of(frame);
  const StepRecord* record = record_of(frame);
  if (lane == nullptr || record == nullptr) return "0 tokens";
  std::string text =
      fmt::format("step {} · position {} · {} heads × {} tokens", format_count(step_of(*lane, frame.selection)),
                  format_count(record->position), format_count(n_heads_total(*frame.snapshot)), format_count(tokens_seen(*record)));
  if (last_px_ >= 3) text += fmt::format(" · {} px = 1 token", format_mean(last_px_));
  if (last_px_ >= 1 && last_px_ < 3) text += fmt::format(" · {} px = 1 token", format_number(static_cast<double>(last_px_)));
  if (last_px_ > 0 && last_px_ < 1) text += fmt::format(" · 1 px = {} tokens", format_mean(1.0 / static_cast<double>(last_px_)));
  return text;
}

float Atlas::preferred_height(const Frame& frame) const {
  if (lane_of(frame) == nullptr) return 0;
  const ModelConfig& m = frame.snapshot->model;
  const float rows = std::min(ideal_rows_height(m.n_layers, m.n_kv_heads, frame.scale), 620 * frame.scale);
  return rows + (kAxisHeight + kMinimapGap + kMinimapHeight + kLegendGap + kLegendHeight) * frame.scale;
}

bool Atlas::make_scene(const Painter& p, Scene& s) {
  const Frame& frame = p.frame();
  s.snapshot = frame.snapshot;
  s.lane = lane_of(frame);
  s.record = record_of(frame);
  if (s.lane == nullptr || s.record == nullptr || s.lane->fates == nullptr || s.lane->fates->heads.empty()) return false;
  s.step = step_of(*s.lane, frame.selection);
  s.seen = std::min(tokens_seen(*s.record), s.lane->fates->n_tokens);
  s.n_tokens = std::max(s.lane->fates->n_tokens, s.seen);
  Rect rest = p.canvas();
  s.axis_strip = rest.cut_top(p.px(kAxisHeight));
  s.legend = rest.cut_bottom(p.px(kLegendHeight));
  if (frame.plain && frame.alone) s.categories = rest.cut_bottom(p.px(kCategoriesHeight));
  rest.cut_bottom(p.px(kLegendGap));
  s.minimap = rest.cut_bottom(frame.plain ? 0 : p.px(kMinimapHeight));
  if (!frame.plain) rest.cut_bottom(p.px(kMinimapGap));
  s.area = rest;
  if (window_->count >= s.n_tokens) *window_ = {};
  s.axis = make_token_axis(p, *window_, s.n_tokens);
  s.area.x0 = s.axis.x0;
  const double visible = static_cast<double>(s.axis.x1 - s.axis.x0) / s.axis.px;
  window_->first = std::clamp(window_->first, 0.0, std::max(0.0, s.n_tokens - visible));
  if (s.axis.px >= 1) window_->first = std::round(window_->first * s.axis.px) / s.axis.px;  // whole pixels: every column has the same width
  s.axis.first = window_->first;
  s.overview = make_token_axis(p, {}, s.n_tokens);
  s.area.x1 = s.axis.x1;
  s.rows = layout_rows(s.snapshot->model.n_layers, s.snapshot->model.n_kv_heads, row_view_, s.area, frame.scale);
  row_view_.scroll = std::clamp(row_view_.scroll, 0.0f, std::max(0.0f, s.rows.content - s.area.height()));
  const float least = frame.plain ? kPlainLeastPx : 3;
  s.binned = s.axis.px < least || s.rows.by_layer;
  s.bin = s.axis.px >= least ? 1 : tokens_per_bin(s.axis.px);
  s.lines = s.rows.by_layer && !by_score() ? 2 : 1;
  if (by_score()) s.scores = score_range(*s.record);
  last_px_ = s.axis.px;
  last_bin_ = s.bin;
  last_by_layer_ = s.rows.by_layer;
  last_page_ = static_cast<float>(visible);
  return true;
}

void Atlas::draw(const Frame& frame, std::vector<Intent>& intents) {
  Painter p(frame, marks_);
  Scene s;
  if (!make_scene(p, s)) {
    const bool no_model = frame.snapshot == nullptr || frame.snapshot->model.n_layers == 0;
    p.empty(no_model ? "No model" : "0 tokens",
            no_model ? "open a model to see what its cache keeps" : "type a prompt to see what the cache keeps");
    p.finish();
    return;
  }
  if (pan_and_zoom(p, s)) make_scene(p, s);
  represented_.show(*s.lane, s.step);
  draw_token_axis(p, s.axis_strip, s.axis, "key (past)", frame.selection.tokens);
  draw_rows(p, s);
  draw_ghosts(p, s);
  if (frame.plain) {
    draw_plain(p, s);
    if (frame.alone && !s.binned) draw_category_legend(p, s.axis.x0, s.categories.middle_y(), kCategoryLegend);
  } else {
    draw_labels(p, s);
    draw_minimap(p, s);
    draw_selection(p, s);
    draw_legend(p, s);
  }
  react(p, s, intents);
  p.finish();
}

void Atlas::draw_rows(Painter& p, const Scene& s) {
  const Theme& t = p.theme();
  by_score() ? fill_scores(p.frame(), s) : s.binned ? fill_fractions(p.frame(), s) : fill_categories(p.frame(), s);
  const ImTextureID image = p.frame().textures->texture(cells_.name, cells_.version, cells_.width, cells_.height, cells_.rgba);
  const int first = s.binned ? s.axis.first_visible() / s.bin * s.bin : s.axis.first_visible();
  const float x0 = s.axis.x_of(first), x1 = s.axis.x_of(first + static_cast<double>(cells_.width) * (s.binned ? s.bin : 1));
  p.clip({s.axis.x0, s.area.y0, s.axis.x1, s.area.y1});
  const int lines = s.lines;
  const float n_lines = static_cast<float>(cells_.height);
  for (std::size_t r = 0; r < s.rows.rows.size(); ++r) {
    const AtlasRow& row = s.rows.rows[r];
    const float line = static_cast<float>(r) * static_cast<float>(lines);
    const float height = row.y1 - row.y0;
    const float split = lines == 2 && height >= 4 ? row.y1 - std::max(1.0f, std::round(height * 0.3f)) : row.y1;
    p.image({x0, row.y0, x1, split}, image, {0, line / n_lines}, {1, (line + 1) / n_lines});
    if (split < row.y1) p.image({x0, split, x1, row.y1}, image, {0, (line + 1) / n_lines}, {1, (line + 2) / n_lines});
    p.mark(row.kv_head < 0 ? "layer" : "row",
           row.kv_head < 0 ? fmt::format("L{}", row.layer) : fmt::format("L{} H{}", row.layer, row.kv_head),
           {std::max(s.axis.x0, s.axis.x_of(0)), row.y0, s.axis.x_end(), row.y1},
           by_score() ? "score"
           : s.binned ? "represented"
                      : "category");
  }
  if (!s.binned && !by_score()) draw_glyphs(p, s);
  // Tokens that this step has not seen yet: a dashed frame.
  const float seen_x = s.axis.x_of(s.seen), end_x = std::min(s.axis.x_of(s.n_tokens), s.axis.x1) - 1;
  if (!s.rows.rows.empty() && end_x > seen_x + 2) {
    const float y0 = std::max(s.rows.rows.front().y0, s.area.y0), y1 = std::min(s.rows.rows.back().y1, s.area.y1) - 1;
    for (const auto& [a, b] :
         {std::pair<ImVec2, ImVec2>{{seen_x + 2, y0}, {end_x, y0}}, {{end_x, y0}, {end_x, y1}}, {{seen_x + 2, y1}, {end_x, y1}}}) {
      p.dashed(a, b, t.line, kDashPromptEnd);
    }
  }
  if (s.snapshot->n_prompt > 0 && s.snapshot->n_prompt < s.seen && !s.rows.rows.empty()) {
    const float x = std::round(s.axis.x_of(s.snapshot->n_prompt)) - 1;
    p.dashed({x, s.area.y0}, {x, std::min(s.area.y1, s.rows.rows.back().y1)}, t.text, kDashPromptEnd, 1, 0.8);
    p.mark("prompt end", fmt::format("token {}", s.snapshot->n_prompt), {x, s.area.y0, x + 1, s.area.y1});
  }
  p.unclip();
  if (s.binned) draw_rare(p, s);
  draw_pins(p, s);
}

void Atlas::draw_glyphs(Painter& p, const Scene& s) {
  const int first = s.axis.first_visible(), last = s.axis.last_visible();
  const auto n_cells = static_cast<std::size_t>(std::max(0, last - first + 1)) * s.rows.rows.size();
  if (std::min(s.axis.px, s.rows.cell) < kGlyphPixels || n_cells > kMaxGlyphCells) return;
  const bool with_text = s.axis.px >= kTextPixels && s.rows.cell >= p.px(15) && n_cells < 400;
  for (const AtlasRow& row : s.rows.rows) {
    const int head = head_index(*s.snapshot, row.layer, row.kv_head);
    const auto row_categories =
        categories(*s.lane->fates, *s.record, head, s.lane->sinks, is_prefill_step(*s.snapshot, s.step), first, last);
    for (int t = first; t <= last; ++t) {
      const Category c = row_categories[static_cast<std::size_t>(t - first)];
      const Rect r{s.axis.x_of(t), row.y0, s.axis.x_of(t + 1) - 1, row.y1};
      p.fill({r.x1, r.y0, r.x1 + 1, r.y1}, p.theme().panel);
      if (p.frame().emphasis && c != *p.frame().emphasis && c != Category::evicted) continue;  // steps back: no glyph
      if (with_text && c != Category::unseen) {
        const TokenInfo* info =
            t < static_cast<int>(s.snapshot->tokens.size()) ? &s.snapshot->tokens[static_cast<std::size_t>(t)] : nullptr;
        if (info != nullptr) {
          p.clip(r);
          p.token({r.middle_x(), r.middle_y()}, token_text(*info), p.px(11), ink_on(cell_fill(p.theme(), c), p.theme()), false, false,
                  false, Align::centre);
          p.unclip();
        }
      } else if (c == Category::sink || c == Category::merged || c == Category::fresh) {
        p.category(r, c);
      } else if (c == Category::evicted && !p.frame().plain) {  // hollow; a plain picture has them grey, as the text says
        p.fill(r.inset(1), p.theme().panel);
      }
    }
  }
}

// What is rare never vanishes in a bin: ticks above the columns of the sinks, of the newest token and of what left in this very step, the
// last taller the more heads removed something there.
void Atlas::draw_rare(Painter& p, const Scene& s) const {
  const Theme& t = p.theme();
  std::vector<int> removed(static_cast<std::size_t>(s.axis.x1 - s.axis.x0) + 4, 0);
  const float width = kTick;
  const auto column = [&](int token) {
    const float x = s.axis.x_of(token);
    return x >= s.axis.x0 && x < s.axis.x1 ? static_cast<int>((x - s.axis.x0) / width) : -1;
  };
  const auto tick = [&](const char* kind, int at, float height, Rgb fill, int n) {
    const float x = s.axis.x0 + static_cast<float>(at) * width;
    const Rect r{x, s.area.y0 - 1 - height, x + width, s.area.y0 - 1};
    p.fill(r, fill, 0.9);
    p.mark(kind, fmt::format("token {}", static_cast<int>(s.axis.token_at(x))), r, format_count(n));
  };
  if (!is_prefill_step(*s.snapshot, s.step)) {  // there it is nearly every column; the map itself shows it
    for (const HeadRecord& h : s.record->heads) {
      for (const Event& e : h.events) {
        if (const int at = column(e.pos); at >= 0) ++removed[static_cast<std::size_t>(at)];
      }
    }
  }
  for (std::size_t i = 0; i < removed.size(); ++i) {
    if (removed[i] == 0) continue;
    tick("removed", static_cast<int>(i), removed[i] > 8 ? 5.0f : removed[i] > 1 ? 4.0f : 3.0f, t.text, removed[i]);
  }
  if (s.bin <= 1) return;
  const int sinks = std::min(s.lane->sinks, s.seen);
  for (int at = -1, token = 0; token < sinks; ++token) {
    const int here = column(token);
    if (here < 0 || here == at) continue;
    at = here;
    tick("sink", at, 3, t.category[static_cast<std::size_t>(Category::sink)], sinks);
  }
  if (const int at = column(s.seen - 1); at >= 0 && !is_prefill_step(*s.snapshot, s.step))
    tick("new", at, 3, t.category[static_cast<std::size_t>(Category::fresh)], 1);
}

void Atlas::draw_labels(Painter& p, const Scene& s) const {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  const float line = p.line_height(Face::caption);
  const bool every_head = s.rows.cell + 1 >= 0.78f * line;
  p.clip({0, s.area.y0 - 2, s.area.x0, s.area.y1 + 2});
  float layer_free_from = -1e9f;
  for (std::size_t i = 0; i < s.rows.rows.size();) {
    const int layer = s.rows.rows[i].layer;
    std::size_t end = i;
    while (end < s.rows.rows.size() && s.rows.rows[end].layer == layer) ++end;
    const bool chosen = f.selection.layer == layer;
    const float y = (std::max(s.rows.rows[i].y0, s.area.y0) + std::min(s.rows.rows[end - 1].y1, s.area.y1)) / 2;
    if (y - line / 2 >= layer_free_from || chosen) {
      p.text({12, y}, fmt::format("L{}", layer), chosen ? Face::strong : Face::body, chosen ? t.text : t.secondary);
      layer_free_from = y + line / 2;
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

void Atlas::draw_minimap(Painter& p, const Scene& s) {
  const Theme& t = p.theme();
  fill_minimap(p.frame(), s);
  const ImTextureID image =
      p.frame().textures->texture(overview_.name, overview_.version, overview_.width, overview_.height, overview_.rgba);
  const int bin = tokens_per_bin(s.overview.px);
  const Rect r{s.overview.x0, s.minimap.y0 + 1, s.overview.x_end(), s.minimap.y1 - 1};
  p.text({s.area.x0 - p.px(8), r.middle_y()}, "heads", Face::caption, t.secondary, Align::right);
  p.clip(r);
  p.image({r.x0, r.y0, s.overview.x_of(static_cast<double>(overview_.width) * bin), r.y1}, image);
  p.fill({s.overview.x_of(s.seen), r.y0, r.x1, r.y1}, t.panel);
  p.unclip();
  const double shown = static_cast<double>(s.axis.x1 - s.axis.x0) / s.axis.px;
  const Rect window{std::round(s.overview.x_of(s.axis.first)) - 1, s.minimap.y0,
                    std::round(std::min(s.overview.x_of(s.axis.first + shown), r.x1)) + 1, s.minimap.y1};
  p.frame_rect(window, t.secondary, window_->count > 0 ? 1.5f : 1.0f, 2);
  if (framing_ && p.pointer().dragging) {
    const float a = s.overview.x_of(grabbed_), b = std::clamp(p.pointer().at.x, r.x0, r.x1);
    p.fill({std::min(a, b), r.y0, std::max(a, b), r.y1}, t.accent, 0.35);
  }
  p.mark("minimap", "heads", r, fmt::format("0 to {} heads", n_heads_total(*s.snapshot)));
  p.mark("window", "tokens shown", window);
}

void Atlas::draw_selection(Painter& p, const Scene& s) const {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  const float x1 = std::min(s.axis.x_of(s.seen), s.axis.x1);
  const Rect map{s.axis.x0, s.area.y0, s.axis.x1, s.area.y1};
  const auto row_rect = [&](int layer, std::optional<int> head) {
    Rect r{s.axis.x0, 1e9f, x1, -1e9f};
    for (const AtlasRow& row : s.rows.rows) {
      if (row.layer != layer || (head && row.kv_head >= 0 && row.kv_head != *head)) continue;
      r.y0 = std::min(r.y0, row.y0);
      r.y1 = std::max(r.y1, row.y1);
    }
    return r;
  };
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
    const Rect r = row_rect(*f.hover.layer, f.hover.kv_head);
    if (r.y1 > r.y0) p.frame_rect({map.x0 - 1, r.y0 - 1, x1 + 1, r.y1 + 1}, t.text, 1, 0, 0.45);
  }
  if (f.selection.layer) {
    const Rect r = row_rect(*f.selection.layer, f.selection.kv_head);
    if (r.y1 > r.y0) {
      const Rect outline{map.x0 - 2, r.y0 - 2, x1 + 2, r.y1 + 2};
      p.selection(outline);
      p.mark("selected head",
             fmt::format("L{}", *f.selection.layer) + (f.selection.kv_head ? fmt::format(" H{}", *f.selection.kv_head) : ""), outline);
    }
  }
  if (f.has_focus) {
    const Cell c = cursor_of(f);
    const Rect r = row_rect(c.layer, c.kv_head);
    if (r.y1 > r.y0) p.focus_cursor({s.axis.x_of(c.token), r.y0, std::max(s.axis.x_of(c.token + 1), s.axis.x_of(c.token) + 3), r.y1});
  }
  p.unclip();
}

void Atlas::draw_legend(Painter& p, const Scene& s) const {
  const Theme& t = p.theme();
  p.hline(0, p.canvas().x1, s.legend.y0, t.line, 0.6);
  const float y = s.legend.y0 + p.px(17);
  RampLegend heads{
      "bottom row: heads that represent it", t.sequential, "0", format_count(n_heads_total(*s.snapshot)), false, false, {}, 72};
  float x = 12;
  if (by_score()) {
    RampLegend rows = score_legend(t, s);
    if (legend_width(p, rows) + x + 12 > p.canvas().x1) rows.note.clear();
    x = draw_ramp_legend(p, x, y, rows);
    heads.name = "bottom row: heads";
  } else if (s.binned) {
    std::string unit = s.bin > 1 ? fmt::format("mean of {} tokens", format_count(s.bin)) : std::string();
    if (s.axis.px < 1) unit = fmt::format("1 px = {} tokens, {}", format_mean(1.0 / static_cast<double>(s.axis.px)), unit);
    const std::string name = s.rows.by_layer ? "rows: tokens represented, below it the spread of the heads" : "rows: tokens represented";
    RampLegend rows{name, t.sequential, "0", "100 %", false, false, unit, 72};
    if (legend_width(p, rows) + x + 12 > p.canvas().x1) rows.name = "represented";
    if (legend_width(p, rows) + x + 12 > p.canvas().x1) rows.note.clear();
    x = draw_ramp_legend(p, x, y, rows);
    if (!is_prefill_step(*s.snapshot, s.step)) {
      const std::string_view left = "ticks: left in this step";
      if (x + p.px(16) + p.width_of(Face::caption, left) < p.canvas().x1 - 12) {
        p.fill({x, y - 3, x + kTick, y + 3}, t.text, 0.9);
        x += p.px(9) + p.text({x + p.px(9), y}, left, Face::caption, t.secondary) + p.px(14);
      }
    }
    heads.name = "bottom row: heads";
  } else {
    x = draw_category_legend(p, x, y, kCategoryLegend);
    x = ghost_legend(p, s, x, y);
  }
  const bool prompt_end = s.snapshot->n_prompt > 0 && s.snapshot->n_prompt < s.seen;
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

std::unique_ptr<View> make_atlas(std::shared_ptr<TokenWindow> window) { return std::make_unique<Atlas>(std::move(window)); }

}  // namespace kvscope::viz
