// SPDX-License-Identifier: Apache-2.0
// What mouse and keys do in the atlas.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "viz/draw/format.h"
#include "viz/views/atlas/atlas.h"
#include "viz/views/atlas/atlas_text.h"

namespace kvscope::viz {
namespace {

constexpr float kHeadLabels = 36;  // where the column of head labels begins

std::optional<int> head_of(const AtlasRow& row) { return row.kv_head >= 0 ? std::optional<int>(row.kv_head) : std::nullopt; }

TokenRange joined(const TokenRange& a, const TokenRange& b) { return {std::min(a.first, b.first), std::max(a.last, b.last)}; }

}  // namespace

void Atlas::react(Painter& p, const AtlasScene& s, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  hover(p, s, intents);
  const AtlasRow* row = s.row_at(m.at.y);
  const int token = s.axis.index_at(m.at.x);
  if (m.double_clicked && row != nullptr) {
    zoom_.toggle_layer(row->layer);
  } else if (brush_.react(p, s.axis, s.map(), s.seen, intents)) {
    // the tokens are selected when it is let go
  } else if (m.clicked && row != nullptr && m.at.x < s.area.x0) {  // labels: a layer, or a head
    Selection next = p.frame().selection;
    next.layer = row->layer;
    next.kv_head = m.at.x > p.px(kHeadLabels) ? head_of(*row) : std::nullopt;
    intents.push_back(Select{next});
  } else if (m.clicked && row != nullptr && token >= 0 && token < s.seen) {
    click(p, s, *row, token, intents);
  }
}

void Atlas::click(const Painter& p, const AtlasScene& s, const AtlasRow& row, int token, std::vector<Intent>& intents) {
  Selection next = p.frame().selection;
  next.layer = row.layer;
  next.kv_head = head_of(row);
  const TokenRange clicked = s.bin_of(token);
  next.select(p.pointer().shift && next.tokens ? joined(*next.tokens, clicked) : clicked);
  next.slot.reset();
  if (row.kv_head >= 0) {
    next.slot = token;
    cursor_.set({row.layer, row.kv_head, token}, next);
  }
  intents.push_back(Select{next});
}

void Atlas::hover(const Painter& p, const AtlasScene& s, std::vector<Intent>& intents) {
  const Pointer& m = p.pointer();
  Hover now;
  const AtlasRow* row = m.inside && !m.dragging ? s.row_at(m.at.y) : nullptr;
  const int token = m.inside ? s.axis.index_at(m.at.x) : -1;
  const bool in_minimap = m.inside && m.at.y >= s.minimap.y0 && m.at.y < s.minimap.y1;
  if (row != nullptr && token >= 0 && token < s.seen) {
    now.layer = row->layer;
    now.kv_head = head_of(*row);
    now.token = token;
  } else if (row != nullptr && m.at.x < s.area.x0) {
    now.layer = row->layer;
    if (m.at.x > p.px(kHeadLabels)) now.kv_head = head_of(*row);
  } else if (in_minimap && !m.dragging) {
    const int t = s.overview.index_at(m.at.x);
    if (t >= 0 && t < s.seen) now.token = t;
  }
  if (now == hovered_ && (s.version == hovered_version_ || now == Hover{})) return;
  hovered_ = now;
  hovered_version_ = s.version;
  intents.push_back(HoverAt{now, now.token ? tooltip(s, row, *now.token) : std::vector<std::string>()});
}

std::vector<std::string> Atlas::tooltip(const AtlasScene& s, const AtlasRow* row, int token) const {
  if (row == nullptr) {  // in the minimap
    const int n = represented_.heads_per_token()[static_cast<std::size_t>(token)];
    return {fmt::format("token {} {}", format_count(token), quoted(token_text(tokens_of(*s.snapshot, *s.lane), token))),
            fmt::format("represented in {} of {} heads", format_count(n), format_count(n_heads_total(*s.snapshot)))};
  }
  if (row->kv_head < 0 || s.bin > 1) return bin_tooltip(s, *row, s.bin_of(token));
  return token_tooltip(*s.snapshot, *s.lane, s.step, head_index(*s.snapshot, row->layer, row->kv_head), token);
}

bool Atlas::key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) {
  if (!has_cells(frame)) return false;
  const int n_tokens = lane_of(frame)->fates->n_tokens;
  const AtlasCell at = cursor_.of(frame);
  if (zoom_.key(key, at.token, n_tokens)) return true;
  if (edit_at_cursor(frame, key, at, intents)) return true;
  // Selects here; there is no inspector in a lecture.
  if (key == "Shift+Enter" || (frame.plain && key == "Enter")) {
    Selection next = frame.selection;
    next.layer = at.layer;
    next.kv_head = at.kv_head;
    const TokenRange one{at.token, at.token};
    next.tokens = frame.plain && key == "Shift+Enter" && next.tokens ? joined(*next.tokens, one) : one;
    next.slot.reset();
    cursor_.set(at, next);
    intents.push_back(Select{next});
    return true;
  }
  if (key == "Enter" || key == "Return") {
    enter(frame, at, intents);
    return true;
  }
  // A presenter's arrows are steps: the cursor is taken up by a click, Home, End, Up or Down.
  if (frame.plain && !cursor_.taken(frame.selection) && (key.ends_with("Left") || key.ends_with("Right"))) return false;
  if (!cursor_.move(frame, key, zoom_.page())) return false;
  const AtlasCell to = cursor_.of(frame);
  zoom_.follow(to, n_tokens);
  HoverAt hover;
  hover.hover.layer = to.layer;
  hover.hover.kv_head = to.kv_head;
  hover.hover.token = to.token;
  intents.push_back(std::move(hover));
  return true;
}

/// The keys of edits by hand mean the cell that the cursor stands on, not what was selected before it went there.
bool Atlas::edit_at_cursor(const Frame& frame, std::string_view key, const AtlasCell& at, std::vector<Intent>& intents) {
  using What = EditTokens::What;
  static constexpr std::pair<std::string_view, What> kEdits[] = {
      {"P", What::pin}, {"E", What::evict}, {"M", What::merge}, {"R", What::restore}};
  const auto edit = std::ranges::find(kEdits, key, &std::pair<std::string_view, What>::first);
  if (edit == std::end(kEdits) || !cursor_.taken(frame.selection) || cursor_.ahead(frame)) return false;
  Selection next = frame.selection;
  const bool there = next.layer == at.layer && next.kv_head == at.kv_head && next.tokens && next.tokens->first <= at.token &&
                     at.token <= next.tokens->last;
  if (there) return false;
  next.layer = at.layer;
  next.kv_head = at.kv_head;
  next.select({at.token, at.token});
  next.slot = at.token;
  cursor_.set(at, next);
  intents.push_back(Select{next});
  intents.push_back(EditTokens{edit->second});
  return true;
}

void Atlas::enter(const Frame& frame, const AtlasCell& cell, std::vector<Intent>& intents) {
  AtlasCell under = cell;  // the mouse shows what is meant, else the cursor
  if (hovered_.token && hovered_.layer) under = {*hovered_.layer, hovered_.kv_head.value_or(0), *hovered_.token};
  if (zoom_.into(under, frame.snapshot->model.n_layers)) return cursor_.set(under, frame.selection);
  Selection next = frame.selection;
  next.layer = cell.layer;
  next.kv_head = cell.kv_head;
  next.select({cell.token, cell.token});
  next.slot = cell.token;
  intents.push_back(Select{next});
  intents.push_back(OpenInspector{});
}

}  // namespace kvscope::viz
