// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

namespace {

using namespace compare;
constexpr float kDifferenceLeast = 190;
constexpr int kAnswerTokens = 3;
constexpr std::array<MetricColumn::Kind, 7> kSortKinds = {
    MetricColumn::Kind::kl,    MetricColumn::Kind::mean_kl, MetricColumn::Kind::top1,  MetricColumn::Kind::differs,
    MetricColumn::Kind::slots, MetricColumn::Kind::bytes,   MetricColumn::Kind::policy};

}  // namespace

std::vector<Option> Compare::options() const {
  int sorted = 0;
  for (std::size_t i = 0; i < kSortKinds.size(); ++i) {
    if (order_.kind == kSortKinds[i]) sorted = static_cast<int>(i) + 1;
  }
  return {{"view", {"fates", "difference to the reference", "pairwise"}, static_cast<int>(mode_)},
          {"sort", {"as added", "KL", "mean KL", "top-1 same", "first differs", "slots", "KV bytes", "policy work"}, sorted, true},
          {"numbers", {"all that fit", "quality", "memory and work"}, static_cast<int>(set_)}};
}

void Compare::choose(std::size_t option, int choice) {
  if (option == 0) mode_ = static_cast<Mode>(std::clamp(choice, 0, 2));
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
  if (record != nullptr)
    out += fmt::format(" · step {} · query {} {}", step_of(*lane, frame.selection), record->position,
                       quoted(token_text(*frame.snapshot, record->position)));
  if (mode_ == Mode::pair && n > 1 && !plan_.difference && plan_.row > 0)
    out += " · no room for the difference: fewer runs or a higher window";
  if (mode_ == Mode::fates && n > 2 && !plan_.difference && plan_.row > 0) out += " · no room for the difference: view pairwise";
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
  const std::vector<LaneMetrics>& metrics = metrics_of(frame);
  out.columns = {"run", "specification"};
  const std::vector<MetricColumn> columns = metric_columns(s, metrics, 1e6f, 1);
  for (const MetricColumn& c : columns) out.columns.push_back(metric_title(c));
  out.columns.push_back("policy work (share of the steps)");
  for (const int lane : sorted_lanes(metrics, order_)) {
    const auto i = static_cast<std::size_t>(lane);
    std::vector<std::string> row = {lane_name(s, lane), s.lanes[i].spec};
    for (const MetricColumn& c : columns) row.push_back(metric_plain(s, metrics[i], c.kind));
    row.push_back(format_plain(metrics[i].work.share));
    out.rows.push_back(std::move(row));
  }
  out.note = "* beside a token of the answer: the full cache chooses another one";
  return out;
}

