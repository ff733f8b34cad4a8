// SPDX-License-Identifier: Apache-2.0
#include "viz/views/timeline/step_range.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/reduce/range.h"

namespace kvscope::viz {

void draw_step_range(Painter& p, const TimelineLayout& l, const LaneSnapshot& lane) {
  if (!p.frame().selection.steps) return;
  const std::optional<StepRange> steps = steps_within(lane, p.frame().selection.steps);
  const Theme& t = p.theme();
  const float end = l.x_of(static_cast<int>(lane.steps.size())), bottom = l.legend.y0 - 2;
  const float x0 = steps ? std::round(l.x_of(steps->first)) : end;
  const float x1 = steps ? std::max(x0 + 2, std::round(l.x_of(steps->last + 1)) - (l.pitch > 20 ? p.px(4) : 0)) : end;
  // What does not count recedes; nothing is hidden.
  for (const Rect& outside : {Rect{l.x0 - 1, l.top.y0 - 2, x0, l.kl.y1 + 1}, Rect{x1, l.top.y0 - 2, end, l.kl.y1 + 1}})
    if (outside.x1 > outside.x0) p.fill(outside, t.panel, 0.66);
  if (!steps) return;
  p.fill({x0, l.kl.y1 + 1, x1, bottom}, t.accent, 0.16);
  for (const float x : {x0, x1 - 1.5f}) p.fill({x, l.top.y0 - 4, x + 1.5f, bottom}, t.accent, 0.8);
  p.mark("range", range_text(*steps), {x0, l.top.y0, x1, bottom}, fmt::format("{} steps", steps->last - steps->first + 1));
}

void draw_step_marks(Painter& p, const TimelineLayout& l, int n_steps) {
  const Theme& t = p.theme();
  for (const StepMark& mark : p.frame().step_marks) {
    if (mark.step < 0 || mark.step >= n_steps) continue;
    const float x = std::floor(l.x0 + l.pitch * (static_cast<float>(mark.step) + (l.pitch > 20 ? 0.0f : 0.5f)));
    const Rgb colour = t.runs[static_cast<std::size_t>(mark.colour) % t.runs.size()];
    const float y = l.top.y0 - 6, w = p.px(8), h = p.px(9);
    p.fill({x, y, x + 1.5f, l.kl.y1}, colour, 0.75);
    p.triangle({x, y}, {x + w, y + h / 2}, {x, y + h}, colour);  // a flag
    p.mark("bookmark", mark.name, {x, y, x + w, y + h}, fmt::format("step {}", mark.step));
  }
}

SetStep go_to(int step, int n_steps) { return {step == n_steps - 1 ? std::nullopt : std::optional<int>(step)}; }

bool StepBrush::react(const Painter& p, const TimelineLayout& l, int at, int n_steps, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  if (m.pressed) {
    const bool inside = m.inside && m.at.x >= l.x0 && m.at.y < l.legend.y0;
    from_ = inside && (m.shift || m.at.y > l.kl.y1 + 1) ? at : -1;
    to_ = -1;
  }
  if (from_ < 0) return false;
  if (m.dragging && at != to_) {
    to_ = at;
    Selection next = p.frame().selection;
    next.steps = StepRange{std::min(from_, at), std::max(from_, at)};
    intents.push_back(Select{next});
  }
  const bool clicked = !m.down && to_ < 0;  // no drag: to that step, as everywhere else
  const bool done = !m.down;
  if (clicked && m.released) intents.push_back(go_to(at, n_steps));
  if (done) from_ = -1;
  return !done;
}

}  // namespace kvscope::viz
