// SPDX-License-Identifier: Apache-2.0
// Colours that follow from the theme's, scales of ramps and the names of categories: what needs no canvas.
#include <algorithm>
#include <array>
#include <cmath>

#include "viz/draw/draw.h"

namespace kvscope::viz {
namespace {

constexpr double kBesideEmphasis = 0.3;  // of the colour that stays to categories which are not meant
constexpr double kBesideEvicted = 0.75;  // the same beside what is gone: what is there stays brighter than that

// Relative luminance of WCAG 2.
double luminance(Rgb c) {
  const auto linear = [](int v) {
    const double u = v / 255.0;
    return u <= 0.04045 ? u / 12.92 : std::pow((u + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.r()) + 0.7152 * linear(c.g()) + 0.0722 * linear(c.b());
}

double contrast(Rgb a, Rgb b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace

Rgb mix(Rgb a, Rgb b, double t) {
  const std::array<Rgb, 2> ends = {a, b};
  return ramp(ends, t);
}

Rgb ink_on(Rgb fill, const Theme& theme) {
  const Rgb dark = theme.dark ? theme.window : theme.text;
  const Rgb light = theme.dark ? theme.text : theme.window;
  return contrast(fill, dark) >= contrast(fill, light) ? dark : light;
}

Rgb cell_fill(const Theme& theme, Category c) {
  const Rgb full = theme.category[static_cast<std::size_t>(c)];
  return c == Category::evicted ? mix(theme.panel, full, theme.dark ? 0.54 : 0.80) : full;
}

Rgb cell_fill(const Theme& theme, Category c, const std::optional<Category>& emphasis) {
  if (!emphasis) return cell_fill(theme, c);
  if (c == *emphasis) return theme.category[static_cast<std::size_t>(c)];
  if (c == Category::evicted) return mix(theme.panel, cell_fill(theme, c), 0.5);
  return mix(theme.panel, cell_fill(theme, c), *emphasis == Category::evicted ? kBesideEvicted : kBesideEmphasis);
}

const char* category_name(Category c) {
  switch (c) {
    case Category::unseen:
      return "not yet";
    case Category::fresh:
      return "new";
    case Category::sink:
      return "sink";
    case Category::recent:
      return "recent";
    case Category::merged:
      return "merged";
    case Category::kept:
      return "heavy";
    case Category::evicted:
      return "evicted";
    case Category::unread:
      return "not read";
  }
  return "";
}

bool spans_two_decades(double lowest_positive, double highest) { return lowest_positive > 0 && highest / lowest_positive > 100; }

}  // namespace kvscope::viz
