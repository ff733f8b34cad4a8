// SPDX-License-Identifier: Apache-2.0
// What mouse and keys do in the atlas, and what it says about the cell under them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "viz/format.h"
#include "viz/views/atlas.h"

namespace kvscope::viz {
namespace {

constexpr double kZoomPerNotch = 1.25;
constexpr double kFewestTokens = 8;  // that a zoomed window shows
constexpr double kMostRowZoom = 64;

std::string step_text(int step) { return "step " + format_count(step); }

// Rank among the slots that were ranked, 1 = highest score; 0: not ranked.
int rank_of(const HeadRecord& h, std::size_t slot, int& ranked) {
  ranked = 0;
  int rank = 1;
  if (slot >= h.score.size() || std::isnan(h.score[slot])) return 0;
  for (double score : h.score) {
    if (std::isnan(score)) continue;
    ++ranked;
    if (score > h.score[slot]) ++rank;
  }
  return rank;
}

}  // namespace

std::string fate_text(const Snapshot& s, const LaneSnapshot& lane, int step, int head, int token) {
  const HeadFates& f = lane.fates->heads[static_cast<std::size_t>(head)];
  const auto i = static_cast<std::size_t>(token);
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  const Category c = categories(*lane.fates, record, head, lane.sinks, is_prefill_step(s, step), token, token).at(0);
  switch (c) {
    case Category::unseen:
      return "not seen yet";
    case Category::evicted:
      if (f.into[i] >= 0 && f.left[i] < f.lost[i]) {
        return fmt::format("merged into {} {} at {}, evicted with it at {}", format_count(f.into[i]), quoted(token_text(s, f.into[i])),
                           step_text(f.left[i]), step_text(f.lost[i]));
      }
      return "evicted at " + step_text(f.lost[i]);
    case Category::merged: {
      std::string text =
          fmt::format("merged into {} {} at {}", format_count(f.into[i]), quoted(token_text(s, f.into[i])), step_text(f.left[i]));
      const int slot = slot_of(*lane.fates, record, head, token);
      if (slot != f.into[i]) text += ", now in slot " + format_count(slot);
      return text;
    }
    case Category::fresh:
      return "new in this step";
    case Category::sink:
      return "sink, always kept";
    case Category::recent:
      return "recent, kept for now";
    case Category::kept:
      return lane.slots_asked < 0 ? "kept, the cache is unlimited" : "heavy, has its own slot";
  }
  return {};
}

std::vector<std::string> token_tooltip(const Snapshot& s, const LaneSnapshot& lane, int step, int head, int token) {
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  const int n_kv = s.model.n_kv_heads;
  std::vector<std::string> lines;
  lines.push_back(place_name(head / n_kv, head % n_kv, token) + " " + quoted(token_text(s, token)));
  lines.push_back(fate_text(s, lane, step, head, token));
  if (static_cast<std::size_t>(head) < record.heads.size()) {
    const HeadRecord& h = record.heads[static_cast<std::size_t>(head)];
    const int slot = slot_of(*lane.fates, record, head, token);
    const auto found = std::lower_bound(h.pos.begin(), h.pos.end(), slot);
    if (slot >= 0 && found != h.pos.end() && *found == slot) {
      const auto at = static_cast<std::size_t>(found - h.pos.begin());
      const std::string of = slot == token ? "" : " of slot " + format_count(slot);
      if (at < h.votes.size()) lines.push_back("votes" + of + " " + format_count(h.votes[at]));
      int ranked = 0;
      const int rank = rank_of(h, at, ranked);
      if (rank > 0)
        lines.push_back(
            fmt::format("score{} {} · rank {} of {}", of, format_number(h.score[at]), format_count(rank), format_count(ranked)));
    }
    for (const Event& e : h.events) {
      if (e.pos == token && !std::isnan(e.score)) lines.push_back("score at its removal " + format_number(e.score));
    }
    if (static_cast<std::size_t>(token) < h.reference_attention.size()) {
      lines.push_back("attention in the reference " +
                      format_number(static_cast<double>(h.reference_attention[static_cast<std::size_t>(token)])));
    }
  }
  lines.push_back(token_range_text(s.tokens, std::max(0, token - 4), token + 4, 44));
  return lines;
}

std::vector<std::string> Atlas::tooltip(const Scene& s, int layer, int kv_head, int token) const {
  return token_tooltip(*s.snapshot, *s.lane, s.step, head_index(*s.snapshot, layer, kv_head), token);
}

std::vector<std::string> Atlas::tooltip_bin(const Scene& s, const AtlasRow& row, int first, int last) const {
  const int n_kv = s.snapshot->model.n_kv_heads;
  const int from = row.kv_head < 0 ? 0 : row.kv_head, to = row.kv_head < 0 ? n_kv - 1 : row.kv_head;
  int merged = 0, own = 0, top_token = -1;
  int low = last - first + 1, high = 0;
  double top = -1;
  for (int h = from; h <= to; ++h) {
    const int head = head_index(*s.snapshot, row.layer, h);
    const HeadFates& f = s.lane->fates->heads[static_cast<std::size_t>(head)];
    int here = 0;
    for (int t = first; t <= last; ++t) {
      const auto i = static_cast<std::size_t>(t);
      if (f.lost[i] <= s.record->step) continue;
      ++here;
      ++(f.left[i] <= s.record->step ? merged : own);
    }
    low = std::min(low, here);
    high = std::max(high, here);
    if (static_cast<std::size_t>(head) >= s.record->heads.size()) continue;
    const HeadRecord& r = s.record->heads[static_cast<std::size_t>(head)];
    const auto begin = std::lower_bound(r.pos.begin(), r.pos.end(), first), end = std::upper_bound(r.pos.begin(), r.pos.end(), last);
    for (auto it = begin; it != end; ++it) {
      const auto i = static_cast<std::size_t>(it - r.pos.begin());
      if (i < r.score.size() && r.score[i] > top) {
        top = r.score[i];
        top_token = *it;
      }
    }
  }
  const int n = (last - first + 1) * (to - from + 1);
  std::vector<std::string> lines;
  const std::string where = row.kv_head < 0 ? fmt::format("L{} · {} heads", row.layer, n_kv) : head_name(row.layer, row.kv_head);
  lines.push_back(fmt::format("{} · tokens {}–{} ({})", where, format_count(first), format_count(last), format_count(last - first + 1)));
  lines.push_back(fmt::format("represented {}: {} of {}", format_percent(static_cast<double>(own + merged) / n), format_count(own + merged),
                              format_count(n)));
  lines.push_back(
      fmt::format("own slot {} · merged {} · evicted {}", format_count(own), format_count(merged), format_count(n - own - merged)));
  if (row.kv_head < 0) {
    const double size = last - first + 1;
    lines.push_back(fmt::format("heads from {} to {}", format_percent(low / size), format_percent(high / size)));
  }
  if (top_token >= 0)
    lines.push_back(fmt::format("highest score {}: token {} {}", format_number(top), format_count(top_token),
                                quoted(token_text(*s.snapshot, top_token))));
  lines.push_back(token_range_text(s.snapshot->tokens, first, last, 44));
  return lines;
}

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
    brushing_ = m.ctrl && map.contains(m.at);
    panning_ = !m.ctrl && map.contains(m.at);
    brush_from_ = static_cast<int>(std::clamp(s.axis.token_at(m.at.x), 0.0, std::max(0.0, s.seen - 1.0)));
  }
  if (in_minimap_ && m.down && window_->count > 0) {
    const double shown = static_cast<double>(s.axis.x1 - s.axis.x0) / s.axis.px;
    window_->first = s.overview.token_at(m.at.x) - shown / 2;
    changed = true;
  } else if (panning_ && m.dragging && (m.moved.x != 0 || m.moved.y != 0)) {
    if (window_->count > 0) window_->first -= static_cast<double>(m.moved.x) / s.axis.px;
    row_view_.scroll = std::max(0.0f, row_view_.scroll - m.moved.y);
    changed = true;
  }
  return changed;
}