void Compare::draw(const Frame& frame, std::vector<Intent>& intents) {
  Painter p(frame, marks_);
  if (frame.snapshot == nullptr || frame.snapshot->lanes.empty()) {
    hover_.none(intents);
    p.empty("Runs on the same prompt, one below the other", "no run yet");
    p.finish();
    return;
  }
  const Snapshot& snapshot = *frame.snapshot;
  follow(frame);
  metrics_ = metrics_of(frame);
  Rect area = p.canvas();
  area = area.inset(p.px(12), 0);
  area.cut_right(p.px(kRemove));
  const int n_tokens = static_cast<int>(snapshot.tokens.size());
  // About half for the tokens; what whole pixels a token leave of it goes to the numbers.
  float strips = std::max(p.px(220), 0.48f * (area.width() - p.px(kNames)));
  if (window_->count <= 0 && n_tokens > 0 && strips / static_cast<float>(n_tokens) >= 3)
    strips = std::max(p.px(220), std::floor(std::min(strips / static_cast<float>(n_tokens), p.px(14))) * static_cast<float>(n_tokens));
  const float room = area.width() - p.px(kNames) - strips - p.px(24);
  left_out_.clear();
  columns_ = metric_columns(snapshot, metrics_, room, frame.scale, set_, &left_out_);
  right_ = area.x1;
  TokenAxis axis = token_axis(p, area, n_tokens);
  if (pan_and_zoom(p, axis)) axis = token_axis(p, area, n_tokens);
  const float waiting = waiting_height(p);
  plan_ = plan(p, axis, area.height() - waiting);
  const Rect header = area.cut_top(p.px(kHeader));
  Rect below;
  if (plan_.difference) below = area.cut_bottom(std::max(p.px(kDifferenceLeast), area.height() - rows_height(p) - waiting));
  const Rect legend = area.cut_bottom(p.px(kLegend));
  const Rect coming =
      plan_.difference ? area.cut_bottom(waiting) : Rect{area.x0, area.y0 + rows_height(p) - p.px(kLegend), area.x1, area.y1};
  draw_header(p, header, axis);
  draw_rows(p, area, axis);
  draw_waiting(p, coming, axis);
  draw_legend(p, legend, axis);
  const Selection& selection = frame.selection;
  DifferenceHits difference;
  DifferenceScene scene;
  if (plan_.difference) {
    scene = difference_scene(frame);
    difference = draw_difference(p, {0, below.y0, p.canvas().x1, below.y1}, axis, scene, textures_);
  }
  draw_cursors(p, axis, difference, selection);
  react(p, axis, difference, scene, intents);
  p.finish();
}

bool Compare::key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) {
  if (frame.snapshot == nullptr || frame.snapshot->lanes.empty()) return false;
  const int n = static_cast<int>(frame.snapshot->lanes.size());
  const int n_tokens = static_cast<int>(frame.snapshot->tokens.size());
  const int lane = std::clamp(frame.selection.lane, 0, n - 1);
  Selection next = frame.selection;
  if (key == "Up" || key == "Down") {
    const std::vector<int> rows = sorted_lanes(metrics_of(frame), order_);
    const auto at = std::find(rows.begin(), rows.end(), lane) - rows.begin() + (key == "Up" ? -1 : 1);
    next.lane = rows[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, n - 1))];
  } else if ((key == "Left" || key == "Right") && n_tokens > 0) {
    const int at = frame.selection.tokens ? frame.selection.tokens->first : n_tokens;
    const int token = std::clamp(at + (key == "Left" ? -1 : 1), 0, n_tokens - 1);
    next.select({token, token});
  } else if (key == "Delete" && lane > 0) {
    intents.push_back(RemoveLane{lane});
    return true;
  } else if (key == "R") {
    pinned_ = lane;
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
  const std::vector<LaneMetrics>& metrics = metrics_of(frame);
  const LaneMetrics& m = metrics[static_cast<std::size_t>(frame.selection.lane)];
  std::string out = fmt::format("run {}, KL {} nats, mean KL {}, top-1 same {} of {}", lane_name(s, frame.selection.lane),
                                metric_text(s, m, MetricColumn::Kind::kl), metric_text(s, m, MetricColumn::Kind::mean_kl),
                                m.means.top1_same, m.means.compared);
  if (frame.selection.tokens) out += ", " + count_text(frame, frame.selection.lane, m.step, frame.selection.tokens->first);
  return out;
}

const std::vector<LaneMetrics>& Compare::metrics_of(const Frame& frame) const {
  const Snapshot& s = *frame.snapshot;
  std::vector<StepPtr> of;
  for (const LaneSnapshot& lane : s.lanes) {
    const int step = step_of(lane, frame.selection);
    of.push_back(lane.steps.empty() ? nullptr : lane.steps.back());
    of.push_back(step < 0 ? nullptr : lane.steps[static_cast<std::size_t>(step)]);
  }
  if (known_sequence_ == s.sequence && known_range_ == frame.selection.steps && known_of_ == of) return known_;
  known_sequence_ = s.sequence;
  known_range_ = frame.selection.steps;
  known_of_ = std::move(of);
  known_.clear();
  for (const LaneSnapshot& lane : s.lanes) {
    known_.push_back(lane_metrics(s, lane, step_of(lane, frame.selection), kAnswerTokens + 1, frame.selection.steps));
    known_.back().split = first_text_difference(s, static_cast<int>(known_.size()) - 1);
  }
  begin_at_word(known_, s, kAnswerTokens);
  return known_;
}

