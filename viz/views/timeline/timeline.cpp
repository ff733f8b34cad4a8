// SPDX-License-Identifier: Apache-2.0
#include "viz/views/timeline/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/reduce/range.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

constexpr float kWideColumn = 40;  // pixels that a step needs for its numbers
constexpr float kLabelX = 12;
constexpr float kLegendFrom = 116, kLegendHigh = 132, kStacksFrom = 100, kLeastKl = 14;  // pixels of height
constexpr float kNumberRow = 14;                                                         // distance of the rows of numbers

// From the bottom up.
constexpr std::array<Category, 5> kStack = {Category::sink, Category::kept, Category::merged, Category::recent, Category::fresh};
std::string token_of_id(const Snapshot& s, int id) {
  for (const TokenInfo& t : s.tokens) {
    if (t.id == id) return quoted(token_text(t));
  }
  return "token id " + format_count(id);
}

double largest_kl(const std::vector<StepSummary>& steps) {
  double most = 0;
  for (const StepSummary& s : steps) most = std::fmax(most, s.kl);
  return std::isfinite(most) ? most : 0;
}

}  // namespace

std::string Timeline::facts(const Frame& frame) const {
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr || lane->steps.empty()) return "0 steps";
  update(frame, *lane);
  const std::optional<StepRange> steps = steps_within(*lane, frame.selection.steps);
  if (!steps) return lane->title + " · no step in the range";
  if (!frame.selection.steps) {
    const RunFigures f = run_figures(*frame.snapshot, *lane, false);
    const bool legend = frame.size.y >= kLegendFrom * frame.scale;
    return fmt::format("{} · top choice differs in {} of {} steps{}{}", lane->title, format_count(f.compared - f.top1_same),
                       format_count(f.compared), frame.snapshot->prefill_mode ? " after the prompt" : "",
                       legend ? "" : " · colours as in the atlas");
  }
  if (of_range_ != steps) {
    range_ = run_figures(*frame.snapshot, *lane, steps->first, steps->last);
    of_range_ = steps;
  }
  return fmt::format("{} · top choice differs in {} of {} · mean KL {} · evicted {} · merged {}", lane->title,
                     format_count(range_.compared - range_.top1_same), format_count(range_.compared), format_number(range_.kl.mean()),
                     format_count(range_.evicted), format_count(range_.merged));
}

void Timeline::update(const Frame& frame, const LaneSnapshot& lane) const {
  if (of_fates_ == lane.fates.get() && of_sequence_ == frame.snapshot->sequence && of_lane_ == frame.selection.lane &&
      of_n_steps_ == lane.steps.size())
    return;
  steps_ = summarise_steps(lane, frame.snapshot->prefill_mode);
  of_fates_ = lane.fates.get();
  of_sequence_ = frame.snapshot->sequence;
  of_lane_ = frame.selection.lane;
  of_n_steps_ = lane.steps.size();
  of_range_.reset();
}

Timeline::Layout Timeline::make_layout(const Painter& p, bool wide) const {
  Layout l;
  l.x0 = std::floor(p.px(kLabelColumn));
  l.x1 = std::max(l.x0 + 16, std::floor(p.canvas().x1 - 12));
  const float n = static_cast<float>(std::max<std::size_t>(1, steps_.size()));
  const float exact = (l.x1 - l.x0) / n;
  l.pitch = std::min(exact >= 3 ? std::floor(exact) : exact, p.px(110));
  const float full = p.canvas().height();
  // What is not text shares the height that text leaves: 53 : 30 in columns, 49 : 32 : 20 in bands.
  // A low canvas keeps its numbers: the legend gives way first (the atlas has the same), then the stacks.
  const bool legend = full >= p.px(kLegendFrom), stacks = !wide || full >= p.px(kStacksFrom);
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

void Timeline::draw(const Frame& frame, std::vector<Intent>& intents) {
  Painter p(frame, marks_);
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr || lane->steps.empty()) {
    p.empty("No steps yet", "each step of the model becomes a column here");
    p.finish();
    return;
  }
  update(frame, *lane);
  const float room = p.canvas().x1 - 12 - p.px(kLabelColumn);
  const bool wide = room / static_cast<float>(steps_.size()) >= p.px(kWideColumn);
  const Layout l = make_layout(p, wide);
  const int step = step_of(*lane, frame.selection);
  wide ? draw_columns(p, l, step) : draw_bands(p, l, step);
  draw_range(p, l);
  draw_marks(p, l);
  draw_legend(p, l, wide);
  react(p, l, intents);
  p.finish();
}

