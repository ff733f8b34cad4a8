// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_ghosts.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "viz/draw/format.h"
#include "viz/reduce/ghosts.h"

namespace kvscope::viz {
namespace {

constexpr float kPeriod = 6, kStripe = 3;  // of the hatching, pixels at 100 %

}  // namespace

void AtlasGhosts::draw(Painter& p, const AtlasScene& s) {
  const int until = ghosts_until(*s.lane, s.step, p.frame().ghost_steps);
  if (p.frame().ghost_steps < 1 || until <= s.step || s.binned || s.rows.rows.empty()) return;
  const int width = static_cast<int>(std::ceil(s.axis.x1 - s.axis.x0)), height = static_cast<int>(std::ceil(s.area.height()));
  if (width < 1 || height < 1) return;
  // One texture of the size of the map: lines over every cell would be more marks than a canvas may have.
  std::uint64_t version = s.version;
  for (const double v :
       {static_cast<double>(until), static_cast<double>(width), static_cast<double>(height), static_cast<double>(s.axis.px), s.axis.first,
        static_cast<double>(s.rows.rows.front().y0), static_cast<double>(s.rows.cell)})
    version = (version ^ std::bit_cast<std::uint64_t>(v)) * 0x100000001B3ull;
  const int first = s.axis.first_visible(), last = std::min(s.axis.last_visible(), s.seen - 1);
  if (stripes_.begin(version | 1, width, height)) {
    const std::uint32_t stripe = colour(cell_fill(p.theme(), Category::evicted));
    const int period = std::max(3, static_cast<int>(std::lround(p.px(kPeriod)))),
              thick = std::max(1, static_cast<int>(std::lround(p.px(kStripe))));
    for (const AtlasRow& row : s.rows.rows) {
      const int head = s.heads_of(row).first;
      const std::vector<char> goes = leaving(s.lane->fates->heads[static_cast<std::size_t>(head)], s.step, until, first, last);
      const int y0 = std::max(0, static_cast<int>(row.y0 - s.area.y0)), y1 = std::min(height, static_cast<int>(row.y1 - s.area.y0));
      for (std::size_t i = 0; i < goes.size(); ++i) {
        if (!goes[i]) continue;
        const double token = first + static_cast<double>(i);
        const int x0 = std::max(0, static_cast<int>(s.axis.x_of(token) - s.axis.x0));
        const int x1 = std::min(width, static_cast<int>(s.axis.x_of(token + 1) - s.axis.x0));
        for (int y = y0; y < y1; ++y)
          for (int x = x0; x < x1; ++x)
            if ((x + y) % period < thick)
              stripes_.rgba[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)] = stripe;
      }
    }
  }
  const ImTextureID image = stripes_.texture(p.frame());
  p.clip({s.axis.x0, s.area.y0, s.axis.x1, s.area.y1});
  p.image({s.axis.x0, s.area.y0, s.axis.x0 + static_cast<float>(width), s.area.y0 + static_cast<float>(height)}, image);
  p.unclip();
  p.mark("ghosts", fmt::format("steps {} to {}", s.step + 1, until), {s.axis.x0, s.area.y0, s.axis.x1, s.area.y1});
}

float draw_ghost_legend(Painter& p, const AtlasScene& s, float x, float y) {
  const int ahead = p.frame().ghost_steps;
  if (ahead < 1 || s.binned) return x;
  const Theme& t = p.theme();
  const bool known = ghosts_until(*s.lane, s.step, ahead) > s.step;
  const std::string words =
      known ? fmt::format("leaves within {} step{}", format_count(ahead), ahead == 1 ? "" : "s") : "no later step is known";
  const float side = p.px(10), swatch = p.px(16);
  const Rect r{x, y - side / 2, x + side, y + side / 2};
  p.fill(r, t.category[static_cast<std::size_t>(Category::kept)]);
  p.clip(r);
  for (float at = -side; at < side; at += p.px(kPeriod) * 0.8f)
    p.line({r.x0 + at, r.y1}, {r.x0 + at + side, r.y0}, cell_fill(t, Category::evicted), p.px(1.6f));
  p.unclip();
  x += swatch + p.text({x + swatch, y}, words, Face::caption, t.secondary) + p.px(14);
  p.mark("legend", "ghosts", r, words);
  return x;
}

}  // namespace kvscope::viz
