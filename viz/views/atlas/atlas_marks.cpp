// SPDX-License-Identifier: Apache-2.0
// What the atlas shows besides fates: scores as colours, and the pins that were set by hand.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/draw/format.h"
#include "viz/views/atlas/atlas.h"

namespace kvscope::viz {
namespace {

constexpr int kMostPins = 600;     // outlines in one frame; beyond them the ticks above the columns say it
constexpr float kSmallestPin = 4;  // a cell that an outline still fits around
constexpr float kThinPin = 6;      // below this a line of one pixel, or there would be more outline than cell
constexpr float kPinTick = 3;

}  // namespace

std::vector<Option> Atlas::options() const {
  return {{"colour", {"fate", "score, mean", "score, max", "score, min"}, static_cast<int>(colour_)}};
}

void Atlas::choose(std::size_t option, int choice) {
  if (option == 0 && choice >= 0 && choice <= static_cast<int>(Colour::min)) colour_ = static_cast<Colour>(choice);
}

void Atlas::fill_scores(const Frame& frame, const Scene& s) {
  const std::uint64_t version = scene_key(frame, s);
  if (cells_.version == version) return;
  const int bin = s.binned ? s.bin : 1;
  const int first_bin = s.axis.first_visible() / bin, last_bin = s.axis.last_visible() / bin;
  cells_.version = version;
  cells_.width = std::max(1, last_bin - first_bin + 1);
  cells_.height = std::max<int>(1, static_cast<int>(s.rows.rows.size()));
  const auto width = static_cast<std::size_t>(cells_.width);
  cells_.rgba.assign(width * static_cast<std::size_t>(cells_.height), 0);
  const ScoreOf what = colour_ == Colour::max ? ScoreOf::max : colour_ == Colour::min ? ScoreOf::min : ScoreOf::mean;
  const int n_kv = s.snapshot->model.n_kv_heads;
  std::vector<float> scores(width);
  std::uint32_t* out = cells_.rgba.data();
  for (const AtlasRow& row : s.rows.rows) {
    const int from = row.kv_head < 0 ? 0 : row.kv_head, to = row.kv_head < 0 ? n_kv - 1 : row.kv_head;
    bin_scores(*s.record, head_index(*s.snapshot, row.layer, from), head_index(*s.snapshot, row.layer, to), bin, first_bin, what, scores);
    for (std::size_t i = 0; i < width; ++i) {
      const auto score = static_cast<double>(scores[i]);
      if (!std::isnan(score)) out[i] = colour(ramp(frame.theme->sequential, s.scores.place(score)));
    }
    out += width;
  }
}

RampLegend Atlas::score_legend(const Theme& theme, const Scene& s) const {
  const char* const what = colour_ == Colour::max ? "largest" : colour_ == Colour::min ? "smallest" : "mean";
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

// Pins are outlines, never fills: one around each run of neighbours, so that it does not hide the fates it holds, and only where the head
// has the slot that it was told to keep. Where cells are too small they are ticks above the columns, as everything else that is rare.
void Atlas::draw_pins(Painter& p, const Scene& s) const {
  const Theme& t = p.theme();
  const int first = s.axis.first_visible(), last = s.axis.last_visible();
  const float cell = std::min(s.axis.px, s.rows.cell);
  const bool outlined = !s.binned && cell >= kSmallestPin;
  const float width = cell < kThinPin ? 1 : 2;
  std::vector<int> heads(static_cast<std::size_t>((s.axis.x1 - s.axis.x0) / kPinTick) + 2, 0);
  int n = 0;
  p.clip({s.axis.x0, s.area.y0 - 8, s.axis.x1, s.area.y1});
  for (const AtlasRow& row : s.rows.rows) {
    const int from = row.kv_head < 0 ? 0 : row.kv_head, to = row.kv_head < 0 ? s.snapshot->model.n_kv_heads - 1 : row.kv_head;
    for (int h = from; h <= to; ++h) {
      const auto head = static_cast<std::size_t>(head_index(*s.snapshot, row.layer, h));
      if (head >= s.record->heads.size()) continue;
      const std::vector<int> done = pins_done(s.record->heads[head], first, last);
      for (std::size_t i = 0, end = 0; i < done.size(); i = end) {
        end = i + 1;
        while (end < done.size() && done[end] == done[end - 1] + 1) ++end;
        const float x0 = s.axis.x_of(done[i]), x1 = s.axis.x_of(done[end - 1] + 1) - 1;
        if (!outlined || ++n > kMostPins) {
          for (std::size_t k = i; k < end; ++k)
            if (const float x = s.axis.x_of(done[k]); x >= s.axis.x0 && x < s.axis.x1)
              ++heads[static_cast<std::size_t>((x - s.axis.x0) / kPinTick)];
          continue;
        }
        const Rect around{x0 - 1, row.y0 - 1, x1 + 1, row.y1 + 1};
        p.frame_rect(around, t.accent, width, width > 1 ? 2.0f : 0.0f);
        const std::string tokens = end - i > 1 ? fmt::format("t{}–{}", done[i], done[end - 1]) : fmt::format("t{}", done[i]);
        p.mark("pin", fmt::format("L{} H{} {}", row.layer, h, tokens), around, fmt::format("pinned by hand, {:g} px", width));
      }
    }
  }
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] == 0) continue;
    const float x = s.axis.x0 + static_cast<float>(i) * kPinTick;
    const Rect tick{x, s.area.y0 - 7, x + kPinTick, s.area.y0 - 1};
    p.fill(tick, t.accent);
    p.mark("pins", fmt::format("token {}", static_cast<int>(s.axis.token_at(x))), tick, format_count(heads[i]));
  }
  p.unclip();
}

}  // namespace kvscope::viz
