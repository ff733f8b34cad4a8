// SPDX-License-Identifier: Apache-2.0
// The band form of the timeline: thousands of steps, at most one bar a pixel.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "viz/draw/format.h"
#include "viz/views/timeline/timeline_forms.h"

namespace kvscope::viz {
namespace {

constexpr float kPlateFrom = 44;  // height of the area of slots from which the plate of the budget has room in it
constexpr std::array<Category, 5> kSlots = {Category::sink, Category::kept, Category::unread, Category::recent, Category::fresh};

struct Plate {
  Rect rect;
  std::string label;
};

/// The plate of the budget, for when all lines are drawn; nothing where it stands elsewhere.
std::optional<Plate> draw_slots(Painter& p, const TimelineLayout& l, const std::vector<StepSummary>& steps,
                                const std::vector<StepBin>& bins) {
  const Theme& t = p.theme();
  const LaneSnapshot& lane = *lane_of(p.frame());
  const double n_heads = std::max(1, n_heads_total(*p.frame().snapshot));
  double most = std::max(0, lane.slots_asked);
  for (const StepSummary& s : steps) most = std::max(most, s.slots() / n_heads);
  most = std::max(most, 1.0);
  const float half = p.line_height(Face::caption) / 2;
  const std::string label = lane.slots_asked >= 0 ? "budget " + format_count(lane.slots_asked) : std::string();
  // A plate would cover half of a low area: there the budget stands beside it.
  const bool beside = !label.empty() && l.top.height() < p.px(kPlateFrom);
  p.text({kTimelineLabels, l.top.y0 + half - 4}, "slots", Face::caption, t.secondary);
  if (l.top.height() >= 4 * half - 4)
    p.text({kTimelineLabels, l.top.y0 + 3 * half - 4},
           beside ? label : fmt::format("mean of {}", format_count(static_cast<std::int64_t>(n_heads))), Face::caption, t.disabled);
  for (const StepBin& b : bins) {
    const Rect column{l.x_of(b.first), l.top.y0, l.x_of(b.last + 1), l.top.y1};
    std::array<double, kSlots.size()> parts{};
    for (std::size_t i = 0; i < kSlots.size(); ++i) parts[i] = b.mean_counts[static_cast<std::size_t>(kSlots[i])] / n_heads;
    draw_stack(p, column, kSlots, parts, most, p.px(1));
    if (bins.size() <= 1000) {
      p.mark("slots", b.first == b.last ? fmt::format("step {}", b.first) : fmt::format("steps {} to {}", b.first, b.last), column,
             format_precise(std::accumulate(parts.begin(), parts.end(), 0.0)));
    }
  }
  p.hline(l.x0, l.x1, l.top.y1, t.line);
  if (lane.slots_asked < 0) return std::nullopt;
  const float y = std::round(l.top.y1 - static_cast<float>(lane.slots_asked / most) * l.top.height());
  p.dashed({l.x0, y}, {l.x1, y}, t.text, kDashLimit, 1, 0.85);
  p.mark("budget", label, {l.x0, y, l.x1, y + 1}, format_count(lane.slots_asked));
  if (beside) return std::nullopt;
  // Where the area leaves room: at the left while it grows, else on a plate.
  return Plate{{l.x0 + 3, y + 3, l.x0 + p.width_of(Face::mono, label) + 11, y + 3 + 2 * half}, label};
}

void draw_plate(Painter& p, const Plate& plate) {
  p.fill(plate.rect, p.theme().panel, 0.82, 2);
  p.text({plate.rect.x0 + 3, plate.rect.middle_y()}, plate.label, Face::mono, p.theme().text);
  p.mark("budget plate", plate.label, plate.rect);
}

void draw_removed(Painter& p, const TimelineLayout& l, const std::vector<StepSummary>& steps, const std::vector<StepBin>& bins) {
  const Theme& t = p.theme();
  const bool prefill = p.frame().snapshot->prefill_mode;
  int most = 1;
  for (const StepSummary& s : steps) {
    if (!(prefill && s.step == 0)) most = std::max(most, s.evicted + s.merged);
  }
  const float half = p.line_height(Face::caption) / 2;
  p.text({kTimelineLabels, l.counts.y0 + half}, "removed", Face::caption, t.secondary);
  if (l.counts.height() >= 4 * half)
    p.text({kTimelineLabels, l.counts.y0 + 3 * half}, fmt::format("to {} a step", format_count(most)), Face::caption, t.disabled);
  const float gap = l.pitch >= 3 ? 1.0f : 0.0f;
  for (const StepBin& b : bins) {
    if (b.evicted_max + b.merged_max == 0) continue;
    const float x0 = l.x_of(b.first), x1 = l.x_of(b.last + 1) - gap;
    const double all = std::max(most, b.evicted_max + b.merged_max);  // a bar that is cut keeps its proportions
    const auto y_of = [&](int n) { return std::round(l.counts.y1 - static_cast<float>(n / all) * l.counts.height()); };
    const float top = y_of(b.evicted_max + b.merged_max), middle = y_of(b.merged_max);
    p.fill({x0, top, x1, middle}, cell_fill(t, Category::evicted));
    p.fill({x0, middle, x1, l.counts.y1}, t.category[static_cast<std::size_t>(Category::merged)]);
    if (b.evicted_max + b.merged_max > most) {  // the prefill step removes far more than any other: cut, and said so
      p.triangle({x0 - 1, top}, {std::max(x1, x0 + 3) + 1, top}, {(x0 + x1) / 2, top - 5}, t.secondary);
      p.mark("clipped", fmt::format("step {}", b.first), {x0, top - 5, x1, top}, format_count(b.evicted_max + b.merged_max));
    }
  }
}

void draw_kl(Painter& p, const TimelineLayout& l, const std::vector<StepSummary>& steps, const std::vector<StepBin>& bins) {
  const Theme& t = p.theme();
  const double most = kl_scale(steps);
  const float half = p.line_height(Face::caption) / 2;
  const bool two_lines = l.kl.height() >= 4 * half - 4;
  const std::string scale = format_number(most);
  if (l.kl.height() >= 2 * half - 4)
    p.text({kTimelineLabels, l.kl.y0 + half - 4}, two_lines ? "KL, nats" : "KL ≤ " + scale, Face::caption, t.secondary);
  if (two_lines) p.text({kTimelineLabels, l.kl.y0 + 3 * half - 4}, "max " + scale, Face::caption, t.disabled);
  p.hline(l.x0, l.x1, l.kl.y1, t.line);
  const float gap = l.pitch >= 3 ? 1.0f : 0.0f;
  for (const StepBin& b : bins) {
    const float x0 = l.x_of(b.first);
    float x1 = l.x_of(b.last + 1) - gap;
    const auto y_of = [&](double v) {
      return l.kl.y1 - std::round(static_cast<float>(most > 0 ? std::clamp(v / most, 0.0, 1.0) : 0) * l.kl.height());
    };
    const std::string name = b.first == b.last ? fmt::format("step {}", b.first) : fmt::format("steps {} to {}", b.first, b.last);
    if (std::isnan(b.kl_max)) continue;
    float top = y_of(b.kl_max);
    if (b.changed) {  // rare and important: never thinner than 2 px nor lower than 3
      x1 = std::max(x1, x0 + 2);
      top = std::min(top, l.kl.y1 - 3);
      p.fill({x0, top, x1, l.kl.y1}, t.changed);
      p.mark("changed", name, {x0, top, x1, l.kl.y1}, format_number(b.kl_max));
    } else if (top < l.kl.y1) {
      const float low = b.first == b.last ? l.kl.y1 : y_of(b.kl_min);
      p.fill({x0, top, x1, l.kl.y1}, t.secondary, low < l.kl.y1 ? 0.55 : 1);
      if (low < l.kl.y1 && b.first != b.last) p.fill({x0, low, x1, l.kl.y1}, t.secondary);
    }
  }
}

}  // namespace

void draw_stack(Painter& p, const Rect& column, std::span<const Category> kinds, std::span<const double> parts, double whole, float least) {
  const std::vector<int> pixels = stack_pixels(parts, whole, static_cast<int>(column.height()), static_cast<int>(least));
  float y1 = column.y1;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const float y0 = y1 - static_cast<float>(pixels[i]);
    if (pixels[i] > 0) p.fill({column.x0, y0, column.x1, y1}, p.theme().category[static_cast<std::size_t>(kinds[i])]);
    y1 = y0;
  }
}

