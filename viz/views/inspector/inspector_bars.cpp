// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/inspector_bars.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

namespace {

constexpr float kHatchFrom = 5, kHatchNarrowFrom = 12;  // heights from which hatching is legible; below, the outline stands alone

constexpr float kTicksFrom = 18;         // heights from which a row has numbers on its axis
constexpr float kPercentTicksFrom = 30;  // "100" is as wide as the name of the row leaves room for

std::string tick_text(double v) {
  const double size = std::abs(v);
  if (v == 0) return "0";
  if (size >= 1e-4 && size < 1e4) {
    std::string text = fmt::format("{:.3g}", size);
    return v < 0 ? std::string(kMinus) + text : text;
  }
  return format_number(v, 1);
}

constexpr int kMostWeight = 3;
/// How much a category counts where several share a pixel.
int weight(Category c) {
  switch (c) {
    case Category::unseen:
      return 0;
    case Category::evicted:
      return 1;
    case Category::merged:
      return 2;
    default:
      return kMostWeight;
  }
}

}  // namespace

float TokenRows::bar_width() const {
  if (axis.px >= 6) return std::floor(axis.px * 0.68f);
  return axis.px >= 3 ? axis.px - 1 : std::max(1.0f, axis.px);
}

Rect TokenRows::column(int token, const Rect& row) const {
  const float x = axis.x_of(token);
  return {x, row.y0, x + std::max(1.0f, axis.px), row.y1};
}

float TokenRows::value_axis(const Rect& row, const ValueScale& scale, float min_label_gap, bool brief) const {
  const Theme& t = p.theme();
  float below = row.y1, widest = 0, middle = row.middle_y();
  for (const double tick : ticks_of(scale, min_label_gap / std::max(1.0f, row.height()))) {
    const float y = std::round(row.y1 - static_cast<float>(scale.unit(tick)) * row.height());
    p.hline(axis.x0, axis.x_end(), y, t.line, tick == 0 ? 1 : 0.55);
    std::string label = tick_text(scale.percent ? 100 * tick : tick);
    if (brief && label.starts_with("0.")) label.erase(0, 1);
    // In a low row the name of the row needs the room.
    // The zero of a brief axis stands on its line: right below it is the name of the next row.
    const float above = brief && tick == 0 ? p.px(5) : 0;
    if (tick == 0 || row.height() >= p.px(scale.percent ? kPercentTicksFrom : kTicksFrom))
      p.text({axis.x0 - p.px(8), y - above}, label, Face::caption, t.disabled, Align::right);
    if (below - y > widest + 1) {
      widest = below - y;
      middle = (below + y) / 2;
    }
    below = y;
  }
  return middle;
}

void TokenRows::row_label(float y, std::string_view name, std::string_view unit, float right, float room) const {
  const Theme& t = p.theme();
  const Align align = right >= 0 ? Align::right : Align::left;
  const float x = right >= 0 ? right : p.px(12), width = axis.x0 - p.px(8 + 26 + 12);
  std::vector<std::pair<std::string, Rgb>> lines;
  std::size_t gap = name.size();
  if (p.width_of(Face::caption, name) > width) {  // the last gap whose left side fits
    for (std::size_t at = name.rfind(' '); at != std::string_view::npos && at > 0; at = name.rfind(' ', at - 1)) {
      gap = at;
      if (p.width_of(Face::caption, name.substr(0, at)) <= width) break;
    }
  }
  lines.emplace_back(name.substr(0, gap), t.secondary);
  if (gap < name.size()) lines.emplace_back(p.elide(name.substr(gap + 1), Face::caption, width), t.secondary);
  if (!unit.empty() && p.px(13.5f) * static_cast<float>(lines.size() + 1) <= room) lines.emplace_back(unit, t.disabled);
  const float step = p.px(lines.size() > 2 ? 13.5f : 15);
  float line_y = y - step * static_cast<float>(lines.size() - 1) / 2;
  for (const auto& [text, colour] : lines) {  // a long one takes of the gap before the axis, not of the edge
    p.text({align == Align::right ? std::max(x, p.width_of(Face::caption, text)) : x, line_y}, text, Face::caption, colour, align);
    line_y += step;
  }
}

