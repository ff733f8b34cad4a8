// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare_strips.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace kvscope::viz {

std::vector<StripScale> strip_scales(float token_px) {
  using Rows = StripScale::Rows;
  std::vector<StripScale> out;
  if (token_px >= 1)
    out = {{Rows::heads, 10, 6}, {Rows::heads, 8, 5}, {Rows::heads, 6, 4}, {Rows::heads, 5, 4},
           {Rows::heads, 4, 3},  {Rows::heads, 3, 3}, {Rows::heads, 2, 2}, {Rows::heads, 1, 1}};
  for (const float px : {6.0f, 4.0f, 3.0f, 2.0f, 1.0f}) out.push_back({Rows::layers, px, px >= 4 ? 1.0f : 0.0f});
  return out;
}

StripWindow strip_window(const TokenAxis& axis, int seen, bool shares) {
  return {axis.first_visible(), std::min(axis.last_visible(), seen - 1), shares ? tokens_per_bin(axis.px) : 1};
}

namespace {

constexpr int kFineBin = 64;     // tokens, a word of bits; wider bins are made of these
constexpr int kFineRoom = 1024;  // tokens: a run that grows is counted anew once per so many

/// Tokens before `seen` in a column of the window.
int tokens_in(int seen, const StripWindow& window, int column) {
  return std::min(window.bin, seen - (window.first / window.bin + column) * window.bin);
}

}  // namespace

std::span<const std::uint32_t> StripTextures::sums_of(const Represented& shown, int bands, const StripWindow& window) {
  Sums& sums = sums_[&shown];
  const int heads = shown.n_heads() / bands;
  std::vector<RepresentedRows::Row> rows;
  for (int band = 0; band < bands; ++band) rows.push_back({band * heads, heads});
  const int first = window.first / window.bin, columns = window.columns();
  if (window.bin <= kFineBin) {
    sums.whole.count(shown, rows, {window.bin, first, columns});
    return sums.whole.sums();
  }
  const int n_fine = (shown.n_tokens() / kFineRoom + 1) * (kFineRoom / kFineBin), per = window.bin / kFineBin;
  sums.whole.count(shown, rows, {kFineBin, 0, n_fine});
  sums.shown.assign(static_cast<std::size_t>(bands * columns), 0);
  for (int band = 0; band < bands; ++band) {
    const std::uint32_t* const fine = sums.whole.sums().data() + static_cast<std::size_t>(band) * static_cast<std::size_t>(n_fine);
    std::uint32_t* const out = sums.shown.data() + static_cast<std::size_t>(band) * static_cast<std::size_t>(columns);
    for (int i = 0; i < columns; ++i) {
      const int from = std::min((first + i) * per, n_fine), end = std::min(from + per, n_fine);
      out[i] = std::accumulate(fine + from, fine + end, std::uint32_t{0});
    }
  }
  return sums.shown;
}

std::string lane_state(const Frame& frame, int lane, int step) {
  const LaneSnapshot& run = frame.snapshot->lanes[static_cast<std::size_t>(lane)];
  const void* record = step >= 0 && step < static_cast<int>(run.steps.size()) ? run.steps[static_cast<std::size_t>(step)].get() : nullptr;
  return fmt::format("{} {} {} {} {} {} {}", frame.snapshot->generation, frame.snapshot->sequence, lane, step, record,
                     static_cast<const void*>(run.fates.get()), frame.theme->dark);
}

StripTextures::Texture StripTextures::get(const Frame& frame, const std::string& key, const std::string& state, const Fill& fill) {
  Entry& entry = entries_[key];
  if (entry.version == 0 || entry.state != state) {
    entry.state = state;
    entry.version = ++versions_;
    entry.pixels.clear();
    fill(entry);
  }
  if (entry.texture.columns <= 0 || entry.height <= 0 || frame.textures == nullptr) return {};
  entry.texture.id = frame.textures->texture(key, entry.version, entry.texture.columns, entry.height, entry.pixels);
  return entry.texture;
}

StripTextures::Texture StripTextures::lane(const Frame& frame, int lane, int step, const Represented& shown, StripScale::Rows rows,
                                           const StripWindow& window) {
  const Snapshot& snapshot = *frame.snapshot;
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  if (run.fates == nullptr || step < 0 || step >= static_cast<int>(run.steps.size())) return {};
  const std::string state =
      lane_state(frame, lane, step) + fmt::format(" {} {} {} {} {}", static_cast<int>(rows), window.first, window.last, window.bin,
                                                  static_cast<int>(frame.emphasis.value_or(Category::unseen)));
  return get(frame, fmt::format("compare.{}", lane), state, [&](Entry& entry) {
    const int n_heads = static_cast<int>(run.fates->heads.size()), columns = window.columns();
    entry.texture = {nullptr, columns, window.first / window.bin * window.bin, window.bin};
    if (rows != StripScale::Rows::heads) {
      const int bands = rows == StripScale::Rows::all ? 1 : std::max(1, snapshot.model.n_layers), heads = n_heads / bands;
      entry.height = bands;
      const std::span<const std::uint32_t> sums = sums_of(shown, bands, window);
      entry.pixels.assign(sums.size(), 0);
      const RampTexels* shares = nullptr;
      for (int tokens = 0, i = 0; i < static_cast<int>(sums.size()); ++i) {
        const int here = tokens_in(shown.n_tokens(), window, i % columns);
        if (here <= 0) continue;
        if (here != tokens) shares = &ramps_.of(frame.theme->sequential, static_cast<std::size_t>(here * heads));
        tokens = here;
        entry.pixels[static_cast<std::size_t>(i)] = (*shares)[sums[static_cast<std::size_t>(i)]];
      }
      return;
    }
    entry.height = n_heads;
    const StepRecord& record = *run.steps[static_cast<std::size_t>(step)];
    for (int head = 0; head < n_heads; ++head) {
      std::vector<Category> row =
          categories(*run.fates, record, head, run.sinks, is_prefill_step(snapshot, step), window.first, window.last);
      row.resize(static_cast<std::size_t>(columns), Category::unseen);
      for (const Category c : row) entry.pixels.push_back(c == Category::unseen ? 0 : colour(cell_fill(*frame.theme, c, frame.emphasis)));
    }
  });
}

