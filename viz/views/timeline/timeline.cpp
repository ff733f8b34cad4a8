// SPDX-License-Identifier: Apache-2.0
#include "viz/views/timeline/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/text.h"
#include "viz/views.h"
#include "viz/views/timeline/timeline_forms.h"

namespace kvscope::viz {
namespace {

constexpr float kWideColumn = 40;  // pixels that a step needs for its numbers

std::string token_of_id(const Snapshot& s, int id) { return quoted(text_of_id(s, id)); }

std::vector<std::string> tooltip(const Snapshot& snapshot, const LaneSnapshot& lane, const StepSummary& s) {
  const int step = s.step;
  const StepRecord& r = *lane.steps[static_cast<std::size_t>(step)];
  const double n_heads = std::max(1, n_heads_total(snapshot));
  std::vector<std::string> lines;
  lines.push_back(fmt::format("step {} · reads token {} {}", is_prefill_step(snapshot, step) ? "0 (prefill)" : format_count(step),
                              format_count(r.position), quoted(token_text(tokens_of(snapshot, lane), r.position))));
  const bool compared = compares(snapshot, lane, step);
  lines.push_back(compared ? "KL(full ‖ this run) " + format_number(r.kl) + " nats" : other_text_words(snapshot, lane));
  lines.push_back(!compared    ? "top choice " + token_of_id(snapshot, r.top1)
                  : r.top1 < 0 ? "the text is being read: no next token yet"
                  : r.top1_same
                      ? "top choice " + token_of_id(snapshot, r.top1) + ", as in the reference"
                      : "top choice " + token_of_id(snapshot, r.top1) + ", the reference has " + token_of_id(snapshot, r.top1_reference));
  lines.push_back(fmt::format("evicted {} · merged {}, {} heads", format_count(s.evicted), format_count(s.merged),
                              format_count(static_cast<std::int64_t>(n_heads))));
  const LaneWarning* const raised = warning_of(lane.warnings, LaneWarning::Kind::budget_raised);
  lines.push_back("slots " + format_mean(s.slots() / n_heads) +
                  (raised != nullptr ? fmt::format(" of {}, {} asked and raised", format_mean(raised->got), format_mean(raised->asked))
                   : lane.slots_asked >= 0 ? " of " + format_count(lane.slots_asked) + " asked"
                                           : "") +
                  ", mean of heads");
  if (r.ms > 0) lines.push_back("time " + format_ms(r.ms));
  if (r.probe_tokens > 0)
    lines.push_back(fmt::format("probe of the full cache {}{}", count_of(r.probe_tokens, "token", "tokens"),
                                r.probe_ms > 0 ? ", " + format_ms(r.probe_ms) : ""));
  return lines;
}

void draw_legend(Painter& p, const TimelineLayout& l, bool wide, const LaneSnapshot& lane) {
  if (l.legend.height() <= 0) return;
  const Theme& t = p.theme();
  const float y = l.legend.middle_y() - 1;
  const std::string_view label = "top choice differs from the reference";
  const float width = p.px(16) + p.width_of(Face::caption, label);
  const float right = p.canvas().x1 - 12;
  const auto items = category_items(lane);
  const float end =
      wide || right - width > l.x0 + p.px(330)
          ? draw_category_legend(p, l.x0, y, std::span(items).first(items.size() - (right - width > l.x0 + p.px(370) ? 0 : 1)))
          : l.x0;
  if (end + width > right + 1) return;
  const float s = p.px(10), x = std::round(right - width);
  p.fill({x, std::round(y - s / 2), x + s, std::round(y - s / 2) + s}, t.changed);
  p.text({x + p.px(16), y}, label, Face::caption, t.secondary);
  p.mark("legend", std::string(label), {x, y - s / 2, right, y + s / 2});
}

}  // namespace

const std::vector<StepSummary>& StepSummaries::of(const Frame& frame, const LaneSnapshot& lane) {
  if (fates_ == lane.fates.get() && sequence_ == frame.snapshot->sequence && lane_ == frame.selection.lane && n_steps_ == lane.steps.size())
    return steps_;
  steps_ = summarise_steps(*frame.snapshot, lane);
  fates_ = lane.fates.get();
  sequence_ = frame.snapshot->sequence;
  lane_ = frame.selection.lane;
  n_steps_ = lane.steps.size();
  range_.reset();
  return steps_;
}

const RunFigures& StepSummaries::figures(const Frame& frame, const LaneSnapshot& lane, const StepRange& range) {
  of(frame, lane);
  if (range_ != range) figures_ = run_figures(*frame.snapshot, lane, range.first, range.last);
  range_ = range;
  return figures_;
}

std::string Timeline::facts(const Frame& frame) const {
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr || lane->steps.empty()) return "0 steps";
  const std::optional<StepRange> steps = steps_within(*lane, frame.selection.steps);
  if (!steps) return lane->title + " · no step in the range";
  if (!frame.selection.steps) {
    const RunFigures f = run_figures(*frame.snapshot, *lane, false);
    const bool legend = timeline_has_legend(frame.size.y, frame.scale);
    return fmt::format("{} · top choice differs in {} of {} steps{}{}", lane->title, format_count(f.compared - f.top1_same),
                       format_count(f.compared), frame.snapshot->prefill_mode ? " after the prompt" : "",
                       legend ? "" : " · colours as in the atlas");
  }
  const RunFigures& range = summaries_.figures(frame, *lane, *steps);
  return fmt::format("{} · top choice differs in {} of {} · mean KL {} · evicted {} · merged {}", lane->title,
                     format_count(range.compared - range.top1_same), format_count(range.compared), format_number(range.kl.mean()),
                     format_count(range.evicted), format_count(range.merged));
}