int TokenRows::pixel_end(int token, int last) const {
  if (axis.px >= 1) return token;
  const float pixel = std::floor(axis.x_of(token));
  const auto guess = static_cast<int>(std::ceil(axis.first + static_cast<double>(pixel + 1 - axis.x0) / axis.px));
  int end = std::clamp(guess, token, last);  // rounding: one off at most
  while (end > token && std::floor(axis.x_of(end)) > pixel) --end;
  while (end < last && std::floor(axis.x_of(end + 1)) == pixel) ++end;
  return end;
}

void TokenRows::bars(const Rect& row, const ValueScale& scale, const TokenBars& list, std::string_view kind) const {
  const Theme& t = p.theme();
  const float width = bar_width(), left = std::floor((axis.px - width) / 2);
  const int last = std::min(axis.last_visible(), static_cast<int>(list.values.size()) - 1);
  const auto y_of = [&](double v) { return row.y1 - std::clamp(static_cast<float>(scale.unit(v)), 0.0f, 1.0f) * row.height(); };
  p.clip({axis.x0, row.y0 - 1, axis.x1, row.y1 + 1});
  for (int token = axis.first_visible(); token <= last; ++token) {
    int shown = token;
    if (axis.px < 1) {  // the highest bar of this pixel stands for all of them
      const int end = pixel_end(token, last);
      double best = list.values[static_cast<std::size_t>(token)];
      for (int i = token + 1; i <= end; ++i) {
        const double v = list.values[static_cast<std::size_t>(i)];
        if (!std::isfinite(v) || (std::isfinite(best) && v <= best)) continue;
        best = v;
        shown = i;
      }
      token = end;
    }
    const TokenBar bar = list.look(shown);
    if (bar.style == TokenBar::Style::none) continue;
    const float x = axis.px < 1 ? std::floor(axis.x_of(shown)) : axis.x_of(shown) + left;
    Rect r{x, row.y1, x + width, row.y1};
    if (bar.style == TokenBar::Style::dash) {
      const Rect dash{x + 1, row.y1 - p.px(6), x + width - 1, row.y1 - p.px(5)};
      p.fill(dash, t.disabled);
      if (fine_marks()) p.mark(kind, fmt::format("{} t{}", place, shown), dash, std::string("–"));
      continue;
    }
    if (!std::isfinite(bar.value)) continue;
    r.y0 = std::round(y_of(bar.value));
    if (bar.value != 0 && r.height() < 1) r.y0 = row.y1 - 1;  // more than nothing is seen as such
    std::string_view suffix;
    if (bar.style == TokenBar::Style::filled) {
      p.fill(r, bar.fill);
      if (bar.bordered && !t.dark && r.height() >= 3) p.frame_rect(r, mix(bar.fill, {0x000000}, 0.28));
    } else if (bar.style == TokenBar::Style::outline) {
      suffix = ".gone";
      if (axis.px >= 6) {
        p.frame_rect(r, bar.fill);
      } else {
        p.fill(r, bar.fill, 0.55);
      }
    } else {
      suffix = ".reference";
      if (axis.px < 3) {
        p.fill(r, t.secondary, 0.7);
      } else if (r.height() >= (axis.px >= 6 ? kHatchFrom : kHatchNarrowFrom)) {
        p.hatch(r, t.secondary, 4, 0.9);
        p.frame_rect(r, t.secondary);
      } else {
        p.frame_rect(r, t.disabled);
      }
    }
    if (fine_marks())
      p.mark(fmt::format("{}{}", kind, suffix), fmt::format("{} t{}", place, shown), r,
             scale.percent ? format_attention(bar.value) : format_number(bar.value));
  }
  p.unclip();
}

