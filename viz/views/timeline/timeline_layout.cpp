// SPDX-License-Identifier: Apache-2.0
#include "viz/views/timeline/timeline_layout.h"

#include <algorithm>
#include <cmath>

namespace kvscope::viz {
namespace {

constexpr float kLegendFrom = 116, kLegendHigh = 132, kStacksFrom = 100, kLeastKl = 14;  // pixels of height
constexpr float kNumberRow = 14;                                                         // distance of the rows of numbers

}  // namespace

bool timeline_has_legend(float height, float scale) { return height >= kLegendFrom * scale; }

TimelineLayout lay_out_timeline(const Painter& p, std::size_t n_steps, bool wide) {
  TimelineLayout l;
  l.x0 = std::floor(p.px(kLabelColumn));
  l.x1 = std::max(l.x0 + 16, std::floor(p.canvas().x1 - 12));
  const float n = static_cast<float>(std::max<std::size_t>(1, n_steps));
  const float exact = (l.x1 - l.x0) / n;
  l.pitch = std::min(exact >= 3 ? std::floor(exact) : exact, p.px(110));
  const float full = p.canvas().height();
  // What is not text shares the height that text leaves: 53 : 30 in columns, 49 : 32 : 20 in bands.
  // A low canvas keeps its numbers: the legend gives way first (the atlas has the same), then the stacks.
  const bool legend = timeline_has_legend(full, p.frame().scale), stacks = !wide || full >= p.px(kStacksFrom);
  const float legend_height = !legend ? 0 : full >= p.px(kLegendHigh) ? p.px(22) : p.px(16);
  const float text = (wide ? p.px(62 + kNumberRow) : p.px(44)) + legend_height, bars = std::max(20.0f, full - text);
  Rect rest = p.canvas();
  l.legend = rest.cut_bottom(legend_height);
  rest.cut_top(wide ? 6 : 10);
  if (wide) {
    l.top = rest.cut_top(stacks ? std::floor(std::min(bars * 0.6f, bars - p.px(kLeastKl))) : 0);
    rest.cut_top(stacks ? p.px(8) : 0);
    const Rect step = rest.cut_bottom(p.px(18));
    l.step_y = step.middle_y();
    const float row = std::min(p.px(kNumberRow), rest.height() / 3);  // the lowest canvas has the numbers only
    l.counts = rest.cut_top(2 * row);
    l.kl_y = rest.cut_top(row).middle_y();
    rest.cut_top(std::min(p.px(4), rest.height()));
  } else {
    l.top = rest.cut_top(std::floor(bars * 0.47f));
    rest.cut_top(p.px(7));
    l.counts = rest.cut_top(std::floor(bars * 0.30f));
    const Rect step = rest.cut_bottom(p.px(20));
    l.step_y = step.middle_y();
    rest.cut_top(p.px(8));
  }
  l.kl = rest;
  return l;
}

}  // namespace kvscope::viz
