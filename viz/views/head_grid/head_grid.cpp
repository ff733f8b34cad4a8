// SPDX-License-Identifier: Apache-2.0
#include "viz/views/head_grid/head_grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/reduce/disagreement.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/no_tokens.h"
#include "viz/reduce/range.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

constexpr float kLabelWidth = 41, kHeaderHeight = 28, kLegendHeight = 36;
constexpr float kCellWidth = 70, kCellHeight = 35, kGap = 3;
constexpr float kMostGrowth = 3.5f;                     // of a cell in a large panel
constexpr double kRounding = 1e-6;                      // of single precision, summed up: smaller values are no finding, and are dark
constexpr int kManyHeads = 256;                         // beyond, no reader goes through the marks of all cells
constexpr float kNumberWidth = 34, kNumberHeight = 14;  // least cell that holds a number

}  // namespace

bool changed_by_hand(const Frame& frame, std::size_t head) {
  const LaneSnapshot* lane = lane_of(frame);
  const StepRecord* record = record_of(frame);
  if (lane == nullptr || record == nullptr || head >= record->heads.size()) return false;
  if (record->heads[head].overridden || !pins_done(record->heads[head], 0, record->position).empty()) return true;
  if (lane->spec.find('@') == std::string::npos) return false;  // nothing was done by hand: no step has to be looked through
  for (int s = 0; s <= record->step; ++s) {
    const auto& heads = lane->steps[static_cast<std::size_t>(s)]->heads;
    if (head < heads.size() && std::ranges::any_of(heads[head].events, &Event::by_hand)) return true;
  }
  return false;
}

Rect HeadGrid::Grid::cell(int layer, int head) const {
  const auto column = static_cast<float>(order.column_of[static_cast<std::size_t>(head)]),
             row = static_cast<float>(order.row_of[static_cast<std::size_t>(layer)]);
  const float x = area.x0 + column * (cell_w + gap), y = area.y0 + row * (cell_h + gap);
  return {x, y, x + cell_w, y + cell_h};
}

double HeadGrid::Scale::at(double v) const {
  if (!(highest > 0) || v < kRounding) return 0;
  const double t = std::clamp(v / highest, 0.0, 1.0);
  return root ? std::sqrt(t) : t;
}

std::string HeadGrid::facts(const Frame&) const { return std::string(metric_name(metric_)) + (sorted_ ? " · sorted" : ""); }

double HeadGrid::value_of(const Frame& frame, int head, HeadMetric metric) const {
  if (const auto habit = habit_in(metric)) {
    const int n_kv_heads = std::max(1, frame.snapshot->model.n_kv_heads);
    return habit_of(*frame.snapshot, *habit, head / n_kv_heads, head % n_kv_heads);
  }
  if (metric == HeadMetric::cause) return frame.causes != nullptr ? frame.causes->saved(head) : kNotAvailable;
  const LaneSnapshot* lane = lane_of(frame);
  const StepRecord* record = record_of(frame);
  if (lane == nullptr || record == nullptr || head < 0 || head >= static_cast<int>(record->heads.size())) return kNotAvailable;
  if (metric == HeadMetric::disagreement) return disagreement_of(frame)[static_cast<std::size_t>(head)];
  if (!frame.selection.steps) return head_metric(record->heads[static_cast<std::size_t>(head)], metric, tokens_seen(*record));
  if (metric == HeadMetric::votes_lost) return votes_lost_within(*lane, *frame.selection.steps, head);
  return head_statistics(*lane, *frame.selection.steps, head,
                         [metric](const HeadRecord& h, int seen) { return head_metric(h, metric, seen); })
      .mean();
}

const std::vector<double>& HeadGrid::disagreement_of(const Frame& frame) const {
  const StepRecord* record = record_of(frame);
  const auto key = std::make_tuple(record, frame.snapshot->generation, frame.snapshot->sequence);
  if (disagreement_of_ != key) {
    disagreement_ = disagreement(*record);
    disagreement_of_ = key;
  }
  return disagreement_;
}

const std::vector<double>& HeadGrid::values_of(const Frame& frame) const {
  const LaneSnapshot* lane = lane_of(frame);
  const Key key{frame.snapshot->sequence, frame.selection.lane, lane ? step_of(*lane, frame.selection) : -1, frame.selection.steps,
                metric_};
  const StepRecord* record = record_of(frame);
  const std::size_t n = record ? record->heads.size() : 0;
  if (frame.selection.steps && metric_ != HeadMetric::cause && of_ == key && values_.size() == n) return values_;
  values_.clear();
  for (std::size_t h = 0; h < n; ++h) values_.push_back(value_of(frame, static_cast<int>(h), metric_));
  of_ = key;
  return values_;
}