StripTextures::Texture StripTextures::difference(const Frame& frame, const std::string& key, const LaneDifference& cells,
                                                 const std::string& state, StripScale::Rows rows, const StripWindow& window) {
  if (cells.empty()) return {};
  const std::string all = state + fmt::format(" {} {} {} {}", static_cast<int>(rows), window.first, window.last, window.bin);
  return get(frame, key, all, [&](Entry& entry) {
    const int columns = window.columns();
    entry.texture = {nullptr, columns, window.first / window.bin * window.bin, window.bin};
    if (rows == StripScale::Rows::heads) {
      entry.height = cells.n_heads();
      for (int h = 0; h < cells.n_heads(); ++h) {
        for (int t = window.first; t <= window.last; ++t) entry.pixels.push_back(colour(difference_fill(*frame.theme, cells.at(h, t))));
      }
      return;
    }
    const int bands = rows == StripScale::Rows::all ? 1 : std::max(1, frame.snapshot->model.n_layers), heads = cells.n_heads() / bands;
    entry.height = bands;
    const std::span<const std::uint32_t> a = sums_of(cells.a(), bands, window), b = sums_of(cells.b(), bands, window);
    entry.pixels.assign(a.size(), 0);
    const RampTexels* balances = nullptr;
    for (int tokens = 0, i = 0; i < static_cast<int>(a.size()); ++i) {
      const auto k = static_cast<std::size_t>(i);
      const int of_a = tokens_in(cells.a().n_tokens(), window, i % columns), of_b = tokens_in(cells.b().n_tokens(), window, i % columns);
      if (of_a <= 0 || of_b <= 0) continue;
      if (cells.parted() && entry.texture.first + (i % columns + 1) * window.bin > cells.n_alike()) continue;  // of two texts in part
      if (of_a != of_b) {  // one of them has seen more of the last bin
        const double balance = b[k] / static_cast<double>(of_b * heads) - a[k] / static_cast<double>(of_a * heads);
        entry.pixels[k] = colour(ramp(frame.theme->diverging, 0.5 + 0.5 * balance));
        continue;
      }
      const int n = of_a * heads;
      if (of_a != tokens) balances = &ramps_.of(frame.theme->diverging, 2 * static_cast<std::size_t>(n));
      tokens = of_a;
      entry.pixels[k] =
          (*balances)[static_cast<std::size_t>(n + static_cast<int>(b[k]) - static_cast<int>(a[k]))];  // 0: only in a, 2 n: only in b
    }
  });
}

void draw_bands(Painter& p, const StripTextures::Texture& texture, const Rect& area, const TokenAxis& axis, const StripScale& scale,
                int n_layers, int n_kv_heads) {
  if (texture.id == nullptr || n_layers <= 0) return;
  const float height = scale.band_height(n_kv_heads);
  const int bands = scale.n_bands(n_layers);
  const float x0 = axis.x_of(texture.first), x1 = axis.x_of(texture.first + static_cast<double>(texture.columns) * texture.bin);
  p.clip({axis.x0, area.y0 - 1, axis.x_end(), area.y1 + 1});
  for (int band = 0; band < bands; ++band) {
    const float y = area.y0 + static_cast<float>(band) * (height + scale.gap);
    const float n = static_cast<float>(bands);
    p.image({x0, y, x1, y + height}, texture.id, {0, static_cast<float>(band) / n}, {1, static_cast<float>(band + 1) / n});
  }
  p.unclip();
}

int head_at(float y, const Rect& strip, const StripScale& scale, int n_layers, int n_kv_heads) {
  if (y < strip.y0 || y >= strip.y1 || scale.rows == StripScale::Rows::all) return -1;
  const float height = scale.band_height(n_kv_heads), pitch = height + scale.gap;
  const int layer = std::min(n_layers - 1, static_cast<int>((y - strip.y0) / pitch));
  if (scale.shares()) return layer * n_kv_heads;
  const float inside = std::min(y - strip.y0 - static_cast<float>(layer) * pitch, height - 0.01f);
  return layer * n_kv_heads + static_cast<int>(inside / scale.px);
}

Rgb difference_fill(const Theme& theme, Difference d) {
  switch (d) {
    case Difference::only_a:
      return ramp(theme.diverging, theme.dark ? 0.13 : 0.2);
    case Difference::only_b:
      return ramp(theme.diverging, theme.dark ? 0.87 : 0.8);
    case Difference::both:
      return mix(theme.panel, theme.secondary, theme.dark ? 0.42 : 0.6);
    case Difference::neither:
      break;
  }
  return mix(theme.panel, theme.line, theme.dark ? 0.45 : 0.55);
}

}  // namespace kvscope::viz
