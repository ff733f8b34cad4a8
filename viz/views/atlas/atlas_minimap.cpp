// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_minimap.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/views/atlas/atlas_zoom.h"

namespace kvscope::viz {

void AtlasMinimap::draw(Painter& p, const AtlasScene& s, const Represented& represented, bool zoomed) {
  if (s.minimap.height() <= 0) return;
  const Theme& t = p.theme();
  fill(p.frame(), s, represented);
  const ImTextureID image = heads_.texture(p.frame());
  const int bin = tokens_per_bin(s.overview.px);
  const Rect r{s.overview.x0, s.minimap.y0 + 1, s.overview.x_end(), s.minimap.y1 - 1};
  p.text({s.area.x0 - p.px(8), r.middle_y()}, "heads", Face::caption, t.secondary, Align::right);
  p.clip(r);
  p.image({r.x0, r.y0, s.overview.x_of(static_cast<double>(heads_.width) * bin), r.y1}, image);
  p.fill({s.overview.x_of(s.seen), r.y0, r.x1, r.y1}, t.panel);
  p.unclip();
  const Rect window{std::round(s.overview.x_of(s.axis.first)) - 1, s.minimap.y0,
                    std::round(std::min(s.overview.x_of(s.axis.first + s.shown()), r.x1)) + 1, s.minimap.y1};
  p.frame_rect(window, t.secondary, zoomed ? 1.5f : 1.0f, 2);
  if (framing_ && p.pointer().dragging) {
    const float a = s.overview.x_of(grabbed_), b = std::clamp(p.pointer().at.x, r.x0, r.x1);
    p.fill({std::min(a, b), r.y0, std::max(a, b), r.y1}, t.accent, 0.35);
  }
  p.mark("minimap", "heads", r, fmt::format("0 to {} heads", n_heads_total(*s.snapshot)));
  p.mark("window", "tokens shown", window);
}

void AtlasMinimap::fill(const Frame& frame, const AtlasScene& s, const Represented& represented) {
  const int bin = tokens_per_bin(s.overview.px);
  std::uint64_t version = 0x9E3779B97F4A7C15ull;
  for (std::uint64_t v :
       {s.snapshot->sequence, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(s.record)), static_cast<std::uint64_t>(bin),
        static_cast<std::uint64_t>(frame.theme->dark), static_cast<std::uint64_t>(s.step)}) {
    version = combine(version, v);
  }
  if (!heads_.begin(version | 1, (s.seen + bin - 1) / bin, 1)) return;
  const auto heads = represented.heads_per_token();
  const double n_heads = std::max<std::size_t>(1, s.lane->fates->heads.size());
  for (int i = 0; i < heads_.width; ++i) {
    const int first = i * bin, last = std::min(first + bin, static_cast<int>(heads.size())) - 1;
    double sum = 0;
    for (int t = first; t <= last; ++t) sum += heads[static_cast<std::size_t>(t)];
    heads_.rgba[static_cast<std::size_t>(i)] = colour(ramp(frame.theme->sequential, sum / (n_heads * std::max(1, last - first + 1))));
  }
}

bool AtlasMinimap::react(const Pointer& m, const AtlasScene& s, TokenWindow& window) {
  if (m.pressed) {
    held_ = Rect{s.overview.x0, s.minimap.y0, s.overview.x1, s.minimap.y1}.contains(m.at);
    if (held_) {
      const double at = s.overview.token_at(m.at.x), shown = s.shown();
      framing_ = window.count <= 0;
      const bool inside = at >= window.first && at < window.first + shown;
      grabbed_ = framing_ ? at : inside ? at - window.first : shown / 2;  // beside the window: it jumps there
    }
  }
  const bool changed = held_ && drag(m, s, window);
  if (!m.down) held_ = framing_ = false;
  return changed;
}

// The window of a zoomed atlas is dragged; where all tokens show, a drag frames the ones to zoom to.
bool AtlasMinimap::drag(const Pointer& m, const AtlasScene& s, TokenWindow& window) {
  const double at = s.overview.token_at(std::clamp(m.at.x, s.overview.x0, s.overview.x1));
  if (!framing_) {
    if (!m.down) return false;
    window.first = at - grabbed_;
    return true;
  }
  if (!m.released || std::abs(m.at.x - m.pressed_at.x) < 4) return false;
  const double first = std::clamp(std::min(at, grabbed_), 0.0, static_cast<double>(s.n_tokens));
  const double last = std::clamp(std::max(at, grabbed_), 0.0, static_cast<double>(s.n_tokens));
  window = {first, std::max(last - first, kFewestTokens)};
  return true;
}

}  // namespace kvscope::viz