void TokenRows::state(const Rect& row, const ValueScale& scale, const HeadRecord& head) const {
  if (head.pooled_tokens == 0 || !std::isfinite(head.pooled_share)) return;
  const Theme& t = p.theme();
  const float width = p.px(12), label = p.width_of(Face::caption, "state") + p.px(6);
  const float x = std::round(std::min(axis.x_end() + p.px(8), axis.x1 - width - label));
  const float height = std::max(1.0f, std::clamp(static_cast<float>(scale.unit(head.pooled_share)), 0.0f, 1.0f) * row.height());
  const Rect bar{x, std::round(row.y1 - height), x + width, row.y1};
  if (axis.x_end() > x) p.fill({x - p.px(4), row.y0, x + width + label, row.y1}, t.panel, 0.9);  // tokens go on behind it
  p.fill(bar, t.category[static_cast<std::size_t>(Category::merged)]);
  p.hatch(bar, t.panel, 4, 0.6);
  p.frame_rect(bar, t.text);
  p.text({bar.x1 + p.px(4), row.y1 - p.px(7)}, "state", Face::caption, t.secondary);
  p.mark("state", place, bar, fmt::format("{} of {} evicted", format_percent(head.pooled_share), format_count(head.pooled_tokens)));
}

void TokenRows::fates(const Rect& row, std::span<const Category> categories) const {
  const Theme& t = p.theme();
  const int last = std::min(axis.last_visible(), static_cast<int>(categories.size()) - 1);
  const auto of = [&](int token) { return categories[static_cast<std::size_t>(token)]; };
  const bool fine = fine_marks();
  Rect run;  // of one colour, not drawn yet: neighbours become one shape
  Category of_run = Category::unseen;
  const auto draw_run = [&] {
    if (of_run != Category::unseen) p.fill(run, cell_fill(t, of_run));
    of_run = Category::unseen;
  };
  p.clip({axis.x0, row.y0, axis.x1, row.y1});
  for (int token = axis.first_visible(), end = token; token <= last; token = end + 1) {
    Category c = of(token);
    end = token;
    const float x = axis.x_of(token);
    Rect r{x, row.y0, x + axis.px - 1, row.y1};
    if (axis.px >= 8) {  // one cell per token, with its glyph
      if (c == Category::unseen) continue;
      p.category(r, c);
      if (fine) p.mark("fate", fmt::format("{} t{}", place, token), r, category_name(c));
      continue;
    }
    if (axis.px < 1) {
      end = pixel_end(token, last);
      for (int i = token + 1; i <= end && weight(c) < kMostWeight; ++i)
        if (weight(of(i)) > weight(c)) c = of(i);
      r = {std::floor(x), row.y0, std::floor(x) + 1, row.y1};
    } else {
      while (end < last && of(end + 1) == c) ++end;
      r.x1 = axis.x_of(end + 1);
    }
    if (c != of_run || r.x0 != run.x1) draw_run();
    if (c == Category::unseen) continue;
    run = of_run == c ? Rect{run.x0, r.y0, r.x1, r.y1} : r;
    of_run = c;
    if (fine) p.mark("fate", fmt::format("{} t{}-{}", place, token, end), r, category_name(c));
  }
  draw_run();
  p.unclip();
}

/// Where a number of votes has its middle: beside dots of a neighbour that reach as far down, not on them. NaN: there is no room.
float TokenRows::votes_number_at(std::span<const int> list, int token, float x, float half) const {
  const auto dots = [&](float from, float to) {
    const int first = std::max(0, static_cast<int>(axis.token_at(from))),
              end = std::min(static_cast<int>(axis.token_at(to)) + 1, static_cast<int>(list.size()));
    for (int t = first; t < end; ++t)
      if (const int n = list[static_cast<std::size_t>(t)]; t != token && n >= 3 && n <= 5) return true;
    return false;
  };
  if (axis.px < 1) return x;  // columns stand for dots
  const float side = half - 2;
  if (!dots(x - half - 2, x + half + 2)) return x;
  if (!dots(x - half - side - 2, x + half - side + 2)) return x - side;
  return dots(x - half + side - 2, x + half + side + 2) ? std::numeric_limits<float>::quiet_NaN() : x + side;
}

