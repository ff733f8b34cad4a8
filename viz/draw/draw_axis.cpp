// SPDX-License-Identifier: Apache-2.0
// Axes and legends, the same on every canvas.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "viz/draw/draw.h"
#include "viz/draw/format.h"

namespace kvscope::viz {
namespace {

constexpr float kSwatch = 10;

}  // namespace

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

std::vector<double> sqrt_ticks(double hi) {
  std::vector<double> ticks = {0};
  if (!(hi > 0) || !std::isfinite(hi)) return ticks;
  const double power = std::pow(10, std::floor(std::log10(hi)));
  std::vector<double> down;
  for (double v : {5 * power, power, 0.5 * power, 0.1 * power}) {
    if (v > hi * (1 + 1e-9)) continue;
    // A tick is worth a label if it stands at least 15 % of the height from its neighbours.
    const double height = std::sqrt(v / hi);
    if (height < 0.15 || (!down.empty() && std::sqrt(down.back() / hi) - height < 0.15)) continue;
    down.push_back(v);
  }
  ticks.insert(ticks.end(), down.rbegin(), down.rend());
  return ticks;
}

bool spans_two_decades(double lowest_positive, double highest) { return lowest_positive > 0 && highest / lowest_positive > 100; }

float Painter::category_legend(float x, float y, std::span<const LegendItem> items) {
  for (const LegendItem& item : items) {
    const float s = std::round(px(kSwatch));
    const Rect swatch{x, std::round(y - s / 2), x + s, std::round(y - s / 2) + s};
    category(swatch, item.category);
    const std::string_view label = item.label.empty() ? category_name(item.category) : item.label;
    const float end = x + s + px(6) + text({x + s + px(6), y}, label, Face::caption, theme().secondary);
    mark("legend", std::string(label), {x, swatch.y0, end, swatch.y1});
    x = std::round(end + px(14));
  }
  return x;
}

float Painter::prompt_end_legend(float x, float y, std::string_view label) {
  dashed({std::round(x), y - px(6)}, {std::round(x), y + px(6)}, theme().text, kDashPromptEnd, 1, 0.7);
  const float end = x + px(7) + text({x + px(7), y}, label, Face::caption, theme().secondary);
  mark("legend", std::string(label), {x, y - px(6), end, y + px(6)});
  return std::round(end + px(14));
}

float Painter::ramp_legend_width(const RampLegend& l) const {
  float w = px(l.width) + 2 * px(6) + width_of(Face::caption, l.low) + width_of(Face::caption, l.high);
  if (!l.name.empty()) w += width_of(Face::caption, l.name) + px(10);
  if (!l.note.empty()) w += width_of(Face::caption, l.note) + px(10);
  if (l.clipped_low) w += px(8);
  if (l.clipped_high) w += px(8);
  return std::ceil(w);
}

float Painter::ramp_legend(float x, float y, const RampLegend& l) {
  const Theme& t = theme();
  const float begin = x;
  if (!l.name.empty()) x += text({x, y}, l.name, Face::caption, t.secondary) + px(10);
  x += text({x, y}, l.low, Face::caption, t.secondary) + px(6);
  const float h = px(10) / 2;
  if (l.clipped_low) {
    triangle({x, y}, {x + px(5), y - h}, {x + px(5), y + h}, l.colours.empty() ? t.line : l.colours.front());
    x += px(8);
  }
  x = std::round(x);
  const Rect bar{x, std::round(y - h), std::round(x + px(l.width)), std::round(y + h)};
  for (std::size_t i = 0; i + 1 < l.colours.size(); ++i) {
    const float n = static_cast<float>(l.colours.size() - 1);
    const float a = bar.x0 + bar.width() * static_cast<float>(i) / n, b = bar.x0 + bar.width() * static_cast<float>(i + 1) / n;
    const ImU32 ca = colour(l.colours[i]), cb = colour(l.colours[i + 1]);
    ++n_primitives_;
    if (recording()) {
      record(
          {.kind = SceneCommand::Kind::gradient, .points = {{a, bar.y0}, {b, bar.y1}}, .colour = l.colours[i], .second = l.colours[i + 1]});
    }
    list_->AddRectFilledMultiColor(at_origin({a, bar.y0}), at_origin({b, bar.y1}), ca, cb, cb, ca);
  }
  x = bar.x1;
  if (l.clipped_high) {
    triangle({x + px(8), y}, {x + px(3), y + h}, {x + px(3), y - h}, l.colours.empty() ? t.line : l.colours.back());
    x += px(8);
  }
  x += px(6);
  x += text({x, y}, l.high, Face::caption, t.secondary);
  if (!l.note.empty()) x += px(10) + text({x + px(10), y}, l.note, Face::caption, t.disabled);
  mark("legend", l.name, {begin, y - h, x, y + h}, l.low + " to " + l.high + (l.note.empty() ? "" : ", " + l.note));
  return std::round(x + px(14));
}

}  // namespace kvscope::viz
