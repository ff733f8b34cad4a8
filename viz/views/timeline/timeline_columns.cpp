// SPDX-License-Identifier: Apache-2.0
// The timeline of few steps: a column each, with its numbers.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "viz/draw/format.h"
#include "viz/views/timeline/timeline_forms.h"

namespace kvscope::viz {
namespace {

// From the bottom up.
constexpr std::array<Category, 6> kStack = {Category::sink,   Category::kept,   Category::unread,
                                            Category::merged, Category::recent, Category::fresh};

/// With as many digits as all of them have room for. What then rounds to nothing says that it is more than that.
std::vector<std::string> kl_numbers(const Painter& p, const std::vector<StepSummary>& steps, float room) {
  std::vector<std::string> numbers(steps.size());
  for (const auto& [digits, brief] : {std::pair(3, false), {3, true}, {2, true}, {1, true}}) {
    bool fits = true;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double kl = steps[i].kl;
      std::string text = format_number(kl, digits);
      if (brief && text.starts_with("0.")) text.erase(0, 1);
      if (brief && kl < 0.001 && p.width_of(Face::caption, text) > room) text = "<.001";
      fits = fits && p.width_of(Face::caption, text) <= room;
      numbers[i] = std::move(text);
    }
    if (fits) break;
  }
  return numbers;
}

}  // namespace

double kl_scale(const std::vector<StepSummary>& steps) {
  double most = 10 * kSameNats;
  for (const StepSummary& s : steps)
    if (std::isfinite(s.kl)) most = std::max(most, s.kl);
  return most;
}

void draw_step_columns(Painter& p, const TimelineLayout& l, const std::vector<StepSummary>& steps, int step) {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  const float half = p.line_height(Face::caption) / 2;
  const bool two_lines = l.top.height() >= 4 * half;
  if (l.top.height() >= p.px(10))
    p.text({kTimelineLabels, two_lines ? l.top.y0 + half : l.top.middle_y()}, two_lines ? "fates" : "fates, %", Face::caption, t.secondary);
  if (two_lines) p.text({kTimelineLabels, l.top.y0 + 3 * half}, "% of tokens", Face::caption, t.disabled);
  const float evicted_y = l.counts.y0 + l.counts.height() / 4, merged_y = evicted_y + l.counts.height() / 2;
  p.text({kTimelineLabels, evicted_y}, "evicted", Face::caption, t.secondary);
  p.text({kTimelineLabels, merged_y}, "merged", Face::caption, t.secondary);
  p.text({kTimelineLabels, l.kl_y}, "KL, nats", Face::caption, t.secondary);
  p.text({kTimelineLabels, l.step_y}, "step", Face::caption, t.secondary);
  const double most = kl_scale(steps);
  const bool bars = l.kl.height() >= 3;  // lower ones would only strike the numbers out
  const std::vector<std::string> kl = kl_numbers(p, steps, l.pitch - p.px(5));
  for (const StepSummary& s : steps) {
    const float x = l.x_of(s.step);
    const Rect column{x, l.top.y0, x + l.pitch - p.px(4), l.top.y1};
    const bool now = s.step == step;
    const Rgb ink = now ? t.text : t.secondary;
    // fates: what is represented from the bottom up, the rest of the frame is evicted
    std::array<double, kStack.size()> parts{};
    for (std::size_t i = 0; i < kStack.size(); ++i) parts[i] = s.counts[static_cast<std::size_t>(kStack[i])];
    draw_stack(p, column, kStack, parts, std::max(1.0, s.tokens()), p.px(2));
    if (column.height() > 0) p.frame_rect(column, t.evicted_outline, 1, 0, 0.55);
    const std::string name = fmt::format("step {}", s.step);
    p.mark("column", name, {x, l.top.y0, x + l.pitch, l.step_y + half}, fmt::format("{} evicted, {} merged", s.evicted, s.merged));
    p.text({column.middle_x(), evicted_y}, format_count(s.evicted), Face::caption, ink, Align::centre);
    p.text({column.middle_x(), merged_y}, format_count(s.merged), Face::caption, ink, Align::centre);
    // KL
    const float base = l.kl.y1;
    const float height = most > 0 && !std::isnan(s.kl) ? static_cast<float>(std::clamp(s.kl / most, 0.0, 1.0)) * l.kl.height() : 0;
    const Rect bar{x + p.px(8), base - std::max(1.0f, std::round(height)), column.x1 - p.px(8), base};
    if (bars) p.fill(bar, s.changed ? t.changed : t.disabled, 1, height > 3 ? 2.0f : 0.0f);
    p.mark("kl", name, bar, format_number(s.kl));
    const std::string& number = kl[static_cast<std::size_t>(s.step)];
    const Face face = s.changed && p.width_of(Face::strong, number) <= l.pitch - p.px(5) ? Face::strong : Face::caption;
    const float half_width = p.width_of(face, number) / 2;
    p.text({column.middle_x(), l.kl_y}, number, face, std::isnan(s.kl) ? t.disabled : ink, Align::centre);
    p.mark("kl number", name, {column.middle_x() - half_width, l.kl_y - half, column.middle_x() + half_width, l.kl_y + half}, number);
    // By the number that everything else names it by, whatever was read in it.
    const Face step_face = now ? Face::strong : Face::caption;
    std::string step_name = format_count(s.step);
    if (const std::string said = step_name + " (prefill)";
        is_prefill_step(*f.snapshot, s.step) && p.width_of(step_face, said) <= l.pitch - p.px(5))
      step_name = said;
    p.text({column.middle_x(), l.step_y}, step_name, step_face, now ? t.accent : t.secondary, Align::centre);
    p.mark("step name", name, {x, l.step_y - half, column.x1, l.step_y + half}, step_name);
    if (now) {
      const Rect frame_rect{column.x0 - 3, l.top.y0 - 4, column.x1 + 3, l.step_y + half + 3};
      p.selection(frame_rect, 1.5f, 3);
      p.mark("current step", name, frame_rect);
      Rect focus = frame_rect;
      if (l.legend.height() > 0) focus.y1 = std::min(focus.y1, l.legend.y0 - 2);  // its line lies outside, and not on the legend's words
      if (f.has_focus) p.focus_cursor(focus);
    } else if (f.hover.step == s.step) {
      p.frame_rect({column.x0 - 3, l.top.y0 - 4, column.x1 + 3, l.step_y + half + 3}, t.text, 1, 3, 0.4);
    }
  }
  if (bars) p.hline(l.x0, l.x_of(static_cast<int>(steps.size())), l.kl.y1, t.line);
}

}  // namespace kvscope::viz
