// SPDX-License-Identifier: Apache-2.0
// The order of the head grid, and what it says and does at the mouse and at keys.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "viz/draw/format.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/range.h"
#include "viz/reduce/text.h"
#include "viz/views/head_grid/head_grid.h"

namespace kvscope::viz {

HeadOrder head_order(const std::vector<double>& values, int n_layers, int n_heads, bool sorted) {
  HeadOrder out;
  out.layers.resize(static_cast<std::size_t>(n_layers));
  out.heads.resize(static_cast<std::size_t>(n_heads));
  std::iota(out.layers.begin(), out.layers.end(), 0);
  std::iota(out.heads.begin(), out.heads.end(), 0);
  if (sorted) {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    std::vector<double> of_layer(out.layers.size(), kNone), of_head(out.heads.size(), kNone);
    for (std::size_t i = 0; i < values.size() && i < of_layer.size() * of_head.size(); ++i) {
      if (std::isnan(values[i])) continue;
      double &l = of_layer[i / of_head.size()], &h = of_head[i % of_head.size()];
      l = std::max(l, values[i]);
      h = std::max(h, values[i]);
    }
    const auto by = [](const std::vector<double>& key) { return [&key](int i) { return key[static_cast<std::size_t>(i)]; }; };
    std::ranges::stable_sort(out.layers, std::ranges::greater(), by(of_layer));
    std::ranges::stable_sort(out.heads, std::ranges::greater(), by(of_head));
  }
  out.row_of.resize(out.layers.size());
  out.column_of.resize(out.heads.size());
  for (std::size_t i = 0; i < out.layers.size(); ++i) out.row_of[static_cast<std::size_t>(out.layers[i])] = static_cast<int>(i);
  for (std::size_t i = 0; i < out.heads.size(); ++i) out.column_of[static_cast<std::size_t>(out.heads[i])] = static_cast<int>(i);
  return out;
}

HeadOrder HeadGrid::order_of(const Frame& frame) const {
  const ModelConfig& m = frame.snapshot->model;
  return head_order(sorted_ ? values_of(frame) : std::vector<double>{}, m.n_layers, m.n_kv_heads, sorted_);
}

std::vector<std::string> HeadGrid::tooltip(const Frame& frame, int layer, int head) const {
  const StepRecord* record = record_of(frame);
  std::vector<std::string> lines = {head_name(layer, head)};
  lines.front() += window_text(*frame.snapshot, layer);
  const auto index = static_cast<std::size_t>(head_index(*frame.snapshot, layer, head));
  if (record == nullptr || index >= record->heads.size()) return lines;
  if (changed_by_hand(frame, index)) lines.front() += " · dot: its budget or tokens were changed by hand";
  const std::vector<double>& values = values_of(frame);
  const double v = values[index];
  lines.push_back(fmt::format("{} {} ({})", metric_name(metric_), format_metric(metric_, v), unit_text(frame)));
  if (metric_ == HeadMetric::cause && !std::isnan(v)) {
    const bool returns = frame.causes->answer_returns(static_cast<int>(index));
    lines.push_back(gain_words(*frame.causes, static_cast<int>(index)) + (returns ? ": the answer returns" : ""));
  }
  if (!frame.snapshot->history && needs_history(metric_))
    lines.back() = std::string(metric_name(metric_)) + " not captured: M captures it now";
  if (frame.selection.steps && metric_ != HeadMetric::votes_lost && !habit_in(metric_) && !is_of_one_step(metric_)) {
    const auto value = [this](const HeadRecord& h, int seen) { return head_metric(h, metric_, seen); };
    const Statistics s = head_statistics(*lane_of(frame), *frame.selection.steps, static_cast<int>(index), value);
    lines.push_back(fmt::format("from {} to {}, {} steps measured", format_metric(metric_, s.min), format_metric(metric_, s.max), s.n));
  }
  if (!std::isnan(v)) {
    int rank = 1, n = 0;
    for (const double w : values) {
      if (std::isnan(w)) continue;
      ++n;
      if (w > v) ++rank;
    }
    lines.push_back(fmt::format("rank {} of {} heads, 1 = highest", format_count(rank), format_count(n)));
  }
  for (std::string& line : metric_lines(frame, layer, head)) lines.push_back(std::move(line));
  return lines;
}

/// The metrics that are not shown, habits three a line: a tooltip has twelve lines.
std::vector<std::string> HeadGrid::metric_lines(const Frame& frame, int layer, int head) const {
  std::vector<std::string> lines;
  const int index = head_index(*frame.snapshot, layer, head);
  for (int m = 0; m < kRecordMetrics; ++m) {
    const auto metric = static_cast<HeadMetric>(m);
    const bool beside = metric == HeadMetric::slots && metric_ != HeadMetric::retained;  // slots and their share: one line
    const bool stored = metric == HeadMetric::key_error || metric == HeadMetric::value_error;
    const bool unasked = (metric == HeadMetric::cause && (frame.causes == nullptr || frame.causes->n_heads == 0)) ||
                         (stored && std::isnan(value_of(frame, index, metric)));
    if (metric == metric_ || beside || unasked) continue;
    const auto text = [&](HeadMetric of) { return std::string(metric_name(of)) + " " + format_metric(of, value_of(frame, index, of)); };
    lines.push_back(text(metric));
    if (metric == HeadMetric::retained && metric_ != HeadMetric::slots) lines.back() += " · " + text(HeadMetric::slots);
  }
  if (const std::string missing = habits_missing(*frame.snapshot); !missing.empty()) {
    lines.push_back("habits " + missing);
    return lines;
  }
  for (int m = kRecordMetrics; m < kHeadMetrics; ++m) {
    const auto metric = static_cast<HeadMetric>(m);
    const bool first = (m - kRecordMetrics) % 3 == 0;
    const std::string_view name = metric_name(metric);
    const std::string text =
        fmt::format("{} {}", first ? name : name.substr(name.find(' ') + 1), format_metric(metric, value_of(frame, index, metric)));
    if (first)
      lines.push_back(text);
    else
      lines.back() += " · " + text;
  }
  return lines;
}

void HeadGrid::react(Painter& p, const Grid& g, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  capture_.react(m, intents);
  Hover now;
  if (m.inside && m.at.x >= g.area.x0 && m.at.y >= g.area.y0) {
    const int h = static_cast<int>((m.at.x - g.area.x0) / (g.cell_w + g.gap)),
              l = static_cast<int>((m.at.y - g.area.y0) / (g.cell_h + g.gap));
    if (h < g.n_heads && l < g.n_layers) {
      now.layer = g.order.layers[static_cast<std::size_t>(l)];
      now.kv_head = g.order.heads[static_cast<std::size_t>(h)];
    }
  }
  const bool corner = m.inside && std::ranges::any_of(marks_, [&](const Mark& mark) {
                        return mark.kind == "sort" && Rect{mark.min.x, mark.min.y, mark.max.x, mark.max.y}.contains(m.at);
                      });
  if (m.clicked && corner) sorted_ = !sorted_;
  if (m.clicked && now.layer) {
    Selection next = p.frame().selection;
    next.layer = now.layer;
    next.kv_head = now.kv_head;
    next.slot.reset();
    intents.push_back(Select{next});
  }
  if (m.double_clicked && now.layer) intents.push_back(OpenInspector{});
  const bool same = now == hovered_ && (of_ == hovered_of_ || now == Hover{});  // another step or run has other numbers under the mouse
  if (same && corner == on_corner_ && !(m.clicked && corner)) return;
  hovered_ = now;
  hovered_of_ = of_;
  on_corner_ = corner;
  HoverAt hover{now, {}};
  if (corner)
    hover.tooltip = {sorted_ ? "largest first: layers and heads by the largest value they have" : "order of the model",
                     sorted_ ? "click or S: order of the model" : "click or S: the largest first"};
  if (now.layer) hover.tooltip = tooltip(p.frame(), *now.layer, *now.kv_head);
  intents.push_back(std::move(hover));
}

bool HeadGrid::key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) {
  if (key.size() == 1 && key[0] >= '1' && key[0] <= '9') {  // the rest is in the list
    metric_ = static_cast<HeadMetric>(key[0] - '1');
    return true;
  }
  if (key == "S") {
    sorted_ = !sorted_;
    return true;
  }
  const StepRecord* record = record_of(frame);
  if (record == nullptr || record->heads.empty()) return false;
  if (key == "M" && capture_.offered()) {
    capture_.ask(intents);
    return true;
  }
  const ModelConfig& m = frame.snapshot->model;
  const HeadOrder order = order_of(frame);
  const auto at = [](const std::vector<int>& list, int i) {
    return list[static_cast<std::size_t>(std::clamp(i, 0, static_cast<int>(list.size()) - 1))];
  };
  const int chosen = selected_head(frame);
  if (key == "Enter" || key == "Return") {
    if (chosen < 0) return false;
    intents.push_back(OpenInspector{});
    return true;
  }
  const int chosen_layer = chosen < 0 ? frame.selection.layer.value_or(-1) : chosen / m.n_kv_heads;
  int row = chosen_layer < 0 ? 0 : at(order.row_of, chosen_layer), column = chosen < 0 ? 0 : at(order.column_of, chosen % m.n_kv_heads);
  if (key == "Left")
    --column;
  else if (key == "Right")
    ++column;
  else if (key == "Up")
    --row;
  else if (key == "Down")
    ++row;
  else if (key == "Home")
    row = column = 0;
  else if (key == "End") {
    row = m.n_layers - 1;
    column = m.n_kv_heads - 1;
  } else {
    return false;
  }
  if (chosen < 0) column = 0;  // the first key goes to a head, the next ones away from it
  if (chosen_layer < 0) row = 0;
  Selection next = frame.selection;
  next.layer = at(order.layers, row);
  next.kv_head = at(order.heads, column);
  next.slot.reset();
  intents.push_back(Select{next});
  return true;
}