std::string HeadGrid::unit_text(const Frame& frame) const {
  const std::string unit = metric_unit(*frame.snapshot, metric_);
  const bool framed = frame.causes != nullptr && std::ranges::find(frame.causes->returns, 1) != frame.causes->returns.end();
  if (metric_ == HeadMetric::cause && framed) return unit + ", framed: right answer";
  if (!frame.selection.steps || habit_in(metric_) || is_of_one_step(metric_)) return unit;
  // "sum of |x|, this step": what stands before the comma holds for a range, too
  const std::string first = unit.substr(0, unit.find(','));
  return fmt::format("{}, {} {}", first, metric_ == HeadMetric::votes_lost ? "sum of" : "mean of", range_text(*frame.selection.steps));
}

std::vector<Option> HeadGrid::options() const {
  Option metric{"metric", {}, static_cast<int>(metric_), true};
  for (int i = 0; i < kHeadMetrics; ++i) metric.choices.push_back(metric_name(static_cast<HeadMetric>(i)));
  return {metric};
}

std::vector<Switch> HeadGrid::switches() const {
  return {{"Sort the head &grid by its metric\tS",
           "Layers and heads by the largest value they have, the largest first; again: the order of the model", sorted_}};
}

void HeadGrid::choose(std::size_t option, int choice) {
  if (option == 0 && choice >= 0 && choice < kHeadMetrics) metric_ = static_cast<HeadMetric>(choice);
}

float HeadGrid::preferred_height(const Frame& frame) const {
  if (frame.snapshot == nullptr || frame.snapshot->model.n_layers == 0) return 0;
  const float n = static_cast<float>(frame.snapshot->model.n_layers);
  return std::min(620.0f, kHeaderHeight + kLegendHeight + n * (kCellHeight + kGap) + 14) * frame.scale;
}

HeadGrid::Grid HeadGrid::layout(const Painter& p, Rect area) const {
  const ModelConfig& m = p.frame().snapshot->model;
  Grid g;
  g.n_layers = m.n_layers;
  g.n_heads = m.n_kv_heads;
  area.cut_left(p.px(kLabelWidth));
  area.cut_right(12);
  const float rows = static_cast<float>(g.n_layers), columns = static_cast<float>(g.n_heads);
  g.gap = area.width() / columns < 12 || area.height() / rows < 9 ? 1 : kGap;
  const auto fit = [&](float room, float n, float ideal) {
    const float cell = std::min((room + g.gap) / n - g.gap, ideal);
    return std::max(1.0f, cell >= 4 ? std::floor(cell) : cell);
  };
  // Beyond the ideal size cells grow, so that a small model does not leave a large panel empty.
  g.cell_w = fit(area.width(), columns, p.px(kMostGrowth * kCellWidth));
  g.cell_h = fit(area.height(), rows, p.px(kMostGrowth * kCellHeight));
  g.area = {std::floor(area.x0), std::floor(area.y0), area.x1, area.y1};
  g.order = order_of(p.frame());
  return g;
}

HeadGrid::Scale HeadGrid::scale_of(const Frame& frame, const std::vector<double>& values) const {
  Scale s;
  // All that can be saved, from the first head on: colours do not change while others are measured.
  if (metric_ == HeadMetric::cause && frame.causes != nullptr && std::isfinite(frame.causes->kl_without))
    s.highest = frame.causes->kl_without;
  double lowest = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    s.highest = std::max(s.highest, v);
    if (v > 0) lowest = lowest > 0 ? std::min(lowest, v) : v;
  }
  s.floor = s.highest > 0 && s.highest < kRounding;
  if (s.floor) s.highest = kRounding;
  s.root = !s.floor && spans_two_decades(std::max(lowest, kRounding), s.highest);
  return s;
}

