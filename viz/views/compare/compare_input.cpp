// SPDX-License-Identifier: Apache-2.0
// What the mouse does in the comparison.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/from_chars.h"
#include "viz/views/compare/compare.h"
#include "viz/views/compare/compare_text.h"

namespace kvscope::viz {

namespace {

constexpr std::string_view kFirstRun = "first", kSecondRun = "second";  // of the pair, before the run that it is to be

}  // namespace

bool Compare::choose_run(const Frame& frame, std::string_view key, std::vector<Intent>& intents) {
  const bool first = key.starts_with(kFirstRun), second = key.starts_with(kSecondRun);
  if (!first && !second) return false;
  const std::string_view number = key.substr(std::min(key.size(), (first ? kFirstRun : kSecondRun).size() + 1));
  pair_.set(frame.selection, first, number_from<int>(number).value_or(-1), intents);
  return true;
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

void Compare::react(const Painter& p, const CompareScene& s, const DrawnDifference& difference, std::vector<Intent>& intents) {
  const Pointer& mouse = p.pointer();
  if (!mouse.inside) return hover_.none(intents);
  if (const std::optional<int> run = waiting_.cancel_at(mouse.at)) {
    hover_.at(Hover{}, {"Cancel this run"}, intents);
    if (mouse.clicked) intents.push_back(CancelRun{*run});
    return;
  }
  if (s.plan.difference && react_pair(p, difference.hits, intents)) return;
  if (mouse.clicked && legend_.offers_pair(mouse)) return choose(0, static_cast<int>(CompareMode::pair));
  if (legend_.react(mouse, hover_, intents)) return;
  if (mouse.at.y < p.px(compare::kHeader)) return react_header(p, s, intents);
  const int token = s.axis.index_at(mouse.at.x);
  if (s.plan.difference && difference.hits.strip.contains(mouse.at) && token >= 0)
    return react_difference(p, s, difference, token, intents);
  const RunRows::Row* row = rows_.at(mouse.at.y);
  row != nullptr ? react_run(p, s, *row, intents) : hover_.none(intents);
}

bool Compare::react_pair(const Painter& p, const DifferenceHits& hits, std::vector<Intent>& intents) {
  const Pointer& mouse = p.pointer();
  if (hits.swap.contains(mouse.at)) {
    hover_.none(intents);
    if (mouse.clicked) pair_.swap();
    return true;
  }
  for (const bool first : {true, false}) {
    if (!(first ? hits.first : hits.second).contains(mouse.at)) continue;
    hover_.at(Hover{}, {"Choose the run"}, intents);
    if (!mouse.clicked) return true;
    const Rect& name = first ? hits.first : hits.second;
    const auto [a, b] = pair_.lanes(p.frame().selection);
    OfferList list{name.x0, name.y1, {}, first ? a : b};
    for (int lane = 0; lane < static_cast<int>(p.frame().snapshot->lanes.size()); ++lane)
      list.choices.push_back({lane_name(*p.frame().snapshot, lane), fmt::format("{} {}", first ? kFirstRun : kSecondRun, lane)});
    intents.push_back(std::move(list));
    return true;
  }
  return false;
}

void Compare::react_header(const Painter& p, const CompareScene& s, std::vector<Intent>& intents) {
  const int column = metric_at(p.pointer().at.x, s.right, s.columns, p.frame().scale);
  if (column < 0) return hover_.none(intents);
  const MetricColumn& under = s.columns[static_cast<std::size_t>(column)];
  hover_.at(Hover{}, {"Sort the runs by " + under.title + "; a third click: as added"}, intents);
  if (!p.pointer().clicked) return;
  if (order_.kind != under.kind)
    order_ = {under.kind, false};
  else if (!order_.descending)
    order_.descending = true;
  else
    order_ = {};
}

void Compare::react_run(const Painter& p, const CompareScene& s, const RunRows::Row& row, std::vector<Intent>& intents) {
  const Frame& frame = p.frame();
  const Pointer& mouse = p.pointer();
  if (row.lane > 0 && row.remove.contains(mouse.at)) {
    hover_.at(Hover{}, {"Remove " + lane_name(*frame.snapshot, row.lane)}, intents);
    if (mouse.clicked) intents.push_back(RemoveLane{row.lane});
    return;
  }
  const ModelConfig& model = frame.snapshot->model;
  const StripScale& scale = s.plan.scale;
  const int token = s.axis.index_at(mouse.at.x);
  const bool on_strip = token >= 0 && mouse.at.x < s.axis.x_end();
  const int head = on_strip && row.lane > 0 ? head_at(mouse.at.y, row.strip, scale, model.n_layers, model.n_kv_heads) : -1;
  Hover hover;
  hover.lane = row.lane;
  if (on_strip) hover.token = token;
  if (head >= 0 && model.n_kv_heads > 0) {
    hover.layer = head / model.n_kv_heads;
    if (!scale.shares()) hover.kv_head = head % model.n_kv_heads;
  }
  const int column = metric_at(mouse.at.x, s.right, s.columns, frame.scale);
  const LaneMetrics& m = s.of(row.lane);
  hover_.at(hover,
            column >= 0 && m.step >= 0 ? metric_lines(*frame.snapshot, row.lane, m, s.columns[static_cast<std::size_t>(column)])
                                       : run_tooltip(frame, s, row.lane, on_strip ? token : -1, head, tokens_),
            intents);
  if (!mouse.clicked) return;
  if (mouse.shift) return pair_.choose(row.lane);
  Selection next = frame.selection;
  next.lane = row.lane;
  if (on_strip) mouse.ctrl ? toggle_tokens(next, {token, token}) : next.select({token, token});
  if (head >= 0 && !scale.shares()) {
    next.layer = head / model.n_kv_heads;
    next.kv_head = head % model.n_kv_heads;
    next.slot = token;
  }
  intents.push_back(Select{next});
}

void Compare::react_difference(const Painter& p, const CompareScene& s, const DrawnDifference& difference, int token,
                               std::vector<Intent>& intents) {
  const Frame& frame = p.frame();
  const ModelConfig& model = frame.snapshot->model;
  const auto& [hits, scene] = difference;
  int head = head_at(p.pointer().at.y, hits.strip, hits.scale, model.n_layers, model.n_kv_heads);
  if (hits.scale.shares() || token >= scene.cells->n_tokens() || head >= scene.cells->n_heads()) head = -1;
  Hover hover;
  hover.token = token;
  if (head >= 0) {
    hover.layer = head / model.n_kv_heads;
    hover.kv_head = head % model.n_kv_heads;
  }
  hover_.at(hover, difference_tooltip(*frame.snapshot, s, scene, token, head, tokens_), intents);
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
