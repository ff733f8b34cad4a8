// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_marks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/draw/format.h"

namespace kvscope::viz {
namespace {

constexpr float kGlyphPixels = 10;    // cells of this size show the glyph of their category
constexpr int kMaxGlyphCells = 1200;  // each takes up to three shapes and a gap
constexpr float kTextPixels = 36;     // columns of this width show the token
constexpr int kMostPins = 600;        // outlines in one frame; beyond them the ticks above the columns say it
constexpr float kSmallestPin = 4;     // a cell that an outline still fits around
constexpr float kThinPin = 6;         // below this a line of one pixel, or there would be more outline than cell

}  // namespace

void draw_atlas_glyphs(Painter& p, const AtlasScene& s) {
  const int first = s.axis.first_visible(), last = s.axis.last_visible();
  const auto n_cells = static_cast<std::size_t>(std::max(0, last - first + 1)) * s.rows.rows.size();
  if (std::min(s.axis.px, s.rows.cell) < kGlyphPixels || n_cells > kMaxGlyphCells) return;
  const bool with_text = s.axis.px >= kTextPixels && s.rows.cell >= p.px(15) && n_cells < 400;
  for (const AtlasRow& row : s.rows.rows) {
    const std::vector<Category> row_categories = s.categories_of(row, first, last);
    for (int t = first; t <= last; ++t) {
      const Category c = row_categories[static_cast<std::size_t>(t - first)];
      const Rect r{s.axis.x_of(t), row.y0, s.axis.x_of(t + 1) - 1, row.y1};
      p.fill({r.x1, r.y0, r.x1 + 1, r.y1}, p.theme().panel);
      if (p.frame().emphasis && c != *p.frame().emphasis && c != Category::evicted) continue;  // steps back: no glyph
      if (with_text && c != Category::unseen) {
        const std::vector<TokenInfo>& tokens = tokens_of(*s.snapshot, *s.lane);
        const TokenInfo* info = t < static_cast<int>(tokens.size()) ? &tokens[static_cast<std::size_t>(t)] : nullptr;
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

void draw_atlas_ends(Painter& p, const AtlasScene& s) {
  // Tokens that this step has not seen yet: a dashed frame.
  const float seen_x = s.axis.x_of(s.seen), end_x = std::min(s.axis.x_of(s.n_tokens), s.axis.x1) - 1;
  if (!s.rows.rows.empty() && end_x > seen_x + 2) {
    const float y0 = std::max(s.rows.rows.front().y0, s.area.y0), y1 = std::min(s.rows.rows.back().y1, s.area.y1) - 1;
    for (const auto& [a, b] :
         {std::pair<ImVec2, ImVec2>{{seen_x + 2, y0}, {end_x, y0}}, {{end_x, y0}, {end_x, y1}}, {{seen_x + 2, y1}, {end_x, y1}}}) {
      p.dashed(a, b, p.theme().line, kDashPromptEnd);
    }
  }
  if (s.has_prompt_end() && !s.rows.rows.empty()) {
    const float x = std::round(s.axis.x_of(s.snapshot->n_prompt)) - 1;
    p.dashed({x, s.area.y0}, {x, std::min(s.area.y1, s.rows.rows.back().y1)}, p.theme().text, kDashPromptEnd, 1, 0.8);
    p.mark("prompt end", fmt::format("token {}", s.snapshot->n_prompt), {x, s.area.y0, x + 1, s.area.y1});
  }
}

void draw_atlas_rare(Painter& p, const AtlasScene& s) {
  const Theme& t = p.theme();
  std::vector<int> removed(static_cast<std::size_t>(s.axis.x1 - s.axis.x0) + 4, 0);
  const float width = kAtlasTick;
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
  if (!s.prefill()) {  // there it is nearly every column; the map itself shows it
    for (const HeadRecord& h : s.record->heads) {
      for (const Event& e : h.events) {
        if (e.kind == Event::Kind::restore) continue;
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
  if (const int at = column(s.seen - 1); at >= 0 && !s.prefill())
    tick("new", at, 3, t.category[static_cast<std::size_t>(Category::fresh)], 1);
}

void draw_atlas_pins(Painter& p, const AtlasScene& s) {
  const Theme& t = p.theme();
  const int first = s.axis.first_visible(), last = s.axis.last_visible();
  const float cell = std::min(s.axis.px, s.rows.cell);
  const bool outlined = !s.binned && cell >= kSmallestPin;
  const float width = cell < kThinPin ? 1 : 2;
  std::vector<int> heads(static_cast<std::size_t>((s.axis.x1 - s.axis.x0) / kAtlasTick) + 2, 0);
  int n = 0;
  p.clip({s.axis.x0, s.area.y0 - 8, s.axis.x1, s.area.y1});
  for (const AtlasRow& row : s.rows.rows) {
    const auto [from, to] = s.heads_of(row);
    for (int h = from; h <= to; ++h) {
      const auto head = static_cast<std::size_t>(h);
      if (head >= s.record->heads.size()) continue;
      const std::vector<int> done = pins_done(s.record->heads[head], first, last);
      for (std::size_t i = 0, end = 0; i < done.size(); i = end) {
        end = i + 1;
        while (end < done.size() && done[end] == done[end - 1] + 1) ++end;
        const float x0 = s.axis.x_of(done[i]), x1 = s.axis.x_of(done[end - 1] + 1) - 1;
        if (!outlined || ++n > kMostPins) {
          for (std::size_t k = i; k < end; ++k)
            if (const float x = s.axis.x_of(done[k]); x >= s.axis.x0 && x < s.axis.x1)
              ++heads[static_cast<std::size_t>((x - s.axis.x0) / kAtlasTick)];
          continue;
        }
        const Rect around{x0 - 1, row.y0 - 1, x1 + 1, row.y1 + 1};
        p.frame_rect(around, t.accent, width, width > 1 ? 2.0f : 0.0f);
        const std::string tokens = end - i > 1 ? fmt::format("t{}–{}", done[i], done[end - 1]) : fmt::format("t{}", done[i]);
        p.mark("pin", fmt::format("L{} H{} {}", row.layer, h % s.snapshot->model.n_kv_heads, tokens), around,
               fmt::format("pinned by hand, {:g} px", width));
      }
    }
  }
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] == 0) continue;
    const float x = s.axis.x0 + static_cast<float>(i) * kAtlasTick;
    const Rect tick{x, s.area.y0 - 7, x + kAtlasTick, s.area.y0 - 1};
    p.fill(tick, t.accent);
    p.mark("pins", fmt::format("token {}", static_cast<int>(s.axis.token_at(x))), tick, format_count(heads[i]));
  }
  p.unclip();
}

}  // namespace kvscope::viz