void HeadGrid::draw(const Frame& frame, std::vector<Intent>& intents) {
  Painter p(frame, marks_);
  const StepRecord* record = record_of(frame);
  const bool wants_theta = metric_ == HeadMetric::theta;
  if (record != nullptr && frame.snapshot->measures.theta != wants_theta)
    intents.push_back(WantMeasure{WantMeasure::What::theta, wants_theta});
  const bool wants_causes = metric_ == HeadMetric::cause;
  if (wants_causes != wants_causes_ || (wants_causes && frame.causes != nullptr && frame.causes->n_heads == 0))
    intents.push_back(WantMeasure{WantMeasure::What::causes, wants_causes});
  wants_causes_ = wants_causes;
  if (record == nullptr || record->heads.empty()) {
    capture_.none();
    p.empty(no_tokens(frame.snapshot).title, "one cell per layer and KV head");
    p.finish();
    return;
  }
  Rect rest = p.canvas();
  const Rect legend = rest.cut_bottom(p.px(kLegendHeight));
  rest.cut_top(p.px(kHeaderHeight));
  const Grid g = layout(p, rest);
  const std::vector<double>& values = values_of(frame);
  const Scale scale = scale_of(frame, values);
  draw_corner(p, g);
  draw_cells(p, g, scale, values);
  draw_legend(p, legend, scale);
  react(p, g, intents);
  p.finish();
}

namespace {

constexpr double kNearZero = 0.02;  // of the largest
constexpr double kChance = 0.001;   // of the largest

/// "4e−4", "−3e−2": one digit and its power of ten; empty for numbers that are no shorter so.
std::string format_power(double v) {
  if (v == 0 || !std::isfinite(v) || std::abs(v) >= 0.1) return {};
  const std::string text = fmt::format("{:.0e}", std::abs(v));  // "4e-04"
  return fmt::format("{}{}e{}{}", v < 0 ? kMinus : "", text.front(), kMinus, -std::stoi(text.substr(2)));
}

/// A number with fewer digits where three do not fit: never a piece of one.
std::string fitted(const Painter& p, const std::string& value, double v, double highest, float room) {
  const bool share = value.ends_with('%'), small = !share && std::abs(v) < 0.01;  // zeros before its digits say less than a power
  std::string out = value;
  for (int digits = 2; digits >= 1 && p.width_of(Face::mono, out) > room; --digits)
    if (!share) out = format_number(v, digits);
  if (p.width_of(Face::mono, out) <= room) return out;
  if (const std::size_t zero = out.find("0."); !small && zero != std::string::npos && std::abs(v) < 1)
    if (std::string bare = std::string(out).erase(zero, 1); p.width_of(Face::mono, bare) <= room) return bare;
  if (const std::string power = share ? "" : format_power(v); !power.empty() && p.width_of(Face::mono, power) <= room) return power;
  // An empty cell looks as if nothing was measured, and what is much here is not called nothing.
  const char* const sign = std::abs(v) < kNearZero * highest ? "≈0" : v < 0 ? "<0" : ">0";
  return p.width_of(Face::mono, sign) <= room ? sign : std::string();
}

}  // namespace

