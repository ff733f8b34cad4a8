// SPDX-License-Identifier: Apache-2.0
// Axes, the same on every canvas.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "viz/draw/draw.h"
#include "viz/draw/format.h"

namespace kvscope::viz {

int TokenAxis::index_at(float x) const {
  if (x < x0 || x >= x1) return -1;
  const double t = std::floor(token_at(x));
  return t >= 0 && t < n_tokens ? static_cast<int>(t) : -1;
}

int TokenAxis::first_visible() const { return std::max(0, static_cast<int>(std::floor(first))); }

int TokenAxis::last_visible() const {
  return std::min(n_tokens - 1, static_cast<int>(std::ceil(first + static_cast<double>(x1 - x0) / px)) - 1);
}

float TokenAxis::x_end() const { return std::min(x1, x_of(n_tokens)); }

int tokens_per_bin(float px) {
  if (px >= 3) return 1;
  int bin = 2;
  while (static_cast<float>(bin) * px < 2 && bin < (1 << 30)) bin *= 2;
  return bin;
}

TokenAxis make_token_axis(const Painter& painter, const TokenWindow& window, int n_tokens, int max_px) {
  TokenAxis axis;
  const bool plain = painter.frame().plain;
  if (plain) max_px = kPlainMaxPx;
  axis.x0 = std::floor(painter.px(plain ? kPlainLabelColumn : kLabelColumn));
  axis.x1 = std::max(axis.x0 + 16, std::floor(painter.canvas().x1 - 12));
  axis.n_tokens = n_tokens;
  const double shown = window.count > 0 ? window.count : std::max(1, n_tokens);
  const double exact = static_cast<double>(axis.x1 - axis.x0) / shown;
  const double most = window.count > 0 ? 64.0 : static_cast<double>(painter.px(static_cast<float>(max_px)));
  // Whole pixels keep cells crisp. Below 3 px a texel is a bin anyway and the exact width is used.
  axis.px = static_cast<float>(std::min(exact >= 3 ? std::floor(exact) : exact, most));
  axis.first = window.count > 0 ? window.first : 0;
  return axis;
}

std::vector<int> token_ticks(const TokenAxis& axis, float min_gap) {
  std::vector<int> ticks;
  if (axis.n_tokens <= 0 || !(axis.px > 0)) return ticks;
  static constexpr std::array<int, 18> kSteps = {1,    5,    10,    25,    50,    100,    250,    500,    1000,
                                                 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000};
  const auto wide_enough = [&](int s) { return static_cast<float>(s) * axis.px >= min_gap; };
  const auto* const found = std::find_if(kSteps.begin(), kSteps.end(), wide_enough);
  const int step = found == kSteps.end() ? std::numeric_limits<int>::max() : *found;
  const int last = static_cast<int>(std::floor(axis.first + static_cast<double>(axis.x1 - axis.x0) / axis.px));
  for (std::int64_t t = (static_cast<std::int64_t>(std::ceil(axis.first)) + step - 1) / step * step; t <= std::min(last, axis.n_tokens);
       t += step) {
    if (t >= 0) ticks.push_back(static_cast<int>(t));
  }
  return ticks;
}

void draw_token_axis(Painter& p, const Rect& strip, const TokenAxis& axis, std::string_view title,
                     const std::optional<TokenRange>& selected) {
  const Theme& t = p.theme();
  const float y_label = strip.y0 + p.px(10);
  if (!p.frame().plain) p.text({12, y_label}, title, Face::caption, t.disabled);
  // The tag covers labels below it, so those are left out.
  Rect tag{};
  if (selected && !p.frame().plain && selected->last >= axis.first_visible() && selected->first <= axis.last_visible()) {
    const std::string label = selected->first == selected->last ? format_count(selected->first)
                                                                : format_count(selected->first) + "–" + format_count(selected->last);
    const float a = std::clamp(axis.x_of(selected->first), axis.x0, axis.x1),
                b = std::clamp(axis.x_of(selected->last + 1), axis.x0, axis.x1);
    tag = p.tag((a + b) / 2, y_label, label, {axis.x0 - p.px(20), strip.y0, axis.x1 + 10, strip.y1});
    if (b - a >= 3) {  // bracket from the tag down to the range
      const float y = std::round(strip.y1 - p.px(8));
      p.hline(a - 1, b + 1, y, t.accent, 0.8);
      p.hline(a - 1, b + 1, y + 1, t.accent, 0.8);
      p.vline(a - 1, y, strip.y1, t.accent);
      p.vline(b, y, strip.y1, t.accent);
    }
  }
  for (int tick : token_ticks(axis, p.px(70))) {
    const float x = axis.x_of(tick);
    p.vline(x, strip.y1 - p.px(12), strip.y1 - p.px(8), t.disabled);
    const std::string label = format_count(tick);
    const float half = p.width_of(Face::caption, label) / 2;
    const float centre = std::min(x + 1, p.canvas().x1 - 4 - half);
    if (tag.x1 > tag.x0 && centre + half + 4 > tag.x0 && centre - half - 4 < tag.x1) continue;
    p.text({centre, y_label}, label, Face::caption, t.secondary, Align::centre);
    p.mark("tick", "token " + std::to_string(tick), {x, strip.y0, x + 1, strip.y1}, label);
  }
}

std::vector<double> nice_ticks(double lo, double hi, int max_count) {
  std::vector<double> ticks;
  if (!(hi > lo) || !std::isfinite(lo) || !std::isfinite(hi) || max_count < 2) return ticks;
  const double raw = (hi - lo) / (max_count - 1);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double m : {1.0, 2.0, 5.0}) {
    if (m * power >= raw * (1 - 1e-9)) {
      step = m * power;
      break;
    }
  }
  for (double i = std::ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9 && ticks.size() < 1000; ++i)
    ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

}  // namespace kvscope::viz