void TokenRows::votes(const Rect& row, std::span<const int> list, bool single) const {
  const Theme& t = p.theme();
  const int last = std::min(axis.last_visible(), static_cast<int>(list.size()) - 1);
  const float r = std::min(p.px(1.8f), axis.px >= 3 ? 2.0f : 1.2f), step = 2 * r + 1.4f;
  float number_end = -1;
  float dots_end = -1;
  for (int token = axis.first_visible(); token <= last; ++token) {
    int shown = token;
    if (axis.px < 1) {  // the most votes of this pixel stand for all of them
      const int end = pixel_end(token, last);
      const auto first = list.begin() + token;
      shown = static_cast<int>(std::max_element(first, first + (end - token + 1)) - list.begin());
      token = end;
    }
    const int n = list[static_cast<std::size_t>(shown)];
    if (n <= (single ? 0 : 1)) continue;
    const float x = axis.x_of(shown) + axis.px / 2 - (axis.px >= 6 ? 0.5f : 0.0f);
    if (x < axis.x0 || x > axis.x1) continue;
    if (n == 1) {
      if (axis.px < 5) continue;  // a row of touching dots says nothing
      p.disc({x, row.y0 + r + 1}, r, t.disabled);
    } else if (n <= 5) {
      if (axis.px < 1) {  // dots would touch: a column as high as they would be
        p.fill({std::floor(x), row.y0, std::floor(x) + 1, row.y0 + step * static_cast<float>(n)}, t.text);
      } else {
        if (x - dots_end < 1) continue;
        for (int i = 0; i < n; ++i) p.disc({x, row.y0 + r + 1 + step * static_cast<float>(i)}, r, t.text);
        dots_end = x;
      }
    } else {
      const float w = std::clamp(std::floor(axis.px / 3), 2.0f, 5.0f), h = p.px(12);
      p.fill({std::round(x - w / 2), row.y0, std::round(x - w / 2) + w, row.y0 + h}, t.text);
      const std::string number = format_count(n);
      const float half = p.width_of(Face::caption, number) / 2;
      const float at = votes_number_at(list, shown, x, half);
      if (at - half > number_end + 3 && row.height() >= h + p.px(9.5f)) {
        p.text({at, row.y0 + h + p.px(7)}, number, Face::strong, t.text, Align::centre);
        number_end = at + half;
      }
    }
    if (fine_marks() && (n > 1 || axis.px >= 5))
      p.mark("votes", fmt::format("{} t{}", place, shown), {x - 3, row.y0, x + 3, row.y1}, format_count(n));
  }
}

void TokenRows::range(float y0, float y1, const TokenRange& tokens) const {
  const Rgb c = p.theme().accent;
  const float a = std::floor(axis.x_of(tokens.first)) - 1, b = std::floor(axis.x_of(tokens.last + 1));
  if (a >= axis.x0 - 2 && a < axis.x1) p.vline(a, y0, y1, c);
  if (b >= axis.x0 && b <= axis.x1) p.vline(b, y0, y1, c);
}

void TokenRows::found(float y, std::span<const TokenRange> places) const {
  for (const TokenRange& r : places) {
    const float a = std::max(axis.x0, std::floor(axis.x_of(r.first))),
                b = std::min(axis.x1, std::max(std::floor(axis.x_of(r.last + 1)) - 1, a + 3));
    if (b > a && a < axis.x1) p.fill({a, y, b, y + p.px(3)}, p.theme().accent);
    p.mark("found", fmt::format("tokens {} to {}", r.first, r.last), {a, y, b, y + p.px(3)});
  }
}

