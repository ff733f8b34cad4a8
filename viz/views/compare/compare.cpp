// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/generated.h"
#include "viz/reduce/no_tokens.h"
#include "viz/views/compare/compare_text.h"

namespace kvscope::viz {

namespace {

using namespace compare;
constexpr std::array<MetricColumn::Kind, 7> kSortKinds = {
    MetricColumn::Kind::kl,    MetricColumn::Kind::mean_kl, MetricColumn::Kind::top1,  MetricColumn::Kind::differs,
    MetricColumn::Kind::slots, MetricColumn::Kind::bytes,   MetricColumn::Kind::policy};

void draw_header(Painter& p, const Rect& header, const CompareScene& s) {
  const TokenAxis& axis = s.axis;
  const Theme& t = p.theme();
  p.text({header.x0, header.y0 + p.px(14)}, "run", Face::caption, t.disabled);
  if (!p.frame().plain) p.text({axis.x0 - p.px(24), header.y0 + p.px(14)}, "key (past)", Face::caption, t.disabled, Align::right);
  draw_token_axis(p, {header.x0, header.y0 + p.px(4), header.x1, header.y1 - p.px(2)}, axis, "", p.frame().selection.tokens);
  draw_metric_header(p, {header.x0, header.y0, s.right, header.y1}, s.columns, s.order);
}

}  // namespace

std::vector<Option> Compare::options() const {
  int sorted = 0;
  for (std::size_t i = 0; i < kSortKinds.size(); ++i) {
    if (order_.kind == kSortKinds[i]) sorted = static_cast<int>(i) + 1;
  }
  constexpr int kRuns = 64;
  std::vector<std::string> runs = {"none"};
  for (int lane = 0; lane < kRuns; ++lane) runs.push_back(lane_letter(lane));
  return {{"view", {"fates", "difference to the reference", "pairwise"}, static_cast<int>(mode_), true},
          {"sort", {"as added", "KL", "mean KL", "top-1 same", "first differs", "slots", "KV bytes", "policy work"}, sorted, true},
          {"numbers", {"all that fit", "quality", "memory and work"}, static_cast<int>(set_), true},
          {"other run", std::move(runs), pair_.other() < kRuns ? pair_.other() + 1 : 0, true, false}};
}

void Compare::choose(std::size_t option, int choice) {
  if (option == 0) mode_ = static_cast<CompareMode>(std::clamp(choice, 0, 2));
  if (option == 3) pair_.restore(choice - 1);
  if (option == 2) set_ = static_cast<MetricSet>(std::clamp(choice, 0, 2));
  if (option != 1) return;
  order_ = {};
  if (choice < 1 || choice > static_cast<int>(kSortKinds.size())) return;
  order_.kind = kSortKinds[static_cast<std::size_t>(choice) - 1];
  order_.descending = *order_.kind == MetricColumn::Kind::top1 || *order_.kind == MetricColumn::Kind::differs;  // the best run first
}

std::string Compare::facts(const Frame& frame) const {
  const LaneSnapshot* lane = lane_of(frame);
  const StepRecord* record = record_of(frame);
  if (lane == nullptr) return {};
  const auto n = frame.snapshot->lanes.size();
  std::string out = fmt::format("one prompt, {} {}", n, n == 1 ? "run" : "runs");
  if (const auto budgets = unequal_budgets(*frame.snapshot); budgets && !frame.plain)
    out += fmt::format(" · budgets differ: {} to {} slots", format_count(budgets->first), format_count(budgets->second));
  if (record != nullptr && !frame.plain)
    out += fmt::format(" · step {}, {}", step_of(*lane, frame.selection), read_text(*frame.snapshot, record->position));
  if (frame.plain) return out;
  return out;
}

float Compare::preferred_height(const Frame& frame) const {
  if (frame.snapshot == nullptr || frame.snapshot->lanes.empty()) return 0;
  const ModelConfig& model = frame.snapshot->model;
  const auto others = static_cast<float>(frame.snapshot->lanes.size() - 1);
  const StripScale fine{StripScale::Rows::heads, 3, 3}, coarse{StripScale::Rows::layers, 3, 1};
  const float strip =
      std::min(fine.height(model.n_layers, model.n_kv_heads), std::max(150.0f, coarse.height(model.n_layers, model.n_kv_heads)));
  const float height = kHeader + kLegend + kReference + 18 + others * (std::max(kName, strip) + 14) + (others > 0 ? 280.0f : 0.0f);
  return height * frame.scale;
}

Table Compare::table(const Frame& frame) const {
  Table out;
  if (frame.snapshot == nullptr) return out;
  const Snapshot& s = *frame.snapshot;
  const std::vector<LaneMetrics>& metrics = metrics_.of(frame);
  out.columns = {"run", "specification"};
  const std::vector<MetricColumn> columns = metric_columns(s, metrics, 1e6f, 1);
  for (const MetricColumn& c : columns) out.columns.push_back(metric_title(c));
  for (const int lane : sorted_lanes(metrics, order_)) {
    const auto i = static_cast<std::size_t>(lane);
    std::vector<std::string> row = {lane_name(s, lane), s.lanes[i].spec};
    for (const MetricColumn& c : columns) row.push_back(metric_plain(s, metrics[i], c.kind));
    out.rows.push_back(std::move(row));
  }
  out.note = "* beside a token of the answer: the full cache chooses another one";
  return out;
}

CompareScene Compare::make_scene(const Painter& p, const Rect& area) {
  const Snapshot& snapshot = *p.frame().snapshot;
  CompareScene s;
  s.mode = mode_;
  s.metrics = &metrics_.of(p.frame());
  s.order = order_;
  s.right = area.x1;
  s.names = names_width(p, area.width());
  s.reference = pair_.reference();
  // About half for the tokens; what whole pixels a token leave of it goes to the numbers.
  const auto n_tokens = static_cast<float>(snapshot.tokens.size());
  const bool plain = p.frame().plain;
  const float least = p.px(plain ? 180 : 220);
  float strips = std::max(least, (plain ? 0.36f : 0.48f) * (area.width() - s.names));
  if (window_->count <= 0 && n_tokens > 0 && strips / n_tokens >= 3)
    strips = std::max(least, std::floor(std::min(strips / n_tokens, p.px(14))) * n_tokens);
  const float room = area.width() - s.names - strips - p.px(24);
  s.columns = metric_columns(snapshot, *s.metrics, room, p.frame().scale, {plain ? MetricSet::lecture : set_, order_.kind}, &s.left_out);
  const auto answer = std::ranges::find(s.columns, MetricColumn::Kind::answer, &MetricColumn::kind);
  if (answer != s.columns.end()) {  // what no other column can use is for more of the answers
    const float width = p.px(answer->width), spare = room - total_width(s.columns, p.frame().scale);
    if (spare > 0 && !plain) answer->width = std::max(width, answer_width(p, *s.metrics, width + spare)) / p.frame().scale;
    s.answer_from = answer_begin(p, *s.metrics, p.px(answer->width));
  }
  s.axis = token_axis(p, area, s);
  if (pan_and_zoom(p, s.axis)) s.axis = token_axis(p, area, s);
  s.plan = plan_compare(p, mode_, s.axis.px, area.height() - WaitingRows::height(p));
  return s;
}

void Compare::draw(const Frame& frame, std::vector<Intent>& intents) {
  Painter p(frame, marks_);
  if (frame.snapshot == nullptr || frame.snapshot->lanes.empty()) {
    hover_.none(intents);
    p.empty("Runs on the same prompt, one below the other", no_run(frame.snapshot));
    p.finish();
    return;
  }
  const std::size_t n_lanes = frame.snapshot->lanes.size();
  if (!pair_.follow(frame)) tokens_.reset(n_lanes);
  Rect area = p.canvas();
  area = area.inset(p.px(12), 0);
  area.cut_right(p.px(kRemove));
  const CompareScene s = make_scene(p, area);
  const float waiting = WaitingRows::height(p), rows = s.plan.rows_height(n_lanes);
  const Rect header = area.cut_top(p.px(kHeader));
  Rect below;
  if (s.plan.difference) below = area.cut_bottom(std::max(difference_least(p), area.height() - (rows + p.px(kLegend)) - waiting));
  const Rect legend = area.cut_bottom(p.px(kLegend));
  const Rect coming = s.plan.difference ? area.cut_bottom(waiting) : Rect{area.x0, area.y0 + rows, area.x1, area.y1};
  draw_header(p, header, s);
  rows_.draw(p, s, area, tokens_, textures_);
  waiting_.draw(p, s, coming);
  legend_.draw(p, legend, s);
  DrawnDifference difference;
  if (s.plan.difference) {
    const int token = frame.hover.token ? *frame.hover.token : frame.selection.tokens ? frame.selection.tokens->first : -1;
    difference.scene = tokens_.difference(*frame.snapshot, pair_.lanes(frame.selection), *s.metrics, token);
    difference.hits = draw_difference(p, {0, below.y0, p.canvas().x1, below.y1}, s.axis, difference.scene, textures_);
  }
  draw_cursors(p, s, difference.hits.strip);
  react(p, s, difference, intents);
  p.finish();
}

void Compare::draw_cursors(Painter& p, const CompareScene& s, const Rect& difference) const {
  if (rows_.drawn().empty()) return;
  const TokenAxis& axis = s.axis;
  const float y0 = rows_.drawn().front().row.y0, y1 = rows_.drawn().back().row.y1;
  const TokenRows lines{p, axis, ""};
  const auto both = [&](auto draw) {
    draw(y0, y1);
    if (difference.height() > 0) draw(difference.y0 - p.px(6), difference.y1 + p.px(4));
  };
  if (const float x = prompt_end(*p.frame().snapshot, axis); x > 0) p.dashed({x, y0}, {x, y1}, p.theme().text, kDashPromptEnd, 1, 0.55);
  if (p.frame().hover.token && *p.frame().hover.token < axis.n_tokens) {
    p.clip({axis.x0 - 1, 0, axis.x1 + 1, p.canvas().y1});
    both([&](float a, float b) { p.fill(lines.column(*p.frame().hover.token, {0, a, 0, b}), p.theme().text, 0.16); });
    p.unclip();
  }
  for (const TokenRange& range : all_tokens(p.frame().selection)) {
    if (range.last < axis.first_visible() || range.first > axis.last_visible()) continue;
    both([&](float a, float b) { lines.range(a - (a == y0 ? p.px(6) : 0), b, range); });
  }
  lines.found(y0 - p.px(4), p.frame().found);
}

bool Compare::key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) {
  if (frame.snapshot == nullptr || frame.snapshot->lanes.empty()) return false;
  const int n = static_cast<int>(frame.snapshot->lanes.size());
  const int n_tokens = static_cast<int>(frame.snapshot->tokens.size());
  const int lane = std::clamp(frame.selection.lane, 0, n - 1);
  if (choose_run(frame, key, intents)) return true;
  Selection next = frame.selection;
  if (key == "Up" || key == "Down") {
    const std::vector<int> rows = sorted_lanes(metrics_.of(frame), order_);
    const auto at = std::find(rows.begin(), rows.end(), lane) - rows.begin() + (key == "Up" ? -1 : 1);
    next.lane = rows[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, n - 1))];
  } else if ((key == "Left" || key == "Right") && n_tokens > 0) {
    // Later tokens are on the axis, too, but not in the cache of this step.
    const int last = record_of(frame) != nullptr ? std::min(record_of(frame)->position, n_tokens - 1) : n_tokens - 1;
    const int at = frame.selection.tokens ? frame.selection.tokens->first : last + 1;
    const int token = std::clamp(at + (key == "Left" ? -1 : 1), 0, last);
    next.select({token, token});
  } else if (key == "Delete" && lane > 0) {
    intents.push_back(RemoveLane{lane});
    return true;
  } else if (key == "X" && n > 1) {
    pair_.swap();
    return true;
  } else if (key == "R") {
    pair_.choose(lane);
    return true;
  } else if (key == "+" || key == "=" || key == "-" || key == "0") {
    const double shown = window_->count > 0 ? window_->count : n_tokens, count = key == "-" ? shown * 1.25 : std::max(8.0, shown / 1.25);
    const double middle = next.tokens ? next.tokens->first + 0.5 : window_->first + shown / 2;
    *window_ = key == "0" || count >= n_tokens ? TokenWindow{} : TokenWindow{std::max(0.0, middle - count / 2), count};
    return true;
  } else if (key == "Enter" || key == "Return") {
    intents.push_back(OpenInspector{});
    return true;
  } else {
    return false;
  }
  intents.push_back(Select{next});
  return true;
}

