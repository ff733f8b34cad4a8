// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/inspector_zoom.h"

#include <algorithm>
#include <cmath>

namespace kvscope::viz {
namespace {

constexpr float kLabels = 132;  // label column of the strip
constexpr float kColumn = 14;   // width of a token's column while all fit
constexpr float kWidest = 40;   // zoomed in
constexpr double kFewest = 20;  // tokens

}  // namespace

TokenAxis StripZoom::axis(const Painter& p, int n_tokens) const {
  TokenAxis axis;
  axis.x0 = std::round(p.px(kLabels));
  axis.x1 = std::max(axis.x0 + 16, p.canvas().x1 - p.px(20));
  axis.n_tokens = n_tokens;
  axis.px = column_width(p, axis);
  const double last = std::max(0.0, n_tokens - (axis.x1 - axis.x0) / static_cast<double>(axis.px));
  axis.first = window_.count > 0 ? std::clamp(window_.first, 0.0, last) : 0;
  return axis;
}

float StripZoom::column_width(const Painter& p, const TokenAxis& axis) const {
  const double exact = static_cast<double>(axis.x1 - axis.x0) / (window_.count > 0 ? window_.count : std::max(1, axis.n_tokens));
  const double most = p.px(window_.count > 0 ? kWidest : kColumn);
  return static_cast<float>(std::min(exact >= 3 ? std::floor(exact) : exact, most));
}

void StripZoom::count(int n_tokens, float notches) {
  const double all = n_tokens, now = window_.count > 0 ? window_.count : all;
  const double next = std::clamp(now * std::pow(0.8, notches), std::min(kFewest, all), all);
  window_.count = next >= all ? 0 : next;
}

void StripZoom::keep_in_view(int token) {
  if (window_.count > 0)
    window_.first = std::clamp(window_.first, std::max(0.0, token - window_.count + 1), std::max(0.0, static_cast<double>(token)));
}

void StripZoom::around(int token, int n_tokens, float notches) {
  count(n_tokens, notches);
  window_.first = std::max(0.0, token - window_.count / 2);
}

void StripZoom::at(const Painter& p, const TokenAxis& axis, float x) {
  const double token = axis.token_at(x);
  count(axis.n_tokens, p.pointer().wheel);
  const double px = column_width(p, axis);
  window_.first = std::clamp(token - (x - axis.x0) / px, 0.0, std::max(0.0, axis.n_tokens - (axis.x1 - axis.x0) / px));
}

void StripZoom::pan(const TokenAxis& axis, float moved) {
  if (window_.count <= 0) return;
  window_.first = std::clamp(window_.first - static_cast<double>(moved) / axis.px, 0.0, std::max(0.0, axis.n_tokens - window_.count));
}

}  // namespace kvscope::viz
