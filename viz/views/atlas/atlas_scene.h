// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "viz/draw/draw.h"
#include "viz/reduce/score.h"
#include "viz/views/atlas/atlas_rows.h"

namespace kvscope::viz {

struct AtlasCell {
  int layer = 0, kv_head = 0, token = 0;
  bool operator==(const AtlasCell&) const = default;
};

/// What the colours of the cells mean; the latter three: the scores.
enum class AtlasColour : std::uint8_t { fate, mean, max, min };

inline constexpr float kAtlasAxis = 30, kAtlasMinimap = 24, kAtlasMinimapGap = 7, kAtlasLegend = 33, kAtlasLegendGap = 4;  // heights
inline constexpr float kAtlasCategories = 22, kAtlasMargin = 12;  // of a line of the categories, and beside it

/// What one frame of the atlas shows, and where.
struct AtlasScene {
  const Snapshot* snapshot = nullptr;
  const LaneSnapshot* lane = nullptr;
  const StepRecord* record = nullptr;
  int step = 0;
  int seen = 0;      // tokens seen at the step
  int n_tokens = 0;  // tokens of the whole run
  AtlasColour colour = AtlasColour::fate;
  ScoreRange scores;  // of the step, where scores are shown
  Rect axis_strip, area, minimap, legend;
  Rect categories;  // of a plain picture that stands alone: their legend, which the page has elsewhere
  TokenAxis axis;
  TokenAxis overview;  // of the minimap: all tokens
  AtlasRows rows;
  int bin = 1;                // tokens per texel
  bool binned = false;        // texels stand for several tokens
  int lines = 1;              // texel rows of a row: the layers' second one is the range over their heads
  std::uint64_t version = 0;  // another one for other texels

  bool by_score() const { return colour != AtlasColour::fate; }
  bool prefill() const { return is_prefill_step(*snapshot, step); }
  bool has_prompt_end() const { return snapshot->n_prompt > 0 && snapshot->n_prompt < seen; }
  Rect map() const { return {axis.x0, area.y0, axis.x1, area.y1}; }
  double shown() const { return static_cast<double>(axis.x1 - axis.x0) / axis.px; }  // tokens
  /// Heads [first, last] of a row, layer-major.
  std::pair<int, int> heads_of(const AtlasRow& row) const;
  std::vector<Category> categories_of(const AtlasRow& row, int first, int last) const;
  /// The tokens that look like one with this one.
  TokenRange bin_of(int token) const;
  const AtlasRow* row_at(float y) const;  // nullptr: none
  /// From the top of a layer's rows, or of a head's, to their bottom; y1 < y0: they do not show.
  Rect rows_of(int layer, const std::optional<int>& kv_head) const;
};

/// The selection shows a step of a run.
bool has_cells(const Frame& frame);
/// The parts of the canvas and what the selection shows; nullopt: nothing. Axis, rows and bins are AtlasZoom's to fill in.
std::optional<AtlasScene> make_atlas_scene(const Painter& p, AtlasColour colour);
std::uint64_t version_of(const Frame& frame, const AtlasScene& s);

}  // namespace kvscope::viz
