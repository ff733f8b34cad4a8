// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas.h"

#include <fmt/core.h>

#include <algorithm>

#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/reduce/no_tokens.h"
#include "viz/views.h"
#include "viz/views/atlas/atlas_frames.h"
#include "viz/views/atlas/atlas_marks.h"
#include "viz/views/atlas/atlas_text.h"

namespace kvscope::viz {

std::string Atlas::facts(const Frame& frame) const {
  const LaneSnapshot* lane = lane_of(frame);
  const StepRecord* record = record_of(frame);
  if (lane == nullptr || record == nullptr) return no_tokens(frame.snapshot).title;
  std::string text = fmt::format("step {} · {} heads × {} tokens", format_count(step_of(*lane, frame.selection)),
                                 format_count(n_heads_total(*frame.snapshot)), format_count(tokens_seen(*record)));
  const float px = zoom_.px();
  if (px >= 3) text += fmt::format(" · {} px = 1 token", format_mean(px));
  if (px >= 1 && px < 3) text += fmt::format(" · {} px = 1 token", format_number(static_cast<double>(px)));
  if (px > 0 && px < 1) text += fmt::format(" · 1 px = {} tokens", format_mean(1.0 / static_cast<double>(px)));
  return text;
}

float Atlas::preferred_height(const Frame& frame) const {
  if (lane_of(frame) == nullptr) return 0;
  const ModelConfig& m = frame.snapshot->model;
  const float rows = std::min(ideal_rows_height(m.n_layers, m.n_kv_heads, frame.scale), 620 * frame.scale);
  return rows + (kAtlasAxis + kAtlasMinimapGap + kAtlasMinimap + kAtlasLegendGap + kAtlasLegend) * frame.scale;
}

std::vector<Option> Atlas::options() const {
  return {{"colour", {"fate", "score, mean", "score, max", "score, min"}, static_cast<int>(colour_), true}};
}

void Atlas::choose(std::size_t option, int choice) {
  if (option == 0 && choice >= 0 && choice <= static_cast<int>(AtlasColour::min)) colour_ = static_cast<AtlasColour>(choice);
}

void Atlas::draw(const Frame& frame, std::vector<Intent>& intents) {
  Painter p(frame, marks_);
  std::optional<AtlasScene> scene = make_atlas_scene(p, colour_);
  if (!scene) {
    const auto [title, sentence] = no_tokens(frame.snapshot);
    p.empty(title, sentence);
    p.finish();
    return;
  }
  AtlasScene& s = *scene;
  zoom_.place(p, s);
  const bool zoomed = zoom_.react(p, s), dragged = minimap_.react(p.pointer(), s, zoom_.window());
  if (zoomed || dragged) zoom_.place(p, s);
  represented_.show(*s.lane, s.step);
  draw_token_axis(p, s.axis_strip, s.axis, "key (past)", frame.selection.tokens);
  draw_cells(p, s);
  ghosts_.draw(p, s);
  const AtlasCell cursor = cursor_.of(frame);
  if (frame.plain) {
    draw_plain_atlas(p, s, cursor);
    if (frame.alone && !s.binned) draw_category_lines(p, s.categories, p.px(kAtlasCategories), category_items(*s.lane));
  } else {
    draw_atlas_labels(p, s);
    minimap_.draw(p, s, represented_, zoom_.window().count > 0);
    draw_atlas_selection(p, s, cursor);
    draw_atlas_legend(p, s);
  }
  react(p, s, intents);
  p.finish();
}

void Atlas::draw_cells(Painter& p, const AtlasScene& s) {
  p.clip(s.map());
  map_.draw(p, s, represented_);
  if (!s.binned && !s.by_score()) draw_atlas_glyphs(p, s);
  draw_atlas_ends(p, s);
  p.unclip();
  if (s.binned) draw_atlas_rare(p, s);
  draw_atlas_pins(p, s);
}

std::string Atlas::cursor_text(const Frame& frame) const {
  if (!has_cells(frame)) return "no tokens";
  const LaneSnapshot& lane = *lane_of(frame);
  const AtlasCell c = cursor_.of(frame);
  std::string text;
  for (const std::string& line :
       token_tooltip(*frame.snapshot, lane, step_of(lane, frame.selection), head_index(*frame.snapshot, c.layer, c.kv_head), c.token)) {
    if (!text.empty()) text += "; ";
    text += line;
  }
  return text;
}

Table Atlas::table(const Frame& frame) const { return atlas_table(frame); }

std::unique_ptr<View> make_atlas(std::shared_ptr<TokenWindow> window) { return std::make_unique<Atlas>(std::move(window)); }

}  // namespace kvscope::viz
