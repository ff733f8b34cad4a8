// SPDX-License-Identifier: Apache-2.0
// The range of steps that limits statistics, and the steps that the user marked.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/draw/format.h"
#include "viz/reduce/range.h"
#include "viz/views/timeline/timeline.h"

namespace kvscope::viz {

void Timeline::draw_range(Painter& p, const Layout& l) {
  const LaneSnapshot* lane = lane_of(p.frame());
  if (!p.frame().selection.steps) return;
  const std::optional<StepRange> steps = steps_within(*lane, p.frame().selection.steps);
  const Theme& t = p.theme();
  const float end = l.x0 + l.pitch * static_cast<float>(steps_.size()), bottom = l.legend.y0 - 2;
  const float x0 = steps ? std::round(l.x0 + l.pitch * static_cast<float>(steps->first)) : end;
  const float x1 =
      steps ? std::max(x0 + 2, std::round(l.x0 + l.pitch * static_cast<float>(steps->last + 1)) - (l.pitch > 20 ? p.px(4) : 0)) : end;
  // What does not count recedes; nothing is hidden.
  for (const Rect& outside : {Rect{l.x0 - 1, l.top.y0 - 2, x0, l.kl.y1 + 1}, Rect{x1, l.top.y0 - 2, end, l.kl.y1 + 1}})
    if (outside.x1 > outside.x0) p.fill(outside, t.panel, 0.66);
  if (!steps) return;
  p.fill({x0, l.kl.y1 + 1, x1, bottom}, t.accent, 0.16);
  for (const float x : {x0, x1 - 1.5f}) p.fill({x, l.top.y0 - 4, x + 1.5f, bottom}, t.accent, 0.8);
  p.mark("range", range_text(*steps), {x0, l.top.y0, x1, bottom}, fmt::format("{} steps", steps->last - steps->first + 1));
}

void Timeline::draw_marks(Painter& p, const Layout& l) {
  const Theme& t = p.theme();
  for (const StepMark& mark : p.frame().step_marks) {
    if (mark.step < 0 || mark.step >= static_cast<int>(steps_.size())) continue;
    const float x = std::floor(l.x0 + l.pitch * (static_cast<float>(mark.step) + (l.pitch > 20 ? 0.0f : 0.5f)));
    const Rgb colour = t.runs[static_cast<std::size_t>(mark.colour) % t.runs.size()];
    const float y = l.top.y0 - 6, w = p.px(8), h = p.px(9);
    p.fill({x, y, x + 1.5f, l.kl.y1}, colour, 0.75);
    p.triangle({x, y}, {x + w, y + h / 2}, {x, y + h}, colour);  // a flag
    p.mark("bookmark", mark.name, {x, y, x + w, y + h}, fmt::format("step {}", mark.step));
  }
}

bool Timeline::brush(const Painter& p, const Layout& l, int at, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  if (m.pressed) {
    const bool inside = m.inside && m.at.x >= l.x0 && m.at.y < l.legend.y0;
    brush_from_ = inside && (m.shift || m.at.y > l.kl.y1 + 1) ? at : -1;
    brush_to_ = -1;
  }
  if (brush_from_ < 0) return false;
  if (m.dragging && at != brush_to_) {
    brush_to_ = at;
    Selection next = p.frame().selection;
    next.steps = StepRange{std::min(brush_from_, at), std::max(brush_from_, at)};
    intents.push_back(Select{next});
  }
  const bool clicked = !m.down && brush_to_ < 0;  // no drag: to that step, as everywhere else
  const bool done = !m.down;
  if (clicked && m.released) {
    const int last = static_cast<int>(steps_.size()) - 1;
    intents.push_back(SetStep{at == last ? std::nullopt : std::optional<int>(at)});
  }
  if (done) brush_from_ = -1;
  return !done;
}

}  // namespace kvscope::viz
