// SPDX-License-Identifier: Apache-2.0
// What the mouse does in the comparison.
#include <algorithm>

#include <fmt/format.h>

#include "viz/format.h"
#include "viz/reduce_text.h"
#include "viz/views/compare.h"

namespace kvscope::viz {

std::vector<std::string> Compare::tooltip(const Frame& frame, const LaneRow& row, int token, int head) const {
  const Snapshot& s = *frame.snapshot;
  const LaneMetrics& m = metrics_[static_cast<std::size_t>(row.lane)];
  std::vector<std::string> out = {lane_name(s, row.lane) + " · " + s.lanes[static_cast<std::size_t>(row.lane)].spec};
  if (token < 0 || token > m.position) return out;
  out.push_back(count_text(frame, row.lane, m.step, token));
  if (head >= 0 && !plan_.scale.by_layer && row.lane > 0) {
    Selection there = frame.selection;
    there.lane = row.lane;
    there.layer = head / std::max(1, s.model.n_kv_heads);
    there.kv_head = head % std::max(1, s.model.n_kv_heads);
    const HeadPick pick = pick_head(s, there);
    if (pick.values != nullptr) out.push_back(head_name(*there.layer, *there.kv_head) + ": " + fate_text(head_columns(s, pick), token));
  }
  return out;
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
  if (plan_.difference && difference.swap.contains(mouse.at)) {
    hover_.none(intents);
    if (mouse.clicked) swapped_ = !swapped_;
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
    if (!plan_.scale.by_layer) hover.kv_head = head % model.n_kv_heads;
  }
  const int column = metric_at(mouse.at.x, right_, columns_, frame.scale);
  const LaneMetrics& m = metrics_[static_cast<std::size_t>(row.lane)];
  hover_.at(hover,
            column >= 0 && m.step >= 0 ? metric_lines(*frame.snapshot, row.lane, m, columns_[static_cast<std::size_t>(column)])
                                       : tooltip(frame, row, on_strip ? token : -1, head),
            intents);
  if (!mouse.clicked) return;
  if (mouse.shift) {
    pinned_ = row.lane;
    return;
  }
  Selection next = frame.selection;
  next.lane = row.lane;
  if (on_strip) next.tokens = TokenRange{token, token};
  if (head >= 0 && !plan_.scale.by_layer) {
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
  if (head >= 0 && !difference.scale.by_layer && token < scene.cells->n_tokens && head < scene.cells->n_heads) {
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
  hover_.at(hover, std::move(lines), intents);
  if (!p.pointer().clicked) return;
  Selection next = frame.selection;
  next.tokens = TokenRange{token, token};
  if (hover.kv_head) {
    next.layer = hover.layer;
    next.kv_head = hover.kv_head;
  }
  intents.push_back(Select{next});
}

}  // namespace kvscope::viz
