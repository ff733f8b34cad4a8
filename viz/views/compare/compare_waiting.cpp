// SPDX-License-Identifier: Apache-2.0
// Runs that are asked for and not there yet: thin rows below those that are.
#include <algorithm>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/views/compare/compare.h"

namespace kvscope::viz {

namespace {

constexpr std::size_t kMost = 4;  // rows; how many more there are is said

}  // namespace

float Compare::waiting_height(const Painter& p) {
  const std::size_t n = p.frame().waiting.size();
  if (n == 0) return 0;
  return p.px(compare::kWaiting) * static_cast<float>(std::min(n, kMost) + (n > kMost ? 1 : 0)) + p.px(4);
}

void Compare::draw_waiting(Painter& p, Rect area, const TokenAxis& axis) {
  cancels_.clear();
  const std::span<const WaitingRun> waiting = p.frame().waiting;
  if (waiting.empty()) return;
  const Theme& t = p.theme();
  p.hline(area.x0, right_ + p.px(compare::kRemove), area.y0, t.line, 0.8);
  area.cut_top(p.px(4));
  for (std::size_t i = 0; i < std::min(waiting.size(), kMost); ++i) {
    const WaitingRun& run = waiting[i];
    const Rect row = area.cut_top(p.px(compare::kWaiting));
    const float y = row.middle_y();
    p.ring({row.x0 + p.px(24), y}, p.px(3.6f), run.running ? t.accent : t.disabled, 1.3f);
    const float x = row.x0 + p.px(38), room = axis.x0 - p.px(16) - x;
    const float title = p.text_fit({x, y}, run.title, Face::body, t.secondary, room);
    if (title + p.px(40) < room) p.text_fit({x + title + p.px(8), y}, run.budget, Face::caption, t.disabled, room - title - p.px(8));
    const Rect strip{axis.x0, y - p.px(5), std::max(axis.x0 + 40, axis.x_end()), y + p.px(5)};
    p.frame_rect(strip, t.line, 1, 2);
    if (run.running)
      p.fill({strip.x0 + 1, strip.y0 + 1, strip.x0 + 1 + static_cast<float>(run.progress) * (strip.width() - 2), strip.y1 - 1}, t.accent,
             0.75, 1);
    const std::string state = run.running ? "running, " + format_percent(run.progress) : i == 0 ? "waiting: next" : "waiting";
    p.text({strip.x1 + p.px(14), y}, state, Face::caption, run.running ? t.text : t.disabled);
    const float side = p.px(18);
    const Rect cancel{right_ + p.px(4), y - side / 2, right_ + p.px(4) + side, y + side / 2};
    const bool hot = p.pointer().inside && cancel.contains(p.pointer().at);
    if (hot) p.fill(cancel, t.raised, 1, 4);
    const float d = p.px(3.5f);
    const ImVec2 c(cancel.middle_x(), cancel.middle_y());
    p.line({c.x - d, c.y - d}, {c.x + d, c.y + d}, hot ? t.text : t.disabled, 1.4f);
    p.line({c.x - d, c.y + d}, {c.x + d, c.y - d}, hot ? t.text : t.disabled, 1.4f);
    p.mark("waiting", fmt::format("run {}", run.id), row, run.title + " · " + run.budget + " · " + state);
    p.mark("button", fmt::format("cancel run {}", run.id), cancel);
    cancels_.emplace_back(run.id, cancel);
  }
  if (waiting.size() > kMost) {
    const Rect row = area.cut_top(p.px(compare::kWaiting));
    const std::string text = fmt::format("and {} more, waiting: Tools, Jobs lists them", waiting.size() - kMost);
    p.text({row.x0 + p.px(38), row.middle_y()}, text, Face::caption, t.disabled);
    p.mark("note", "waiting", row, text);
  }
}

bool Compare::react_waiting(const Painter& p, std::vector<Intent>& intents) {
  for (const auto& [id, cancel] : cancels_) {
    if (!cancel.contains(p.pointer().at)) continue;
    hover_.at(Hover{}, {"Cancel this run"}, intents);
    if (p.pointer().clicked) intents.push_back(CancelRun{id});
    return true;
  }
  return false;
}

}  // namespace kvscope::viz