void Timeline::draw_columns(Painter& p, const Layout& l, int step) {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  const float half = p.line_height(Face::caption) / 2;
  const bool two_lines = l.top.height() >= 4 * half;
  if (l.top.height() >= p.px(10))
    p.text({kLabelX, two_lines ? l.top.y0 + half : l.top.middle_y()}, two_lines ? "fates" : "fates, %", Face::caption, t.secondary);
  if (two_lines) p.text({kLabelX, l.top.y0 + 3 * half}, "% of tokens", Face::caption, t.disabled);
  const float evicted_y = l.counts.y0 + l.counts.height() / 4, merged_y = evicted_y + l.counts.height() / 2;
  p.text({kLabelX, evicted_y}, "evicted", Face::caption, t.secondary);
  p.text({kLabelX, merged_y}, "merged", Face::caption, t.secondary);
  p.text({kLabelX, l.kl_y}, "KL, nats", Face::caption, t.secondary);
  p.text({kLabelX, l.step_y}, "step", Face::caption, t.secondary);
  const double most = largest_kl(steps_);
  const std::vector<std::string> kl = kl_numbers(p, l.pitch - p.px(5));
  for (const StepSummary& s : steps_) {
    const float x = l.x0 + static_cast<float>(s.step) * l.pitch;
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
    p.fill(bar, s.changed ? t.changed : t.disabled, 1, height > 3 ? 2.0f : 0.0f);
    p.mark("kl", name, bar, format_number(s.kl));
    const std::string& number = kl[static_cast<std::size_t>(s.step)];
    const Face face = s.changed && p.width_of(Face::strong, number) <= l.pitch - p.px(5) ? Face::strong : Face::caption;
    const float half_width = p.width_of(face, number) / 2;
    p.text({column.middle_x(), l.kl_y}, number, face, std::isnan(s.kl) ? t.disabled : ink, Align::centre);
    p.mark("kl number", name, {column.middle_x() - half_width, l.kl_y - half, column.middle_x() + half_width, l.kl_y + half}, number);
    const bool prefill = is_prefill_step(*f.snapshot, s.step);
    p.text({column.middle_x(), l.step_y}, prefill ? "prefill" : format_count(s.step), now ? Face::strong : Face::caption,
           now ? t.accent : t.secondary, Align::centre);
    if (now) {
      const Rect frame_rect{column.x0 - 3, l.top.y0 - 4, column.x1 + 3, l.step_y + half + 3};
      p.selection(frame_rect, 1.5f, 3);
      p.mark("current step", name, frame_rect);
      if (f.has_focus) p.focus_cursor(frame_rect);
    } else if (f.hover.step == s.step) {
      p.frame_rect({column.x0 - 3, l.top.y0 - 4, column.x1 + 3, l.step_y + half + 3}, t.text, 1, 3, 0.4);
    }
  }
  p.hline(l.x0, l.x0 + static_cast<float>(steps_.size()) * l.pitch, l.kl.y1, t.line);
}