TokenAxis Compare::token_axis(const Painter& p, const Rect& area, int n_tokens) {
  TokenAxis axis;
  axis.x0 = std::round(area.x0 + p.px(kNames));
  axis.x1 = std::max(axis.x0 + 16, std::floor(right_ - total_width(columns_, p.frame().scale) - p.px(24)));
  axis.n_tokens = n_tokens;
  if (window_->count >= n_tokens) *window_ = {};
  const double width = static_cast<double>(axis.x1 - axis.x0), shown = window_->count > 0 ? window_->count : std::max(1, n_tokens);
  const double exact = width / shown, most = window_->count > 0 ? 64.0 : static_cast<double>(p.px(14));
  axis.px = static_cast<float>(std::min(exact >= 3 ? std::floor(exact) : exact, most));
  window_->first = std::clamp(window_->first, 0.0, std::max(0.0, n_tokens - width / static_cast<double>(axis.px)));
  axis.first = window_->first;
  return axis;
}

Compare::Plan Compare::plan(const Painter& p, const TokenAxis& axis, float height) const {
  using Rows = StripScale::Rows;
  const Snapshot& s = *p.frame().snapshot;
  const auto others = static_cast<float>(s.lanes.size() - 1);
  const float fixed = p.px(kHeader + kLegend);
  const float ideal = p.px(80) + StripScale{Rows::heads, 7, 4}.height(s.model.n_layers, s.model.n_kv_heads);
  const auto make = [&](const StripScale& scale, float pad, float text, bool difference) {
    Plan out{scale, p.px(pad), 0, 0, difference};
    out.row = std::max(p.px(text), scale.height(s.model.n_layers, s.model.n_kv_heads)) + 2 * out.pad;
    out.reference_row = std::max(p.px(kReference) + 2 * out.pad, p.px(text + 8));
    return out;
  };
  const auto fits = [&](const Plan& one) {
    return fixed + one.reference_row + others * one.row +
               (one.difference ? std::max(p.px(kDifferenceLeast), one.scale.rows == Rows::heads && one.scale.px > 3 ? ideal : 0) : 0) <=
           height;
  };
  if (mode_ == Mode::pair && others > 0) {  // one line a run: the picture of the two has the room
    // Of many runs each line is lower, so that the difference that was asked for is there.
    for (const float text : {18.0f, 15.0f, 12.0f}) {
      Plan thin = make({Rows::all, p.px(text - 6), 0}, text > 15 ? 4 : 1, text, true);
      thin.reference_row = thin.row;
      if (fits(thin)) return thin;
    }
  }
  const std::vector<StripScale> scales = strip_scales(axis.px);
  // Rows of heads say more than the difference: layers only where no row of a head fits.
  const bool heads =
      std::any_of(scales.begin(), scales.end(), [&](const StripScale& one) { return !one.shares() && fits(make(one, 4, kName, false)); });
  for (const StripScale& scale : scales) {
    if (others == 0 || scale.shares() == heads || scale.px < 2 || mode_ == Mode::reference) continue;
    for (const float pad : {8.0f, 5.0f}) {
      const Plan one = make(scale, pad, kName, true);
      if (fits(one)) return one;
    }
  }
  for (const StripScale& scale : scales) {
    if (!scale.shares() && scale.px > 3 && others > 0 && mode_ != Mode::reference) continue;
    for (const float pad : {8.0f, 4.0f}) {
      Plan one = make(scale, pad, kName, false);
      if (!fits(one)) continue;
      // What is left over sets the runs apart.
      if (others > 0) one.row += std::min(p.px(14), std::floor((height - fixed - one.reference_row - others * one.row) / others));
      return one;
    }
  }
  // Less than the least: one line of text a run, and one row for all of its heads.
  Plan last = make({Rows::all, 1, 0}, 2, 18, false);
  last.reference_row = last.row = std::max(p.px(16), (height - fixed) / (others + 1));
  last.scale.px = std::max(1.0f, last.row - 2 * last.pad);
  return last;
}