void HeadGrid::draw_cells(Painter& p, const Grid& g, const Scale& scale, const std::vector<double>& values) {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  const auto ramp_colours = is_damage(metric_) ? t.damage : t.sequential;
  const float line = p.line_height(Face::caption);
  draw_labels(p, g);
  const bool numbers = g.cell_w >= kNumberWidth && g.cell_h >= p.px(kNumberHeight);
  const float rounding = std::min(g.cell_w, g.cell_h) >= 12 ? 3.0f : 0.0f;
  const bool fine_marks = f.fine_marks || g.n_layers * g.n_heads <= kManyHeads;
  for (int l = 0; l < g.n_layers; ++l) {
    for (int h = 0; h < g.n_heads; ++h) {
      const Rect r = g.cell(l, h);
      const auto index = static_cast<std::size_t>(head_index(*f.snapshot, l, h));
      const double v = index < values.size() ? values[index] : kNotAvailable;
      const bool pending = metric_ == HeadMetric::cause && f.causes != nullptr && f.causes->running;
      const std::string value = !fine_marks && !numbers ? "" : std::isnan(v) && pending ? "…" : format_metric(metric_, v);
      if (std::isnan(v)) {  // not measured is not zero
        p.frame_rect(r, t.line, 1, rounding);
        if (rounding > 0) p.hatch(r.inset(1), t.line, 6);
        if (numbers) {
          const float w = p.width_of(Face::caption, value) / 2 + 4;
          p.fill({r.middle_x() - w, r.middle_y() - line / 2, r.middle_x() + w, r.middle_y() + line / 2}, t.panel);
          p.text({r.middle_x(), r.middle_y()}, value, Face::caption, t.secondary, Align::centre);
        }
      } else {
        const Rgb fill = ramp(ramp_colours, scale.at(v));
        p.fill(r, fill, 1, rounding);
        // What a run gains or loses by chance has a sign and many digits, and says nothing.
        const bool chance = metric_ == HeadMetric::cause && v != 0 && std::abs(v) < kChance * scale.highest;
        const std::string shown = numbers ? fitted(p, chance ? "≈0" : value, v, scale.highest, g.cell_w - 2) : std::string();
        if (numbers) p.text({r.middle_x(), r.middle_y()}, shown, Face::mono, ink_on(fill, t), Align::centre);
        if (metric_ == HeadMetric::cause && f.causes != nullptr && f.causes->answer_returns(static_cast<int>(index))) {
          const bool inside = r.height() >= 14 && p.width_of(Face::mono, shown) + 12 <= r.width();  // not through its digits
          p.frame_rect(r.inset(inside ? 3 : 0), ink_on(fill, t), 2, rounding);
          p.mark("answer returns", fmt::format("L{} H{}", l, h), r);
        }
      }
      if (fine_marks) p.mark("cell", fmt::format("L{} H{}", l, h), r, value);
      if (changed_by_hand(f, index) && std::min(r.width(), r.height()) >= 6) {
        const float size = p.px(std::min(r.width(), r.height()) >= p.px(14) ? 5 : 3);
        const Rect dot{r.x1 - size - 1, r.y0 + 1, r.x1 - 1, r.y0 + size + 1};
        p.fill(dot.inset(-1), t.panel, 1, size);
        p.fill(dot, t.accent, 1, size / 2);
        p.mark("by hand", fmt::format("L{} H{}", l, h), dot);
      }
    }
  }
  const auto outline = [&](int l, int h) { return g.cell(l, h).inset(-std::min(2.0f, g.gap)); };
  if (f.hover.layer && f.hover.kv_head && *f.hover.layer < g.n_layers && *f.hover.kv_head < g.n_heads) {
    p.frame_rect(outline(*f.hover.layer, *f.hover.kv_head), t.text, 1, rounding, 0.6);
  }
  const int chosen = selected_head(f);
  if (chosen >= 0) {
    const Rect r = outline(chosen / g.n_heads, chosen % g.n_heads);
    if (rounding > 0) p.frame_rect(r.inset(2), t.panel, 1, 2);
    p.selection(r, 2, rounding + 1);
    p.mark("selected head", fmt::format("L{} H{}", chosen / g.n_heads, chosen % g.n_heads), r);
    if (f.has_focus) p.focus_cursor(r.inset(1));
  } else if (f.selection.layer && *f.selection.layer >= 0 && *f.selection.layer < g.n_layers) {
    const Rect a = g.cell(*f.selection.layer, g.order.heads.front()), b = g.cell(*f.selection.layer, g.order.heads.back());
    p.selection({a.x0 - 2, a.y0 - 2, b.x1 + 2, b.y1 + 2}, 1.5f, 3);
  }
}

/// Names of rows and columns, as many as have room.
void HeadGrid::draw_labels(Painter& p, const Grid& g) const {
  const Theme& t = p.theme();
  const Frame& f = p.frame();
  const float line = p.line_height(Face::caption);
  float free_x = -1e9f, free_y = -1e9f;
  for (const int h : g.order.heads) {
    const Rect c = g.cell(g.order.layers.front(), h);
    const std::string label = fmt::format("H{}", h);
    const float half = p.width_of(Face::caption, label) / 2;
    if (c.middle_x() - half < free_x + 4) continue;
    const bool chosen = f.selection.layer && f.selection.kv_head == h;
    p.text({c.middle_x(), g.area.y0 - p.px(12)}, label, Face::caption, chosen ? t.text : t.secondary, Align::centre);
    free_x = c.middle_x() + half;
  }
  for (const int l : g.order.layers) {
    const Rect c = g.cell(l, g.order.heads.front());
    if (c.middle_y() - line / 2 < free_y) continue;
    const bool chosen = f.selection.layer == l;
    p.text({12, c.middle_y()}, fmt::format("L{}", l), chosen ? Face::strong : Face::body, chosen ? t.text : t.secondary);
    free_y = c.middle_y() + line / 2;
  }
}