std::string HeadGrid::summary(const Frame& frame) const {
  std::string out = facts(frame);
  if (frame.snapshot == nullptr || frame.snapshot->model.n_kv_heads <= 0) return out;
  const std::vector<double>& values = values_of(frame);
  int most = -1;
  for (int h = 0; h < static_cast<int>(values.size()); ++h) {
    const double v = values[static_cast<std::size_t>(h)];
    if (!std::isnan(v) && (most < 0 || v > values[static_cast<std::size_t>(most)])) most = h;
  }
  if (most < 0) return out + ", not available";
  const int n_kv = frame.snapshot->model.n_kv_heads;
  return out + fmt::format(", {} of {} heads: {}", head_name(most / n_kv, most % n_kv),
                           format_count(static_cast<std::int64_t>(values.size())),
                           "highest " + format_metric(metric_, values[static_cast<std::size_t>(most)]));
}

std::string HeadGrid::cursor_text(const Frame& frame) const {
  const int chosen = selected_head(frame);
  if (chosen < 0) return "no head selected";
  const int n_kv = frame.snapshot->model.n_kv_heads;
  std::string text;
  for (const std::string& line : tooltip(frame, chosen / n_kv, chosen % n_kv)) text += (text.empty() ? "" : "; ") + line;
  return text;
}