const Represented& Compare::shown(const Frame& frame, int lane) {
  const LaneSnapshot& run = frame.snapshot->lanes[static_cast<std::size_t>(lane)];
  const int step = metrics_[static_cast<std::size_t>(lane)].step;
  Represented& state = shown_[static_cast<std::size_t>(lane)];
  if (step < 0 || run.fates == nullptr)
    state = {};
  else
    state.show(run, step);
  counts_.follow(state);
  return state;
}

int Compare::reference(const Frame& frame) const {
  return pinned_ >= 0 && pinned_ < static_cast<int>(frame.snapshot->lanes.size()) ? pinned_ : 0;
}

float Compare::rows_height(const Painter& p) const {
  return plan_.reference_row + static_cast<float>(metrics_.size() - 1) * plan_.row + p.px(kLegend);
}

void Compare::follow(const Frame& frame) {
  if (n_lanes_ != frame.snapshot->lanes.size()) {
    n_lanes_ = frame.snapshot->lanes.size();
    pinned_ = previous_ = -1;
    selected_ = frame.selection.lane;
    shown_.assign(n_lanes_, {});
    counts_ = {};
  }
  if (selected_ != frame.selection.lane) previous_ = selected_ > 0 ? selected_ : previous_;
  selected_ = frame.selection.lane;
}

int Compare::against(const Frame& frame) const {
  const int n = static_cast<int>(frame.snapshot->lanes.size()), lane = std::clamp(frame.selection.lane, 0, n - 1);
  for (const int chosen : {pinned_, previous_}) {
    if (chosen >= 0 && chosen < n && chosen != lane) return chosen;
  }
  return lane > 1 ? lane - 1 : lane == 1 ? (n > 2 ? 2 : 0) : std::min(1, n - 1);
}

DifferenceScene Compare::difference_scene(const Frame& frame) {
  DifferenceScene scene;
  const int n = static_cast<int>(frame.snapshot->lanes.size());
  scene.a = against(frame);
  scene.b = std::clamp(frame.selection.lane, 0, n - 1);
  if (swapped_) std::swap(scene.a, scene.b);
  scene.step_a = metrics_[static_cast<std::size_t>(scene.a)].step;
  scene.step_b = metrics_[static_cast<std::size_t>(scene.b)].step;
  const Represented &a = shown(frame, scene.a), &b = shown(frame, scene.b);
  cells_ = LaneDifference(a, b);
  scene.cells = &cells_;
  scene.counts = counts_.of(cells_);
  scene.token = frame.hover.token ? *frame.hover.token : frame.selection.tokens ? frame.selection.tokens->first : -1;
  for (int lane = 0; scene.token >= 0 && lane < n; ++lane)
    scene.token_counts.push_back(token_counts_.of(*frame.snapshot, lane, metrics_[static_cast<std::size_t>(lane)].step, scene.token));
  return scene;
}

std::string Compare::count_text(const Frame& frame, int lane, int step, int token) const {
  const TokenCount count = token_counts_.of(*frame.snapshot, lane, step, token);
  std::string text = fmt::format("token {} {}: kept in {} of {} heads, merged in {}", token, quoted(token_text(*frame.snapshot, token)),
                                 count.kept, count.heads, count.merged);
  if (count.evicted > 0) text += ", " + evicted_text(count);
  return text;
}

std::unique_ptr<View> make_compare(std::shared_ptr<TokenWindow> window) { return std::make_unique<Compare>(std::move(window)); }

}  // namespace kvscope::viz
