// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace kvscope::viz {

void AtlasMap::draw(Painter& p, const AtlasScene& s, const Represented& represented) {
  s.by_score() ? fill_scores(p.frame(), s) : s.binned ? fill_fractions(p.frame(), s, represented) : fill_categories(p.frame(), s);
  const ImTextureID image = cells_.texture(p.frame());
  const int first = s.binned ? s.axis.first_visible() / s.bin * s.bin : s.axis.first_visible();
  const float x0 = s.axis.x_of(first), x1 = s.axis.x_of(first + static_cast<double>(cells_.width) * (s.binned ? s.bin : 1));
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
           s.by_score() ? "score"
           : s.binned   ? "represented"
                        : "category");
  }
}

void AtlasMap::fill_categories(const Frame& frame, const AtlasScene& s) {
  const int first = s.axis.first_visible(), last = s.axis.last_visible();
  if (!cells_.begin(s.version, last - first + 1, static_cast<int>(s.rows.rows.size()))) return;
  std::array<std::uint32_t, kCategories> texel{};
  for (int c = 1; c < kCategories; ++c)
    texel[static_cast<std::size_t>(c)] = colour(cell_fill(*frame.theme, static_cast<Category>(c), frame.emphasis));
  auto* out = cells_.rgba.data();
  for (const AtlasRow& row : s.rows.rows) {
    const std::vector<Category> row_categories = s.categories_of(row, first, last);
    for (std::size_t i = 0; i < row_categories.size(); ++i) out[i] = texel[static_cast<std::size_t>(row_categories[i])];
    out += cells_.width;
  }
}

void AtlasMap::fill_fractions(const Frame& frame, const AtlasScene& s, const Represented& represented) {
  const int first_bin = s.axis.first_visible() / s.bin, last_bin = s.axis.last_visible() / s.bin;
  const int lines = s.lines;  // mean, range
  if (!cells_.begin(s.version, last_bin - first_bin + 1, lines * static_cast<int>(s.rows.rows.size()))) return;
  const auto width = static_cast<std::size_t>(cells_.width);
  std::vector<RepresentedRows::Row> rows;
  for (const AtlasRow& row : s.rows.rows) {
    const auto [from, to] = s.heads_of(row);
    rows.push_back({from, to - from + 1});
  }
  counts_.count(represented, rows, {s.bin, first_bin, cells_.width}, lines == 2);
  std::uint32_t* out = cells_.rgba.data();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::uint32_t* const sum = counts_.sums().data() + r * width;
    const std::uint32_t* const low = lines == 2 ? counts_.lows().data() + r * width : nullptr;
    const std::uint32_t* const high = lines == 2 ? counts_.highs().data() + r * width : nullptr;
    // All bins but the last have as many tokens.
    const auto n_heads = static_cast<std::size_t>(rows[r].n_heads), bin = static_cast<std::size_t>(s.bin);
    const std::size_t full = std::min(width, static_cast<std::size_t>(std::max(0, s.seen / s.bin - first_bin)));
    const RampTexels& shares = ramps_.of(frame.theme->sequential, bin * n_heads);
    for (std::size_t i = 0; i < full; ++i) out[i] = shares[sum[i]];
    const RampTexels& ranges = ramps_.of(frame.theme->sequential, bin);
    for (std::size_t i = 0; lines == 2 && i < full; ++i) out[width + i] = ranges[high[i] - low[i]];
    if (const int rest = s.seen - (first_bin + static_cast<int>(full)) * s.bin; full < width && rest > 0) {
      out[full] = colour(ramp(frame.theme->sequential, sum[full] / (static_cast<double>(rest) * static_cast<double>(n_heads))));
      if (lines == 2) out[width + full] = colour(ramp(frame.theme->sequential, (high[full] - low[full]) / static_cast<double>(rest)));
    }
    out += width * static_cast<std::size_t>(lines);
  }
}

void AtlasMap::fill_scores(const Frame& frame, const AtlasScene& s) {
  const int bin = s.binned ? s.bin : 1;
  const int first_bin = s.axis.first_visible() / bin, last_bin = s.axis.last_visible() / bin;
  if (!cells_.begin(s.version, last_bin - first_bin + 1, static_cast<int>(s.rows.rows.size()))) return;
  const auto width = static_cast<std::size_t>(cells_.width);
  const ScoreOf what = s.colour == AtlasColour::max ? ScoreOf::max : s.colour == AtlasColour::min ? ScoreOf::min : ScoreOf::mean;
  std::vector<float> scores(width);
  std::uint32_t* out = cells_.rgba.data();
  for (const AtlasRow& row : s.rows.rows) {
    const auto [from, to] = s.heads_of(row);
    bin_scores(*s.record, from, to, bin, first_bin, what, scores);
    for (std::size_t i = 0; i < width; ++i) {
      const auto score = static_cast<double>(scores[i]);
      if (!std::isnan(score)) out[i] = colour(ramp(frame.theme->sequential, s.scores.place(score)));
    }
    out += width;
  }
}

}  // namespace kvscope::viz