void Timeline::draw(const Frame& frame, std::vector<Intent>& intents) {
  Painter p(frame, marks_);
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr || lane->steps.empty()) {
    p.empty("No steps yet", "each step of the model becomes a column here");
    p.finish();
    return;
  }
  const std::vector<StepSummary>& steps = summaries_.of(frame, *lane);
  const float room = p.canvas().x1 - 12 - p.px(kLabelColumn);
  const bool wide = room / static_cast<float>(steps.size()) >= p.px(kWideColumn);
  const TimelineLayout l = lay_out_timeline(p, steps.size(), wide);
  const int step = step_of(*lane, frame.selection);
  wide ? draw_step_columns(p, l, steps, step) : draw_step_bands(p, l, steps, step);
  draw_step_range(p, l, *lane);
  draw_step_marks(p, l, static_cast<int>(steps.size()));
  draw_legend(p, l, wide, *lane);
  react(p, l, *lane, steps, intents);
  p.finish();
}

void Timeline::react(Painter& p, const TimelineLayout& l, const LaneSnapshot& lane, const std::vector<StepSummary>& steps,
                     std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  const int n = static_cast<int>(steps.size());
  const bool over = m.inside && m.at.x >= l.x0 && m.at.x < l.x_of(n) && m.at.y < l.legend.y0;
  const int at = static_cast<int>(std::clamp((m.at.x - l.x0) / l.pitch, 0.0f, static_cast<float>(n - 1)));  // the mouse may be anywhere
  if (brush_.react(p, l, at, n, intents)) {
    scrubbing_ = false;
    return;
  }
  if (m.pressed) scrubbing_ = over;
  if (scrubbing_ && (m.pressed || (m.dragging && m.moved.x != 0))) intents.push_back(go_to(at, n));
  if (!m.down) scrubbing_ = false;
  const int now = over ? at : -1;
  const std::pair of{p.frame().snapshot->sequence, p.frame().selection.lane};
  if (now == hovered_ && (of == hovered_of_ || now < 0)) return;  // another run has other numbers under the mouse
  hovered_ = now;
  hovered_of_ = of;
  HoverAt hover;
  if (now >= 0) {
    hover.hover.step = now;
    hover.tooltip = tooltip(*p.frame().snapshot, lane, steps[static_cast<std::size_t>(now)]);
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
  intents.push_back(go_to(step, last + 1));
  return true;
}

std::string Timeline::cursor_text(const Frame& frame) const {
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr || lane->steps.empty()) return "no steps";
  const StepSummary& step = summaries_.of(frame, *lane)[static_cast<std::size_t>(step_of(*lane, frame.selection))];
  std::string text;
  for (const std::string& line : tooltip(*frame.snapshot, *lane, step)) text += (text.empty() ? "" : "; ") + line;
  return text;
}

Table Timeline::table(const Frame& frame) const {
  Table table;
  table.columns = {"step",     "position",           "evicted", "merged", "slots, mean", "tokens represented", "tokens evicted",
                   "KL, nats", "top choice changed", "ms"};
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr) return table;
  const std::vector<StepSummary>& summaries = summaries_.of(frame, *lane);
  const double n_heads = std::max(1, n_heads_total(*frame.snapshot));
  const StepRange steps = steps_within(*lane, frame.selection.steps).value_or(StepRange{0, -1});
  const int n_compared = steps_of_one_text(*frame.snapshot, *lane);
  for (int i = steps.first; i <= steps.last; ++i) {
    const StepSummary& s = summaries[static_cast<std::size_t>(i)];
    const double evicted = s.counts[static_cast<std::size_t>(Category::evicted)];
    table.rows.push_back({std::to_string(s.step), std::to_string(s.position), std::to_string(s.evicted), std::to_string(s.merged),
                          format_precise(s.slots() / n_heads), std::to_string(static_cast<std::int64_t>(s.tokens() - evicted)),
                          std::to_string(static_cast<std::int64_t>(evicted)), format_precise(s.kl),
                          i >= n_compared ? std::string(kNotAvailableText)
                          : s.changed     ? "yes"
                                          : "no",
                          format_number(s.ms, 4)});
  }
  table.note = fmt::format("tokens are counted once per head, {} heads", format_count(static_cast<std::int64_t>(n_heads)));
  if (frame.selection.steps) table.note += " · only " + range_text(*frame.selection.steps);
  return table;
}

std::unique_ptr<View> make_timeline() { return std::make_unique<Timeline>(); }

}  // namespace kvscope::viz