void Atlas::react(Painter& p, const Scene& s, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  hover(p, s, intents);
  const AtlasRow* row = row_at(s, m.at.y);
  const int token = s.axis.index_at(m.at.x);
  if (m.double_clicked && row != nullptr) {
    row_view_ = {row_view_.only_layer < 0 ? row->layer : -1, 1, 0};
  } else if (brushing_ && m.released) {
    const int to = static_cast<int>(std::clamp(s.axis.token_at(m.at.x), 0.0, std::max(0.0, s.seen - 1.0)));
    Selection next = p.frame().selection;
    next.tokens = TokenRange{std::min(brush_from_, to), std::max(brush_from_, to)};
    intents.push_back(Select{next});
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
    next.tokens = TokenRange{first, s.binned ? std::min(first + s.bin, s.seen) - 1 : token};
    next.slot.reset();
    if (row->kv_head >= 0) {
      const int slot = slot_of(*s.lane->fates, *s.record, head_index(*s.snapshot, row->layer, row->kv_head), token);
      if (slot >= 0) next.slot = slot;
      cursor_ = {row->layer, row->kv_head, token};
      cursor_set_ = true;
    }
    intents.push_back(Select{next});
  }
  if (!m.down) brushing_ = panning_ = in_minimap_ = false;
  if (brushing_ && m.dragging) {
    const float a = s.axis.x_of(brush_from_), b = std::clamp(m.at.x, s.axis.x0, s.axis.x1);
    p.fill({std::min(a, b), s.area.y0, std::max(a, b), s.area.y1}, p.theme().accent, 0.16);
  }
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
    const int n = counts_.heads_per_token()[static_cast<std::size_t>(*now.token)];
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
  if (key == "Enter" || key == "Return") {
    Selection next = frame.selection;
    next.layer = c.layer;
    next.kv_head = c.kv_head;
    next.tokens = TokenRange{c.token, c.token};
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