/// The button where both axes meet: bars of falling length, which are what it does.
void HeadGrid::draw_corner(Painter& p, const Grid& g) {
  const Theme& t = p.theme();
  const Rect r = g.corner(p.px(kHeaderHeight - 4));
  if (r.width() < 14 || r.height() < 10) return;
  if (on_corner_ || sorted_) p.fill(r, t.raised, 1, 3);
  if (sorted_) p.frame_rect(r, t.accent, 1, 3);
  const float unit = p.px(3);
  for (int i = 0; i < 3; ++i) {
    const float y = r.middle_y() + static_cast<float>(i - 1) * p.px(4.5f), x = r.middle_x() - 1.5f * unit - unit;
    const float length = unit * static_cast<float>(sorted_ ? 5 - 2 * i : (i == 0 ? 2 : i == 1 ? 5 : 3));
    p.fill({x, y - p.px(1), x + length, y + p.px(1)}, sorted_ ? t.accent : t.secondary);
  }
  p.mark("sort", sorted_ ? "largest first" : "order of the model", r);
}

/// What stands in the place of the legend where nothing was measured; false: something was.
bool HeadGrid::draw_missing(Painter& p, const Rect& strip) {
  const Theme& t = p.theme();
  const Snapshot& s = *p.frame().snapshot;
  const float y = strip.y0 + p.px(17), room = strip.width() - 24;
  capture_.none();
  if (metric_ == HeadMetric::cause && p.frame().causes != nullptr) {
    const HeadCauses& causes = *p.frame().causes;
    if (causes.n_heads > 0 && causes.n_measured == causes.n_heads) return false;
    const LaneSnapshot* lane = lane_of(p.frame());
    const bool budgeted = lane != nullptr && lane->slots_asked >= 0;
    const std::string words = causes.n_unasked > 0  ? fmt::format("{}: Run > Which head breaks the answer? begins", measuring_words(causes))
                              : causes.n_heads == 0 ? std::string(budgeted ? "measured once the run is computed"
                                                                           : "a run with a budget has it, the full cache has not")
                              : causes.running      ? fmt::format("measuring: {} · Ctrl+J cancels", measuring_words(causes))
                                                    : fmt::format("{} of {} heads measured", causes.n_measured, causes.n_heads);
    p.text_fit({12, y}, words, Face::caption, t.secondary, room);
    p.mark("not measured", "", strip, words);
    return true;
  }
  if (const std::string missing = habits_missing(s); habit_in(metric_) && !missing.empty()) {
    p.text_fit({12, y}, missing, Face::caption, t.secondary, room);
    p.mark("not measured", "", strip, missing);
    return true;
  }
  if (s.history || !needs_history(metric_)) return false;
  capture_.draw(p, {12, y}, "", room);
  return true;
}

void HeadGrid::draw_legend(Painter& p, const Rect& strip, const Scale& scale) {
  const Theme& t = p.theme();
  const float y = strip.y0 + p.px(17);
  if (draw_missing(p, strip)) return;
  RampLegend legend;
  legend.colours = is_damage(metric_) ? t.damage : t.sequential;
  legend.low = format_metric(metric_, 0);
  legend.high = format_metric(metric_, scale.highest);
  const std::string how = scale.floor ? "no more than rounding" : scale.root ? "√ scale" : "", unit = unit_text(p.frame());
  const std::string whole = how.empty() ? unit : how + " · " + unit;
  legend.note = whole;
  legend.width = 120;
  const float right = p.canvas().x1 - 12, room = right - 12;
  if (legend_width(p, legend) > room) legend.width = 72;
  if (habit_in(metric_) && legend_width(p, legend) > room) legend.note = legend.note.substr(0, legend.note.rfind(','));
  std::string below;  // what is too long for one line has one of its own: without its unit a colour says nothing
  if (legend_width(p, legend) > room) {
    below = unit;
    legend.note = how;
    legend.width = 40;
    if (legend_width(p, legend) > room) below = whole, legend.note.clear();
  }
  const float x = std::max(12.0f, std::min(p.px(30), right - legend_width(p, legend)));
  draw_ramp_legend(p, x, below.empty() ? y : strip.y0 + p.px(9), legend);
  if (below.empty()) return;
  p.text_fit({x, strip.y0 + p.px(25)}, below, Face::caption, t.disabled, right - x);
  p.mark("legend", "unit", {x, strip.y0 + p.px(18), right, strip.y1}, below);
}

std::unique_ptr<View> make_head_grid() { return std::make_unique<HeadGrid>(); }

}  // namespace kvscope::viz