std::string Compare::cursor_text(const Frame& frame) const {
  if (lane_of(frame) == nullptr) return {};
  const Snapshot& s = *frame.snapshot;
  const std::vector<LaneMetrics>& metrics = metrics_.of(frame);
  const LaneMetrics& m = metrics[static_cast<std::size_t>(frame.selection.lane)];
  std::string out = fmt::format("run {}, KL {} nats, mean KL {}, top-1 same {} of {}", lane_name(s, frame.selection.lane),
                                metric_text(s, m, MetricColumn::Kind::kl), metric_text(s, m, MetricColumn::Kind::mean_kl),
                                m.means.top1_same, m.means.compared);
  if (const std::string says = answers_text(s, *lane_of(frame)); !says.empty()) out += ", " + says;
  if (frame.selection.tokens) out += ", " + count_text(s, frame.selection.lane, m.step, frame.selection.tokens->first, tokens_);
  return out;
}

TokenAxis Compare::token_axis(const Painter& p, const Rect& area, const CompareScene& s) {
  const int n_tokens = static_cast<int>(p.frame().snapshot->tokens.size());
  TokenAxis axis;
  axis.x0 = std::round(area.x0 + s.names);
  axis.x1 = std::max(axis.x0 + 16, std::floor(s.right - total_width(s.columns, p.frame().scale) - p.px(24)));
  axis.n_tokens = n_tokens;
  if (window_->count >= n_tokens) *window_ = {};
  const double width = static_cast<double>(axis.x1 - axis.x0), shown = window_->count > 0 ? window_->count : std::max(1, n_tokens);
  const double exact = width / shown, most = window_->count > 0 ? 64.0 : static_cast<double>(p.px(14));
  axis.px = static_cast<float>(std::min(exact >= 3 ? std::floor(exact) : exact, most));
  window_->first = std::clamp(window_->first, 0.0, std::max(0.0, n_tokens - width / static_cast<double>(axis.px)));
  axis.first = window_->first;
  return axis;
}

std::unique_ptr<View> make_compare(std::shared_ptr<TokenWindow> window) { return std::make_unique<Compare>(std::move(window)); }

}  // namespace kvscope::viz