ValueScale attention_scale(double highest, const HeadRecord& head) {
  const double high = std::fmax(highest, head.pooled_share);
  return {0, high > 0.3 ? 1.0 : std::max(high, 1e-9), true, true};
}

TokenBars attention_bars(const Theme& theme, const HeadColumns& columns) {
  TokenBars out{columns.lost, {}};
  for (std::size_t t = 0; t < out.values.size(); ++t)
    if (std::isfinite(columns.attention[t])) out.values[t] = columns.attention[t];
  out.look = [&theme, &columns](int token) -> TokenBar {
    const auto t = static_cast<std::size_t>(token);
    const Category c = columns.category[t];
    if (std::isfinite(columns.attention[t])) {
      return {TokenBar::Style::filled, columns.attention[t], theme.category[static_cast<std::size_t>(c)],
              c == Category::merged || c == Category::recent};
    }
    if (std::isfinite(columns.lost[t])) return {TokenBar::Style::hatched, columns.lost[t], theme.secondary, false};
    return {};
  };
  return out;
}

TokenBars probed_bars(const Theme& theme, const HeadColumns& columns) {
  return {columns.probed, [&theme, &columns](int token) -> TokenBar {
            const auto t = static_cast<std::size_t>(token);
            if (!std::isfinite(columns.probed[t])) return {};
            const Category c = columns.category[t];
            if (columns.votes[t] == 0) return {TokenBar::Style::hatched, columns.probed[t], theme.secondary, false};
            return {TokenBar::Style::filled, columns.probed[t], theme.category[static_cast<std::size_t>(c)],
                    c == Category::merged || c == Category::recent};
          }};
}

TokenBars agreement_bars(const Theme& theme, const HeadColumns& columns) {
  return {
      columns.agreement, [&theme, &columns](int token) -> TokenBar {
        const auto t = static_cast<std::size_t>(token);
        if (columns.agreement[t] <= 0) return {};
        return {columns.votes[t] > 0 ? TokenBar::Style::filled : TokenBar::Style::hatched, columns.agreement[t], theme.secondary, false};
      }};
}

TokenBars score_bars(const Theme& theme, const HeadColumns& columns) {
  return {columns.score, [&theme, &columns](int token) -> TokenBar {
            const auto t = static_cast<std::size_t>(token);
            const Category c = columns.category[t];
            if (!std::isfinite(columns.score[t])) return {columns.votes[t] > 0 ? TokenBar::Style::dash : TokenBar::Style::none};
            const bool gone = columns.score_gone[t] != 0;
            return {gone ? TokenBar::Style::outline : TokenBar::Style::filled, columns.score[t],
                    gone && c == Category::evicted ? theme.evicted_outline : theme.category[static_cast<std::size_t>(c)],
                    c == Category::merged || c == Category::recent};
          }};
}

TokenBars statistic_bars(const Theme& theme, const HeadColumns& columns) {
  return {columns.statistic, [&theme, &columns](int token) -> TokenBar {
            const auto t = static_cast<std::size_t>(token);
            const Category c = columns.category[t];
            if (!std::isfinite(columns.statistic[t])) return {};
            return {TokenBar::Style::filled, columns.statistic[t], theme.category[static_cast<std::size_t>(c)],
                    c == Category::merged || c == Category::recent};
          }};
}

void HoverPublisher::at(Hover hover, std::vector<std::string> tooltip, std::vector<Intent>& intents) {
  active_ = true;
  intents.push_back(HoverAt{hover, std::move(tooltip)});
}

void HoverPublisher::none(std::vector<Intent>& intents) {
  if (!active_) return;
  active_ = false;
  intents.push_back(HoverAt{});
}

}  // namespace kvscope::viz