Table HeadGrid::table(const Frame& frame) const {
  Table table;
  table.columns = {"layer", "KV head", "local_l1_wo",  "local_rel_l2", "retained",  "votes lost", "attention_loss",
                   "slots", "theta",   "disagreement", "kl_saved",     "key_error", "value_error"};
  for (int m = kRecordMetrics; m < kHeadMetrics; ++m) table.columns.emplace_back(metric_name(static_cast<HeadMetric>(m)));
  const StepRecord* record = record_of(frame);
  if (record == nullptr) return table;
  const HeadOrder order = order_of(frame);
  for (const int layer : order.layers) {
    for (const int head : order.heads) {
      const int index = head_index(*frame.snapshot, layer, head);
      if (index >= static_cast<int>(record->heads.size())) continue;
      std::vector<std::string> row = {std::to_string(layer), std::to_string(head)};
      for (int m = 0; m < kHeadMetrics; ++m) row.push_back(format_precise(value_of(frame, index, static_cast<HeadMetric>(m))));
      table.rows.push_back(std::move(row));
    }
  }
  if (const std::string missing = habits_missing(*frame.snapshot); !missing.empty()) table.note = "habits " + missing;
  if (frame.selection.steps)
    table.note +=
        (table.note.empty() ? "" : "; ") +
        fmt::format("means over {}; votes lost: in these steps; disagreement: in the step shown", range_text(*frame.selection.steps));
  return table;
}

}  // namespace kvscope::viz
