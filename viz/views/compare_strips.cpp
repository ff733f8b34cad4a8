// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare_strips.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kvscope::viz {

std::vector<StripScale> strip_scales(float token_px) {
  std::vector<StripScale> out;
  if (token_px >= 1) out = {{false, 5, 4}, {false, 4, 3}, {false, 3, 3}, {false, 2, 2}, {false, 1, 1}};
  for (const float px : {6.0f, 4.0f, 3.0f, 2.0f, 1.0f}) out.push_back({true, px, px >= 4 ? 1.0f : 0.0f});
  return out;
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

StripTextures::Texture StripTextures::lane(const Frame& frame, int lane, int step, bool by_layer, int columns) {
  const Snapshot& snapshot = *frame.snapshot;
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  if (run.fates == nullptr || step < 0 || step >= static_cast<int>(run.steps.size())) return {};
  const StepRecord& record = *run.steps[static_cast<std::size_t>(step)];
  const int seen = tokens_seen(record);
  const std::string state = lane_state(frame, lane, step) + fmt::format(" {} {}", by_layer, by_layer ? columns : seen);
  return get(frame, fmt::format("compare.{}", lane), state, [&](Entry& entry) {
    if (by_layer) {
      const int bins = std::max(1, std::min(columns, seen)), n_layers = snapshot.model.n_layers;
      entry.texture = {nullptr, bins, seen};
      entry.height = n_layers;
      for (const float share : kept_by_layer(run, step, n_layers, seen, bins)) {
        entry.pixels.push_back(std::isfinite(share) ? colour(ramp(frame.theme->sequential, static_cast<double>(share))) : 0);
      }
      return;
    }
    const int n_heads = static_cast<int>(run.fates->heads.size());
    entry.texture = {nullptr, seen, seen};
    entry.height = n_heads;
    entry.pixels.reserve(static_cast<std::size_t>(seen) * static_cast<std::size_t>(n_heads));
    for (int head = 0; head < n_heads; ++head) {
      std::vector<Category> row = categories_of(snapshot, run, step, head);
      row.resize(static_cast<std::size_t>(seen), Category::unseen);
      for (const Category c : row) entry.pixels.push_back(c == Category::unseen ? 0 : colour(cell_fill(*frame.theme, c)));
    }
  });
}

StripTextures::Texture StripTextures::difference(const Frame& frame, const LaneDifference& cells, const std::string& state, bool by_layer,
                                                 int columns) {
  if (cells.cells.empty()) return {};
  return get(frame, "compare.difference", state + fmt::format(" {} {}", by_layer, by_layer ? columns : 0), [&](Entry& entry) {
    if (!by_layer) {
      entry.texture = {nullptr, cells.n_tokens, cells.n_tokens};
      entry.height = cells.n_heads;
      for (const Difference d : cells.cells) entry.pixels.push_back(colour(difference_fill(*frame.theme, d)));
      return;
    }
    const int n_layers = std::max(1, frame.snapshot->model.n_layers), heads = cells.n_heads / n_layers;
    const int bins = std::max(1, std::min(columns, cells.n_tokens));
    entry.texture = {nullptr, bins, cells.n_tokens};
    entry.height = n_layers;
    for (int layer = 0; layer < n_layers; ++layer) {
      std::vector<int> balance(static_cast<std::size_t>(bins)), all(static_cast<std::size_t>(bins));
      for (int h = layer * heads; h < (layer + 1) * heads; ++h) {
        for (int t = 0; t < cells.n_tokens; ++t) {
          const auto bin = static_cast<std::size_t>(static_cast<std::int64_t>(t) * bins / cells.n_tokens);
          const Difference d = cells.at(h, t);
          balance[bin] += d == Difference::only_b ? 1 : d == Difference::only_a ? -1 : 0;
          ++all[bin];
        }
      }
      for (std::size_t b = 0; b < balance.size(); ++b) {
        const double share = all[b] > 0 ? static_cast<double>(balance[b]) / all[b] : 0;
        entry.pixels.push_back(colour(ramp(frame.theme->diverging, 0.5 + 0.5 * share)));
      }
    }
  });
}

void draw_layers(Painter& p, const StripTextures::Texture& texture, const Rect& area, const TokenAxis& axis, const StripScale& scale,
                 int n_layers, int n_kv_heads) {
  if (texture.id == nullptr || n_layers <= 0) return;
  const float height = scale.layer_height(n_kv_heads);
  const float x1 = std::min(axis.x1, axis.x_of(texture.tokens));
  for (int layer = 0; layer < n_layers; ++layer) {
    const float y = area.y0 + static_cast<float>(layer) * (height + scale.gap);
    const float n = static_cast<float>(n_layers);
    p.image({axis.x0, y, x1, y + height}, texture.id, {0, static_cast<float>(layer) / n}, {1, static_cast<float>(layer + 1) / n});
  }
}

int head_at(float y, const Rect& strip, const StripScale& scale, int n_layers, int n_kv_heads) {
  if (y < strip.y0 || y >= strip.y1) return -1;
  const float height = scale.layer_height(n_kv_heads), pitch = height + scale.gap;
  const int layer = std::min(n_layers - 1, static_cast<int>((y - strip.y0) / pitch));
  if (scale.by_layer) return layer * n_kv_heads;
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
