// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viz/draw/draw.h"

namespace kvscope::viz {

/// One entry of a category legend.
struct LegendItem {
  Category category = Category::kept;
  std::string_view label;  // empty: category_name
};
/// All categories that a token can have, by their own names.
inline constexpr std::array<LegendItem, 6> kCategoryLegend = {{{Category::sink, {}},
                                                               {Category::kept, {}},
                                                               {Category::merged, {}},
                                                               {Category::recent, {}},
                                                               {Category::fresh, {}},
                                                               {Category::evicted, {}}}};
/// The same by their words in this run, and "not read" where its queries leave pages out.
std::vector<LegendItem> category_items(const LaneSnapshot& lane);

/// A ramp legend: name, low end, ramp, high end, then a note ("√ scale · sum of |x|, this step").
struct RampLegend {
  std::string name;  // "bottom row: heads that represent it"; may be empty
  std::span<const Rgb> colours;
  std::string low, high;                           // printed ends of the range
  bool clipped_low = false, clipped_high = false;  // values beyond: a mark at that end
  std::string note;                                // unit, scale, level of detail
  float width = 72;                                // of the ramp itself
};

// Legends are drawn from x on around y; each returns the x after it.
float draw_category_legend(Painter& p, float x, float y, std::span<const LegendItem> items);
/// The same in lines of this height, as many as `area` is narrow; and how many these are.
void draw_category_lines(Painter& p, const Rect& area, float line, std::span<const LegendItem> items);
int category_lines(const Painter& p, float width, std::span<const LegendItem> items);
float draw_prompt_end_legend(Painter& p, float x, float y, std::string_view label = "prompt ends");
float draw_ramp_legend(Painter& p, float x, float y, const RampLegend& legend);
float legend_width(const Painter& p, const RampLegend& legend);

}  // namespace kvscope::viz
