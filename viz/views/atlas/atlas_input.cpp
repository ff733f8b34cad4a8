// SPDX-License-Identifier: Apache-2.0
// What mouse and keys do in the atlas.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/draw/format.h"
#include "viz/views/atlas/atlas.h"

namespace kvscope::viz {
namespace {

constexpr double kZoomPerNotch = 1.25;
constexpr double kFewestTokens = 8;  // that a zoomed window shows
constexpr double kMostRowZoom = 64;

}  // namespace

const AtlasRow* Atlas::row_at(const Scene& s, float y) const {
  const AtlasRow* best = nullptr;
  float distance = 3;  // gaps snap to the nearest row
  for (const AtlasRow& row : s.rows.rows) {
    const float d = y < row.y0 ? row.y0 - y : y >= row.y1 ? y - row.y1 + 0.01f : 0;
    if (d < distance) {
      distance = d;
      best = &row;
    }
  }
  return y >= s.area.y0 - 1 && y < s.area.y1 + 1 ? best : nullptr;
}

void Atlas::zoom_tokens(const Scene& s, const Painter& p, float x, double factor) {
  const double at = s.axis.token_at(std::clamp(x, s.axis.x0, s.axis.x1));
  const double shown = static_cast<double>(s.axis.x1 - s.axis.x0) / s.axis.px;
  // Whole pixels per token: a small step must still change something.
  double count = std::clamp(std::min(shown, static_cast<double>(s.n_tokens)) / factor,
                            std::min(kFewestTokens, static_cast<double>(s.n_tokens)), static_cast<double>(s.n_tokens));
  if (factor > 1 && s.axis.px >= 3) count = std::min(count, static_cast<double>(s.axis.x1 - s.axis.x0) / (s.axis.px + 1));
  if (count >= s.n_tokens || (factor < 1 && shown / factor >= s.n_tokens)) {
    *window_ = {};
    return;
  }
  window_->count = count;
  const TokenAxis axis = make_token_axis(p, *window_, s.n_tokens);
  window_->first = at - static_cast<double>(x - axis.x0) / axis.px;
}

bool Atlas::pan_and_zoom(Painter& p, const Scene& s) {
  const Pointer& m = p.pointer();
  bool changed = false;
  if (m.wheel != 0 && m.shift) {
    const double before = row_view_.zoom;
    row_view_.zoom = std::clamp(before * std::pow(kZoomPerNotch, m.wheel), 1.0, kMostRowZoom);
    const float at = m.at.y - s.area.y0 + row_view_.scroll;
    row_view_.scroll = std::max(0.0f, at * static_cast<float>(row_view_.zoom / before) - (m.at.y - s.area.y0));
    changed = true;
  } else if (m.wheel != 0) {
    zoom_tokens(s, p, m.at.x, std::pow(kZoomPerNotch, m.wheel));
    changed = true;
  }
  const Rect map{s.axis.x0, s.area.y0, s.axis.x1, s.area.y1};
  if (m.pressed) {
    in_minimap_ = Rect{s.overview.x0, s.minimap.y0, s.overview.x1, s.minimap.y1}.contains(m.at);
    if (in_minimap_) {
      const double at = s.overview.token_at(m.at.x), shown = static_cast<double>(s.axis.x1 - s.axis.x0) / s.axis.px;
      framing_ = window_->count <= 0;
      const bool inside = at >= window_->first && at < window_->first + shown;
      grabbed_ = framing_ ? at : inside ? at - window_->first : shown / 2;  // beside the window: it jumps there
    }
    panning_ = !m.ctrl && map.contains(m.at);
  }
  if (in_minimap_) {
    changed = drag_minimap(m, s) || changed;
  } else if (panning_ && m.dragging && (m.moved.x != 0 || m.moved.y != 0)) {
    if (window_->count > 0) window_->first -= static_cast<double>(m.moved.x) / s.axis.px;
    row_view_.scroll = std::max(0.0f, row_view_.scroll - m.moved.y);
    changed = true;
  }
  return changed;
}

// The window of a zoomed atlas is dragged; where all tokens show, a drag frames the ones to zoom to.
bool Atlas::drag_minimap(const Pointer& m, const Scene& s) {
  const double at = s.overview.token_at(std::clamp(m.at.x, s.overview.x0, s.overview.x1));
  if (!framing_) {
    if (!m.down) return false;
    window_->first = at - grabbed_;
    return true;
  }
  if (!m.released || std::abs(m.at.x - m.pressed_at.x) < 4) return false;
  const double first = std::clamp(std::min(at, grabbed_), 0.0, static_cast<double>(s.n_tokens));
  const double last = std::clamp(std::max(at, grabbed_), 0.0, static_cast<double>(s.n_tokens));
  *window_ = {first, std::max(last - first, kFewestTokens)};
  return true;
}

// Towards the numbers of one cell: first the tokens of the bin under it, then the heads of its layer. False: nothing is folded there.
bool Atlas::zoom_to_bin(const Frame& frame, const Cell& cell) {
  if (last_bin_ > 1) {
    const double shown = std::max<double>(last_bin_, 32), middle = (cell.token / last_bin_ + 0.5) * last_bin_;
    *window_ = {std::max(0.0, middle - shown / 2), shown};
    return true;
  }
  if (!last_by_layer_ || row_view_.only_layer >= 0 || cell.layer >= frame.snapshot->model.n_layers) return false;
  row_view_ = {cell.layer, 1, 0};
  return true;
}

void Atlas::react(Painter& p, const Scene& s, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  hover(p, s, intents);
  const AtlasRow* row = row_at(s, m.at.y);
  const int token = s.axis.index_at(m.at.x);
  if (m.double_clicked && row != nullptr) {
    row_view_ = {row_view_.only_layer < 0 ? row->layer : -1, 1, 0};
  } else if (brush_.react(p, s.axis, {s.axis.x0, s.area.y0, s.axis.x1, s.area.y1}, s.seen, intents)) {
    // the tokens are selected when it is let go
  } else if (m.clicked && row != nullptr && m.at.x < s.area.x0) {  // labels: a layer, or a head
    Selection next = p.frame().selection;
    next.layer = row->layer;
    next.kv_head = row->kv_head >= 0 && m.at.x > p.px(36) ? std::optional<int>(row->kv_head) : std::nullopt;
    intents.push_back(Select{next});
  } else if (m.clicked && row != nullptr && token >= 0 && token < s.seen) {
    Selection next = p.frame().selection;
    next.layer = row->layer;
    next.kv_head = row->kv_head >= 0 ? std::optional<int>(row->kv_head) : std::nullopt;
    const int first = s.binned ? token / s.bin * s.bin : token;
    const TokenRange clicked{first, s.binned ? std::min(first + s.bin, s.seen) - 1 : token};
    next.select(m.shift && next.tokens ? TokenRange{std::min(next.tokens->first, clicked.first), std::max(next.tokens->last, clicked.last)}
                                       : clicked);
    next.slot.reset();
    if (row->kv_head >= 0) {
      const int slot = slot_of(*s.lane->fates, *s.record, head_index(*s.snapshot, row->layer, row->kv_head), token);
      if (slot >= 0) next.slot = slot;
      cursor_ = {row->layer, row->kv_head, token};
      cursor_set_ = true;
    }
    intents.push_back(Select{next});
  }
  if (!m.down) panning_ = in_minimap_ = framing_ = false;
}

void Atlas::hover(const Painter& p, const Scene& s, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  Hover now;
  HoverAt intent;
  const AtlasRow* row = m.inside && !m.dragging ? row_at(s, m.at.y) : nullptr;
  const int token = m.inside ? s.axis.index_at(m.at.x) : -1;
  const bool in_minimap = m.inside && m.at.y >= s.minimap.y0 && m.at.y < s.minimap.y1;
  if (row != nullptr && token >= 0 && token < s.seen) {
    now.layer = row->layer;
    if (row->kv_head >= 0) now.kv_head = row->kv_head;
    now.token = token;
  } else if (row != nullptr && m.at.x < s.area.x0) {
    now.layer = row->layer;
    if (row->kv_head >= 0 && m.at.x > p.px(36)) now.kv_head = row->kv_head;
  } else if (in_minimap && !m.dragging) {
    const int t = s.overview.index_at(m.at.x);
    if (t >= 0 && t < s.seen) now.token = t;
  }
  const std::uint64_t scene = scene_key(p.frame(), s);
  if (now == hovered_ && (scene == hovered_scene_ || now == Hover{})) return;
  hovered_ = now;
  hovered_scene_ = scene;
  intent.hover = now;
  if (now.token && row != nullptr) {
    const int first = s.binned ? token / s.bin * s.bin : token;
    if (row->kv_head >= 0 && s.bin == 1) {
      intent.tooltip = tooltip(s, row->layer, row->kv_head, token);
    } else {
      intent.tooltip = tooltip_bin(s, *row, first, std::min(first + s.bin, s.seen) - 1);
    }
  } else if (now.token) {
    const int n = represented_.heads_per_token()[static_cast<std::size_t>(*now.token)];
    intent.tooltip = {fmt::format("token {} {}", format_count(*now.token), quoted(token_text(*s.snapshot, *now.token))),
                      fmt::format("represented in {} of {} heads", format_count(n), format_count(n_heads_total(*s.snapshot)))};
  }
  intents.push_back(std::move(intent));
}

Atlas::Cell Atlas::cursor_of(const Frame& frame) const {
  Cell c = cursor_;
  if (!cursor_set_)
    c = {frame.selection.layer.value_or(0), frame.selection.kv_head.value_or(0),
         frame.selection.tokens ? frame.selection.tokens->first : 0};
  const StepRecord* record = record_of(frame);
  c.layer = std::clamp(c.layer, 0, std::max(0, frame.snapshot->model.n_layers - 1));
  c.kv_head = std::clamp(c.kv_head, 0, std::max(0, frame.snapshot->model.n_kv_heads - 1));
  c.token = std::clamp(c.token, 0, record == nullptr ? 0 : std::max(0, record->position));
  return c;
}

void Atlas::show_token(int token, int n_tokens) {
  if (window_->count <= 0) return;
  const double page = static_cast<double>(last_page_);
  if (token < window_->first) window_->first = token;
  if (token + 1 > window_->first + page) window_->first = token + 1 - page;
  window_->first = std::clamp(window_->first, 0.0, std::max(0.0, n_tokens - page));
}

bool Atlas::key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) {
  const LaneSnapshot* lane = lane_of(frame);
  const StepRecord* record = record_of(frame);
  if (lane == nullptr || record == nullptr || lane->fates == nullptr || lane->fates->heads.empty()) return false;
  const int n_kv = frame.snapshot->model.n_kv_heads, n_tokens = lane->fates->n_tokens;
  if (key == "0") {
    *window_ = {};
    row_view_ = {};
    return true;
  }
  Cell c = cursor_of(frame);
  if (key == "+" || key == "-" || key == "=") {
    const double shown = window_->count > 0 ? window_->count : n_tokens;
    const double count =
        key == "-" ? shown * kZoomPerNotch : std::max(std::min(kFewestTokens, static_cast<double>(n_tokens)), shown / kZoomPerNotch);
    *window_ = count >= n_tokens ? TokenWindow{} : TokenWindow{c.token + 0.5 - count / 2, count};
    window_->first = std::max(0.0, window_->first);
    return true;
  }
  if (frame.plain && (key == "Enter" || key == "Shift+Enter")) {  // selects here; there is no inspector in a lecture
    Selection next = frame.selection;
    next.layer = c.layer;
    next.kv_head = c.kv_head;
    const bool extend = key == "Shift+Enter" && next.tokens;
    next.tokens =
        extend ? TokenRange{std::min(next.tokens->first, c.token), std::max(next.tokens->last, c.token)} : TokenRange{c.token, c.token};
    next.slot.reset();
    intents.push_back(Select{next});
    return true;
  }
  if (key == "Enter" || key == "Return") {
    Cell under = c;  // the mouse shows what is meant, else the cursor
    if (hovered_.token && hovered_.layer) under = {*hovered_.layer, hovered_.kv_head.value_or(0), *hovered_.token};
    if (zoom_to_bin(frame, under)) {
      cursor_ = under;
      cursor_set_ = true;
      return true;
    }
    Selection next = frame.selection;
    next.layer = c.layer;
    next.kv_head = c.kv_head;
    next.select({c.token, c.token});
    next.slot.reset();
    const int slot = slot_of(*lane->fates, *record, head_index(*frame.snapshot, c.layer, c.kv_head), c.token);
    if (slot >= 0) next.slot = slot;
    intents.push_back(Select{next});
    intents.push_back(OpenInspector{});
    return true;
  }
  const int page = std::max(1, static_cast<int>(last_page_) - 1);
  if (key == "Left")
    c.token -= 1;
  else if (key == "Right")
    c.token += 1;
  else if (key == "Shift+Left")
    c.token -= 10;
  else if (key == "Shift+Right")
    c.token += 10;
  else if (key == "PageUp")
    c.token -= page;
  else if (key == "PageDown")
    c.token += page;
  else if (key == "Home")
    c.token = 0;
  else if (key == "End")
    c.token = record->position;
  else if (key == "Up" || key == "Down") {
    const int n_heads = static_cast<int>(lane->fates->heads.size());
    const int head = std::clamp(head_index(*frame.snapshot, c.layer, c.kv_head) + (key == "Up" ? -1 : 1), 0, n_heads - 1);
    c.layer = head / n_kv;
    c.kv_head = head % n_kv;
  } else {
    return false;
  }
  c.token = std::clamp(c.token, 0, std::max(0, record->position));
  cursor_ = c;
  cursor_set_ = true;
  if (row_view_.only_layer >= 0) row_view_.only_layer = c.layer;
  show_token(c.token, n_tokens);
  HoverAt at;
  at.hover.layer = c.layer;
  at.hover.kv_head = c.kv_head;
  at.hover.token = c.token;
  intents.push_back(std::move(at));
  return true;
}

std::string Atlas::cursor_text(const Frame& frame) const {
  const LaneSnapshot* lane = lane_of(frame);
  if (lane == nullptr || record_of(frame) == nullptr || lane->fates == nullptr || lane->fates->heads.empty()) return "no tokens";
  const Cell c = cursor_of(frame);
  std::string text;
  for (const std::string& line :
       token_tooltip(*frame.snapshot, *lane, step_of(*lane, frame.selection), head_index(*frame.snapshot, c.layer, c.kv_head), c.token)) {
    if (!text.empty()) text += "; ";
    text += line;
  }
  return text;
}

}  // namespace kvscope::viz
