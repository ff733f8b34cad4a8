// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_zoom.h"

#include <algorithm>
#include <cmath>

namespace kvscope::viz {
namespace {

constexpr double kZoomPerNotch = 1.25;
constexpr double kMostRowZoom = 64;
constexpr float kFateLeastPx = 1;   // every token has a column of pixels: its fate shows, and nothing is averaged
constexpr float kScoreLeastPx = 3;  // narrower shades are told apart in bins only

}  // namespace

void AtlasZoom::place(const Painter& p, AtlasScene& s) {
  const Frame& frame = p.frame();
  if (window_->count >= s.n_tokens) *window_ = {};
  s.axis = make_token_axis(p, *window_, s.n_tokens);
  s.area.x0 = s.axis.x0;
  window_->first = std::clamp(window_->first, 0.0, std::max(0.0, s.n_tokens - s.shown()));
  if (s.axis.px >= 1) window_->first = std::round(window_->first * s.axis.px) / s.axis.px;  // whole pixels: every column has the same width
  s.axis.first = window_->first;
  s.overview = make_token_axis(p, {}, s.n_tokens);
  s.area.x1 = s.axis.x1;
  s.rows = layout_rows(s.snapshot->model.n_layers, s.snapshot->model.n_kv_heads, rows_, s.area, frame.scale);
  rows_.scroll = std::clamp(rows_.scroll, 0.0f, std::max(0.0f, s.rows.content - s.area.height()));
  const float least = s.by_score() ? kScoreLeastPx : kFateLeastPx;
  s.binned = s.axis.px < least || s.rows.by_layer;
  s.bin = s.axis.px >= least ? 1 : tokens_per_bin(s.axis.px);
  s.lines = s.rows.by_layer && !s.by_score() ? 2 : 1;
  s.version = version_of(frame, s);
  px_ = s.axis.px;
  bin_ = s.bin;
  by_layer_ = s.rows.by_layer;
  page_ = static_cast<float>(s.shown());
}

void AtlasZoom::zoom_tokens(const AtlasScene& s, const Painter& p, float x, double factor) {
  const double at = s.axis.token_at(std::clamp(x, s.axis.x0, s.axis.x1));
  const double shown = s.shown(), all = s.n_tokens;
  // Whole pixels per token: a small step must still change something.
  double count = std::clamp(std::min(shown, all) / factor, std::min(kFewestTokens, all), all);
  if (factor > 1 && s.axis.px >= 3) count = std::min(count, static_cast<double>(s.axis.x1 - s.axis.x0) / (s.axis.px + 1));
  if (count >= all || (factor < 1 && shown / factor >= all)) {
    *window_ = {};
    return;
  }
  window_->count = count;
  const TokenAxis axis = make_token_axis(p, *window_, s.n_tokens);
  window_->first = at - static_cast<double>(x - axis.x0) / axis.px;
}

bool AtlasZoom::react(const Painter& p, const AtlasScene& s) {
  const Pointer& m = p.pointer();
  bool changed = m.wheel != 0;
  if (m.wheel != 0 && m.shift) {
    const double before = rows_.zoom;
    rows_.zoom = std::clamp(before * std::pow(kZoomPerNotch, m.wheel), 1.0, kMostRowZoom);
    const float at = m.at.y - s.area.y0 + rows_.scroll;
    rows_.scroll = std::max(0.0f, at * static_cast<float>(rows_.zoom / before) - (m.at.y - s.area.y0));
  } else if (m.wheel != 0) {
    zoom_tokens(s, p, m.at.x, std::pow(kZoomPerNotch, m.wheel));
  }
  if (m.pressed) panning_ = !m.ctrl && s.map().contains(m.at);
  if (panning_ && m.dragging && (m.moved.x != 0 || m.moved.y != 0)) {
    if (window_->count > 0) window_->first -= static_cast<double>(m.moved.x) / s.axis.px;
    rows_.scroll = std::max(0.0f, rows_.scroll - m.moved.y);
    changed = true;
  }
  if (!m.down) panning_ = false;
  return changed;
}

bool AtlasZoom::key(std::string_view key, int token, int n_tokens) {
  if (key == "0") {
    *window_ = {};
    rows_ = {};
    return true;
  }
  if (key != "+" && key != "-" && key != "=") return false;
  const double all = n_tokens, shown = window_->count > 0 ? window_->count : all;
  const double count = key == "-" ? shown * kZoomPerNotch : std::max(std::min(kFewestTokens, all), shown / kZoomPerNotch);
  *window_ = count >= all ? TokenWindow{} : TokenWindow{token + 0.5 - count / 2, count};
  window_->first = std::max(0.0, window_->first);
  return true;
}

bool AtlasZoom::into(const AtlasCell& cell, int n_layers) {
  if (bin_ > 1) {
    const double shown = std::max<double>(bin_, 32), middle = (cell.token / bin_ + 0.5) * bin_;
    *window_ = {std::max(0.0, middle - shown / 2), shown};
    return true;
  }
  if (!by_layer_ || rows_.only_layer >= 0 || cell.layer >= n_layers) return false;
  rows_ = {cell.layer, 1, 0};
  return true;
}

void AtlasZoom::follow(const AtlasCell& cell, int n_tokens) {
  if (rows_.only_layer >= 0) rows_.only_layer = cell.layer;
  if (window_->count <= 0) return;
  const auto page = static_cast<double>(page_);
  if (cell.token < window_->first) window_->first = cell.token;
  if (cell.token + 1 > window_->first + page) window_->first = cell.token + 1 - page;
  window_->first = std::clamp(window_->first, 0.0, std::max(0.0, n_tokens - page));
}

}  // namespace kvscope::viz
