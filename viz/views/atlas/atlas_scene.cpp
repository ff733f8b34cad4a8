// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_scene.h"

#include <algorithm>

#include "viz/draw/legend.h"
#include "viz/views/atlas/atlas_texels.h"

namespace kvscope::viz {
namespace {

struct PartsBelow {
  bool minimap, legend;
};

/// The rows are what an atlas is for: where every head can have one of its own once they go, first the minimap gives way, then the legend.
PartsBelow parts_below(const Painter& p, float height) {
  const ModelConfig& m = p.frame().snapshot->model;
  const bool plain = p.frame().plain;
  const float needed = least_rows_height(m.n_layers, m.n_kv_heads);
  const float legend = p.px(kAtlasLegend + kAtlasLegendGap), minimap = plain ? 0 : p.px(kAtlasMinimap + kAtlasMinimapGap);
  if (plain || height - legend - minimap >= needed || height < needed) return {!plain, true};
  return {false, height - legend >= needed};
}

}  // namespace

bool has_cells(const Frame& frame) {
  const LaneSnapshot* lane = lane_of(frame);
  return lane != nullptr && record_of(frame) != nullptr && lane->fates != nullptr && !lane->fates->heads.empty();
}

std::optional<AtlasScene> make_atlas_scene(const Painter& p, AtlasColour colour) {
  const Frame& frame = p.frame();
  if (!has_cells(frame)) return std::nullopt;
  AtlasScene s;
  s.snapshot = frame.snapshot;
  s.lane = lane_of(frame);
  s.record = record_of(frame);
  s.step = step_of(*s.lane, frame.selection);
  s.seen = std::min(tokens_seen(*s.record), s.lane->fates->n_tokens);
  s.n_tokens = std::max(s.lane->fates->n_tokens, s.seen);
  Rect rest = p.canvas();
  s.axis_strip = rest.cut_top(p.px(kAtlasAxis));
  const auto [minimap, legend] = parts_below(p, rest.height());
  s.legend = rest.cut_bottom(legend ? p.px(kAtlasLegend) : 0);
  if (frame.plain && frame.alone) {
    const int lines = category_lines(p, rest.width() - 2 * kAtlasMargin, category_items(*s.lane));
    s.categories = rest.cut_bottom(p.px(kAtlasCategories) * static_cast<float>(lines)).inset(kAtlasMargin, 0);
  }
  rest.cut_bottom(legend ? p.px(kAtlasLegendGap) : 0);
  s.minimap = rest.cut_bottom(minimap ? p.px(kAtlasMinimap) : 0);
  if (minimap) rest.cut_bottom(p.px(kAtlasMinimapGap));
  s.area = rest;
  s.colour = colour;
  if (s.by_score()) s.scores = score_range(*s.record);
  return s;
}

std::uint64_t version_of(const Frame& frame, const AtlasScene& s) {
  std::uint64_t k = 0xCBF29CE484222325ull;
  const auto add = [&k](auto v) { k = combine(k, static_cast<std::uint64_t>(v)); };
  add(s.snapshot->sequence);
  add(s.snapshot->generation);
  add(reinterpret_cast<std::uintptr_t>(s.lane->fates.get()));
  add(reinterpret_cast<std::uintptr_t>(s.record));
  add(s.step);
  add(frame.theme->dark);
  add(frame.emphasis ? static_cast<int>(*frame.emphasis) + 1 : 0);
  add(s.bin);
  add(s.binned);
  add(s.colour);
  add(s.axis.first_visible());
  add(s.axis.last_visible());
  add(s.rows.by_layer);
  add(s.rows.rows.size());
  if (!s.rows.rows.empty()) {
    add(s.rows.rows.front().layer);
    add(s.rows.rows.front().kv_head);
  }
  return k | 1;
}

std::pair<int, int> AtlasScene::heads_of(const AtlasRow& row) const {
  const int n_kv = snapshot->model.n_kv_heads;
  return {head_index(*snapshot, row.layer, std::max(0, row.kv_head)),
          head_index(*snapshot, row.layer, row.kv_head < 0 ? n_kv - 1 : row.kv_head)};
}

std::vector<Category> AtlasScene::categories_of(const AtlasRow& row, int first, int last) const {
  return kvscope::categories(*lane->fates, *record, head_index(*snapshot, row.layer, row.kv_head), lane->sinks, prefill(), first, last);
}

TokenRange AtlasScene::bin_of(int token) const {
  const int first = binned ? token / bin * bin : token;
  return {first, binned ? std::min(first + bin, seen) - 1 : token};
}

const AtlasRow* AtlasScene::row_at(float y) const {
  const AtlasRow* best = nullptr;
  float distance = 3;  // gaps snap to the nearest row
  for (const AtlasRow& row : rows.rows) {
    const float d = y < row.y0 ? row.y0 - y : y >= row.y1 ? y - row.y1 + 0.01f : 0;
    if (d < distance) {
      distance = d;
      best = &row;
    }
  }
  return y >= area.y0 - 1 && y < area.y1 + 1 ? best : nullptr;
}

Rect AtlasScene::rows_of(int layer, const std::optional<int>& kv_head) const {
  Rect r{axis.x0, 1e9f, std::min(axis.x_of(seen), axis.x1), -1e9f};
  for (const AtlasRow& row : rows.rows) {
    if (row.layer != layer || (kv_head && row.kv_head >= 0 && row.kv_head != *kv_head)) continue;
    r.y0 = std::min(r.y0, row.y0);
    r.y1 = std::max(r.y1, row.y1);
  }
  return r;
}

}  // namespace kvscope::viz
