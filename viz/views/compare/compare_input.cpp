// SPDX-License-Identifier: Apache-2.0
// What the mouse does in the comparison.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/text.h"
#include "viz/views/compare/compare.h"

namespace kvscope::viz {

namespace {
constexpr std::size_t kLines = 12;  // of a tooltip
constexpr std::size_t kAcross = 3;  // runs in one of them
}  // namespace

void Compare::add_every_run(const Frame& frame, int token, std::vector<std::string>& lines) const {
  const Snapshot& s = *frame.snapshot;
  if (s.lanes.size() < 2 || lines.size() + 2 > kLines) return;
  lines.push_back(fmt::format("every run, kept + merged of {} heads:", format_count(n_heads_total(s))));
  const std::size_t n = s.lanes.size(), room = kLines - lines.size();
  const std::size_t across = std::min(kAcross, (n + room - 1) / room), shown = n <= room * across ? n : room * across - 1;
  std::string line;
  for (std::size_t lane = 0; lane < shown; ++lane) {
    const TokenCount count = token_counts_.of(s, static_cast<int>(lane), metrics_[lane].step, token);
    line += (line.empty() ? "" : "  ·  ") + lane_name(s, static_cast<int>(lane)) + ": " + kept_text(count);
    const bool last = lane + 1 == shown;
    if (last && shown < n) line += fmt::format("  ·  + {} more", n - shown);
    if ((lane + 1) % across != 0 && !last) continue;
    lines.push_back(std::move(line));
    line.clear();
  }
}

std::vector<std::string> Compare::tooltip(const Frame& frame, const LaneRow& row, const TokenAxis& axis, int token, int head) {
  const Snapshot& s = *frame.snapshot;
  const LaneMetrics& m = metrics_[static_cast<std::size_t>(row.lane)];
  std::vector<std::string> out = {lane_name(s, row.lane) + " · " + s.lanes[static_cast<std::size_t>(row.lane)].spec};
  if (token < 0 || token > m.position) return out;
  const int bin = plan_.scale.shares() ? tokens_per_bin(axis.px) : 1;
  if (bin > 1 && row.lane > 0) {
    const int first = token / bin * bin, last = std::min(first + bin - 1, m.position);
    const bool layer = plan_.scale.rows == StripScale::Rows::layers && head >= 0;
    const int from = layer ? head : 0, to = layer ? head + s.model.n_kv_heads - 1 : n_heads_total(s) - 1;
    const Represented& state = shown(frame, row.lane);
    std::int64_t n = 0;
    for (int h = from; h <= std::min(to, state.n_heads() - 1); ++h) n += state.count(h, first, last);
    const std::int64_t all = static_cast<std::int64_t>(last - first + 1) * (to - from + 1);
    out.push_back(fmt::format("{}tokens {}–{} ({}): represented {}, {} of {}",
                              layer ? fmt::format("L{} · ", head / s.model.n_kv_heads) : "", format_count(first), format_count(last),
                              format_count(last - first + 1), format_percent(static_cast<double>(n) / static_cast<double>(all)),
                              format_count(n), format_count(all)));
  }
  out.push_back(count_text(frame, row.lane, m.step, token));
  if (head >= 0 && !plan_.scale.shares() && row.lane > 0) {
    Selection there = frame.selection;
    there.lane = row.lane;
    there.layer = head / std::max(1, s.model.n_kv_heads);
    there.kv_head = head % std::max(1, s.model.n_kv_heads);
    const HeadPick pick = pick_head(s, there);
    if (pick.values != nullptr) out.push_back(head_name(*there.layer, *there.kv_head) + ": " + fate_text(head_columns(s, pick), token));
  }
  add_every_run(frame, token, out);
  return out;
}

bool Compare::pan_and_zoom(const Painter& p, const TokenAxis& axis) {
  const Pointer& m = p.pointer();
  const bool over = m.inside && m.at.x >= axis.x0 && m.at.x < axis.x1 && m.at.y >= p.px(compare::kHeader);
  const double shown = static_cast<double>(axis.x1 - axis.x0) / static_cast<double>(axis.px);
  if (m.pressed) panning_ = over;
  if (panning_ && m.dragging && m.moved.x != 0 && window_->count > 0) {
    window_->first -= static_cast<double>(m.moved.x / axis.px);
    return true;
  }
  if (!m.down) panning_ = false;
  if (!over || m.wheel == 0) return false;
  const double factor = std::pow(1.25, m.wheel), at = axis.token_at(m.at.x);
  double count = std::max(std::min(8.0, static_cast<double>(axis.n_tokens)), std::min(shown, static_cast<double>(axis.n_tokens)) / factor);
  // Whole pixels per token: a small step must still change something.
  if (factor > 1 && axis.px >= 3) count = std::min(count, static_cast<double>((axis.x1 - axis.x0) / (axis.px + 1)));
  if (count >= axis.n_tokens) {
    *window_ = {};
    return true;
  }
  window_->count = count;
  const double exact = static_cast<double>(axis.x1 - axis.x0) / count, px = std::min(exact >= 3 ? std::floor(exact) : exact, 64.0);
  window_->first = std::max(0.0, at - static_cast<double>(m.at.x - axis.x0) / px);
  return true;
}

void Compare::next_of_pair(const Frame& frame, const DifferenceScene& scene, bool first, std::vector<Intent>& intents) {
  const int n = static_cast<int>(frame.snapshot->lanes.size());
  if (n < 3) return;
  const int now = first ? scene.a : scene.b, other = first ? scene.b : scene.a;
  int next = (now + 1) % n;
  if (next == other) next = (next + 1) % n;
  // One of the two is the selected run, the other the pinned one.
  if (now == std::clamp(frame.selection.lane, 0, n - 1)) {
    pinned_ = other;
    Selection chosen = frame.selection;
    chosen.lane = next;
    intents.push_back(Select{chosen});
  } else {
    pinned_ = next;
  }
}

void Compare::react(const Painter& p, const TokenAxis& axis, const DifferenceHits& difference, const DifferenceScene& scene,
                    std::vector<Intent>& intents) {
  const Frame& frame = p.frame();
  const Pointer& mouse = p.pointer();
  if (!mouse.inside) {
    hover_.none(intents);
    return;
  }
  const int token = axis.index_at(mouse.at.x);
  if (react_waiting(p, intents)) return;
  if (plan_.difference && difference.swap.contains(mouse.at)) {
    hover_.none(intents);
    if (mouse.clicked) swapped_ = !swapped_;
    return;
  }
  for (const bool first : {true, false}) {
    if (!plan_.difference || !(first ? difference.first : difference.second).contains(mouse.at)) continue;
    hover_.at(Hover{}, {"Take the next run"}, intents);
    if (mouse.clicked) next_of_pair(frame, scene, first, intents);
    return;
  }
  if (capture_.react(mouse, intents)) return hover_.none(intents);
  if (!left_out_.empty() && left_out_at_.contains(mouse.at)) {
    hover_.at(
        Hover{},
        {"No room for: " + fmt::format("{}", fmt::join(left_out_, ", ")), "Widen the window, choose numbers above, or open the data table"},
        intents);
    return;
  }
  if (mouse.at.y < p.px(compare::kHeader)) {
    const int column = metric_at(mouse.at.x, right_, columns_, frame.scale);
    if (column < 0) {
      hover_.none(intents);
      return;
    }
    const MetricColumn::Kind kind = columns_[static_cast<std::size_t>(column)].kind;
    hover_.at(Hover{}, {"Sort the runs by " + columns_[static_cast<std::size_t>(column)].title + "; a third click: as added"}, intents);
    if (!mouse.clicked) return;
    if (order_.kind != kind)
      order_ = {kind, false};
    else if (!order_.descending)
      order_.descending = true;
    else
      order_ = {};
    return;
  }
  if (plan_.difference && difference.strip.contains(mouse.at) && token >= 0) {
    react_difference(p, difference, scene, token, intents);
    return;
  }
  for (const LaneRow& row : rows_) {
    if (row.row.y0 > mouse.at.y || row.row.y1 <= mouse.at.y) continue;
    if (row.lane > 0 && row.remove.contains(mouse.at)) {
      hover_.at(Hover{}, {"Remove " + lane_name(*frame.snapshot, row.lane)}, intents);
      if (mouse.clicked) intents.push_back(RemoveLane{row.lane});
      return;
    }
    react_lane(p, axis, row, token, intents);
    return;
  }
  hover_.none(intents);
}

void Compare::react_lane(const Painter& p, const TokenAxis& axis, const LaneRow& row, int token, std::vector<Intent>& intents) {
  const Frame& frame = p.frame();
  const Pointer& mouse = p.pointer();
  const ModelConfig& model = frame.snapshot->model;
  const bool on_strip = token >= 0 && mouse.at.x < axis.x_end();
  const int head = on_strip && row.lane > 0 ? head_at(mouse.at.y, row.strip, plan_.scale, model.n_layers, model.n_kv_heads) : -1;
  Hover hover;
  hover.lane = row.lane;
  if (on_strip) hover.token = token;
  if (head >= 0 && model.n_kv_heads > 0) {
    hover.layer = head / model.n_kv_heads;
    if (!plan_.scale.shares()) hover.kv_head = head % model.n_kv_heads;
  }
  const int column = metric_at(mouse.at.x, right_, columns_, frame.scale);
  const LaneMetrics& m = metrics_[static_cast<std::size_t>(row.lane)];
  hover_.at(hover,
            column >= 0 && m.step >= 0 ? metric_lines(*frame.snapshot, row.lane, m, columns_[static_cast<std::size_t>(column)])
                                       : tooltip(frame, row, axis, on_strip ? token : -1, head),
            intents);
  if (!mouse.clicked) return;
  if (mouse.shift) {
    pinned_ = row.lane;
    return;
  }
  Selection next = frame.selection;
  next.lane = row.lane;
  if (on_strip) mouse.ctrl ? toggle_tokens(next, {token, token}) : next.select({token, token});
  if (head >= 0 && !plan_.scale.shares()) {
    next.layer = head / model.n_kv_heads;
    next.kv_head = head % model.n_kv_heads;
    next.slot = token;
  }
  intents.push_back(Select{next});
}

void Compare::react_difference(const Painter& p, const DifferenceHits& difference, const DifferenceScene& scene, int token,
                               std::vector<Intent>& intents) {
  const Frame& frame = p.frame();
  const ModelConfig& model = frame.snapshot->model;
  const int head = head_at(p.pointer().at.y, difference.strip, difference.scale, model.n_layers, model.n_kv_heads);
  Hover hover;
  hover.token = token;
  std::vector<std::string> lines = {fmt::format("token {} {}", token, quoted(token_text(*frame.snapshot, token)))};
  if (head >= 0 && !difference.scale.shares() && token < scene.cells->n_tokens() && head < scene.cells->n_heads()) {
    hover.layer = head / model.n_kv_heads;
    hover.kv_head = head % model.n_kv_heads;
    const Difference d = scene.cells->at(head, token);
    const std::string place = head_name(*hover.layer, *hover.kv_head);
    const char* const words[] = {"in neither", "only in ", "only in ", "in both"};
    std::string text = place + ": " + words[static_cast<int>(d)];
    if (d == Difference::only_a) text += lane_name(*frame.snapshot, scene.a);
    if (d == Difference::only_b) text += lane_name(*frame.snapshot, scene.b);
    lines.push_back(std::move(text));
  }
  add_every_run(frame, token, lines);
  hover_.at(hover, std::move(lines), intents);
  if (!p.pointer().clicked) return;
  Selection next = frame.selection;
  next.select({token, token});
  if (hover.kv_head) {
    next.layer = hover.layer;
    next.kv_head = hover.kv_head;
  }
  intents.push_back(Select{next});
}

}  // namespace kvscope::viz