/// With as many digits as all of them have room for. What then rounds to nothing says that it is more than that.
std::vector<std::string> Timeline::kl_numbers(const Painter& p, float room) const {
  std::vector<std::string> numbers(steps_.size());
  for (const auto& [digits, brief] : {std::pair(3, false), {3, true}, {2, true}, {1, true}}) {
    bool fits = true;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const double kl = steps_[i].kl;
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

void Timeline::draw_legend(Painter& p, const Layout& l, bool wide) {
  if (l.legend.height() <= 0) return;
  const Theme& t = p.theme();
  const float y = l.legend.middle_y() - 1;
  const std::string_view label = "top choice differs from the reference";
  const float width = p.px(16) + p.width_of(Face::caption, label);
  const float right = p.canvas().x1 - 12;
  const float end = wide || right - width > l.x0 + p.px(330)
                        ? draw_category_legend(p, l.x0, y, std::span(kCategoryLegend).first(right - width > l.x0 + p.px(370) ? 6 : 5))
                        : l.x0;
  if (end + width > right + 1) return;
  const float s = p.px(10), x = std::round(right - width);
  p.fill({x, std::round(y - s / 2), x + s, std::round(y - s / 2) + s}, t.changed);
  p.text({x + p.px(16), y}, label, Face::caption, t.secondary);
  p.mark("legend", std::string(label), {x, y - s / 2, right, y + s / 2});
}

std::vector<std::string> Timeline::tooltip(const Frame& frame, int step) const {
  const LaneSnapshot& lane = *lane_of(frame);
  const StepRecord& r = *lane.steps[static_cast<std::size_t>(step)];
  const StepSummary& s = steps_[static_cast<std::size_t>(step)];
  const double n_heads = std::max(1, n_heads_total(*frame.snapshot));
  std::vector<std::string> lines;
  lines.push_back(fmt::format("step {} · position {} {}", is_prefill_step(*frame.snapshot, step) ? "0 (prefill)" : format_count(step),
                              format_count(r.position), quoted(token_text(*frame.snapshot, r.position))));
  lines.push_back("KL(full ‖ this run) " + format_number(r.kl) + " nats");
  lines.push_back(r.top1_same ? "top choice " + token_of_id(*frame.snapshot, r.top1) + ", as in the reference"
                              : "top choice " + token_of_id(*frame.snapshot, r.top1) + ", the reference has " +
                                    token_of_id(*frame.snapshot, r.top1_reference));
  lines.push_back(fmt::format("evicted {} · merged {}, {} heads", format_count(s.evicted), format_count(s.merged),
                              format_count(static_cast<std::int64_t>(n_heads))));
  lines.push_back("slots " + format_mean(s.slots() / n_heads) +
                  (lane.slots_asked >= 0 ? " of " + format_count(lane.slots_asked) + " asked" : "") + ", mean of heads");
  if (r.ms > 0) lines.push_back("time " + format_ms(r.ms));
  return lines;
}

void Timeline::react(Painter& p, const Layout& l, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  const int last = static_cast<int>(steps_.size()) - 1;
  const float end = l.x0 + l.pitch * static_cast<float>(steps_.size());
  const bool over = m.inside && m.at.x >= l.x0 && m.at.x < end && m.at.y < l.legend.y0;
  const int at = static_cast<int>(std::clamp((m.at.x - l.x0) / l.pitch, 0.0f, static_cast<float>(last)));  // the mouse may be anywhere
  if (brush(p, l, at, intents)) {
    scrubbing_ = false;
    return;
  }
  if (m.pressed) scrubbing_ = over;
  if (scrubbing_ && (m.pressed || (m.dragging && m.moved.x != 0))) {
    intents.push_back(SetStep{at == last ? std::nullopt : std::optional<int>(at)});
  }
  if (!m.down) scrubbing_ = false;
  const int now = over ? at : -1;
  if (now == hovered_) return;
  hovered_ = now;
  HoverAt hover;
  if (now >= 0) {
    hover.hover.step = now;
    hover.tooltip = tooltip(p.frame(), now);
  }
  intents.push_back(std::move(hover));
}

bool Timeline::key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) {
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr || lane->steps.empty()) return false;
  const int last = static_cast<int>(lane->steps.size()) - 1;
  int step = step_of(*lane, frame.selection);
  if (key == "Left")
    step -= 1;
  else if (key == "Right")
    step += 1;
  else if (key == "Shift+Left")
    step -= 10;
  else if (key == "Shift+Right")
    step += 10;
  else if (key == "Home")
    step = 0;
  else if (key == "End")
    step = last;
  else
    return false;
  step = std::clamp(step, 0, last);
  intents.push_back(SetStep{step == last ? std::nullopt : std::optional<int>(step)});
  return true;
}

std::string Timeline::cursor_text(const Frame& frame) const {
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr || lane->steps.empty()) return "no steps";
  update(frame, *lane);
  std::string text;
  for (const std::string& line : tooltip(frame, step_of(*lane, frame.selection))) text += (text.empty() ? "" : "; ") + line;
  return text;
}

Table Timeline::table(const Frame& frame) const {
  Table table;
  table.columns = {"step",     "position",           "evicted", "merged", "slots, mean", "tokens represented", "tokens evicted",
                   "KL, nats", "top choice changed", "ms"};
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr) return table;
  update(frame, *lane);
  const double n_heads = std::max(1, n_heads_total(*frame.snapshot));
  const StepRange steps = steps_within(*lane, frame.selection.steps).value_or(StepRange{0, -1});
  for (int i = steps.first; i <= steps.last; ++i) {
    const StepSummary& s = steps_[static_cast<std::size_t>(i)];
    const double evicted = s.counts[static_cast<std::size_t>(Category::evicted)];
    table.rows.push_back({std::to_string(s.step), std::to_string(s.position), std::to_string(s.evicted), std::to_string(s.merged),
                          format_number(s.slots() / n_heads, 6), format_count(static_cast<std::int64_t>(s.tokens() - evicted)),
                          format_count(static_cast<std::int64_t>(evicted)), format_number(s.kl, 6), s.changed ? "yes" : "no",
                          format_number(s.ms, 4)});
  }
  table.note = fmt::format("tokens are counted once per head, {} heads", format_count(static_cast<std::int64_t>(n_heads)));
  if (frame.selection.steps) table.note += " · only " + range_text(*frame.selection.steps);
  return table;
}

std::unique_ptr<View> make_timeline() { return std::make_unique<Timeline>(); }

}  // namespace kvscope::viz