void draw_step_bands(Painter& p, const TimelineLayout& l, const std::vector<StepSummary>& steps, int step) {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  const auto bins = bin_steps(steps, std::max(1, static_cast<int>(l.x1 - l.x0)));
  const std::optional<Plate> budget = draw_slots(p, l, steps, bins);
  draw_removed(p, l, steps, bins);
  draw_kl(p, l, steps, bins);
  // axis
  TokenAxis axis;
  axis.x0 = l.x0;
  axis.x1 = l.x1;
  axis.px = l.pitch;
  axis.n_tokens = static_cast<int>(steps.size());
  p.text({kTimelineLabels, l.step_y}, "step", Face::caption, t.secondary);
  for (int tick : token_ticks(axis, p.px(70))) {
    const float x = axis.x_of(tick);
    p.text({x + l.pitch / 2, l.step_y}, format_count(tick), Face::caption, t.secondary,
           x + 20 > p.canvas().x1 ? Align::right : Align::centre);
    p.mark("tick", fmt::format("step {}", tick), {x, l.kl.y1, x + 1, l.kl.y1 + 3}, format_count(tick));
  }
  if (f.snapshot->n_prompt > 0 && !f.snapshot->prefill_mode && f.snapshot->n_prompt < static_cast<int>(steps.size())) {
    const float x = std::round(axis.x_of(f.snapshot->n_prompt)) - 1;
    p.dashed({x, l.top.y0}, {x, l.kl.y1}, t.text, kDashPromptEnd, 1, 0.6);
    p.mark("prompt end", fmt::format("step {}", f.snapshot->n_prompt), {x, l.top.y0, x + 1, l.kl.y1});
  }
  if (f.hover.step && *f.hover.step < axis.n_tokens) p.vline(axis.x_of(*f.hover.step) + l.pitch / 2, l.top.y0, l.kl.y1, t.text, 0.45);
  const float x = std::floor(axis.x_of(step) + l.pitch / 2);
  p.fill({x, l.top.y0 - 4, x + 1.5f, l.kl.y1 + 4}, t.accent);
  p.triangle({x - p.px(5), l.top.y0 - 10}, {x + p.px(6), l.top.y0 - 10}, {x + 0.5f, l.top.y0 - 4}, t.accent);
  p.mark("current step", fmt::format("step {}", step), {x, l.top.y0 - 10, x + 1.5f, l.kl.y1 + 4});
  if (budget) draw_plate(p, *budget);
  if (f.has_focus) p.focus_cursor({x - 2, l.top.y0 - 6, x + 4, l.kl.y1 + 4});
}

}  // namespace kvscope::viz
