// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/theme.h"

#include <algorithm>
#include <cmath>

namespace kvscope::viz {
namespace {

// One hue, navy to a white blue, L* 15 to 94: yellow is the accent's and the merged tokens' alone. Low is next to the panel in both themes,
// so the light ramp runs the other way.
constexpr std::array<Rgb, 10> kSequentialDark = {
    {{0x122549}, {0x1B3868}, {0x264D85}, {0x34629F}, {0x4779B8}, {0x6190CB}, {0x7EA8DA}, {0x9DC0E8}, {0xC0D7F2}, {0xE3EFFD}}};
constexpr std::array<Rgb, 10> kSequentialLight = {
    {{0xE3EFFD}, {0xC0D7F2}, {0x9DC0E8}, {0x7EA8DA}, {0x6190CB}, {0x4779B8}, {0x34629F}, {0x264D85}, {0x1B3868}, {0x122549}}};

// Inferno anchors. Light: the same curve reversed, cut to L* 95..30 and sampled at equal steps of L*.
constexpr std::array<Rgb, 9> kDamageDark = {
    {{0x1B0C41}, {0x4A0C6B}, {0x781C6D}, {0xA52C60}, {0xCF4446}, {0xED6925}, {0xFB9B06}, {0xF7D13D}, {0xFCFFA4}}};
constexpr std::array<Rgb, 9> kDamageLight = {
    {{0xFBF58D}, {0xF8D84E}, {0xF9B823}, {0xF99509}, {0xF0731F}, {0xDD5636}, {0xC33D4D}, {0xA12B61}, {0x7C1D6C}}};

constexpr std::array<Rgb, 9> kDivergingDark = {
    {{0xCDB9FF}, {0xA78BE8}, {0x7A5FB8}, {0x4A3D73}, {0x262A31}, {0x6B4A1E}, {0xA87420}, {0xE0A23A}, {0xFFD58A}}};
constexpr std::array<Rgb, 11> kDivergingLight = {
    {{0x2D004B}, {0x542788}, {0x8073AC}, {0xB2ABD2}, {0xD8DAEB}, {0xF7F7F7}, {0xFEE0B6}, {0xFDB863}, {0xE08214}, {0xB35806}, {0x7F3B08}}};

Theme make_dark() {
  Theme t;
  t.dark = true;
  t.window = {0x14171C};
  t.panel = {0x1B1F26};
  t.raised = {0x232932};
  t.line = {0x323A46};
  t.text = {0xE6E9EE};
  t.secondary = {0xA7B0BC};
  t.disabled = {0x7F8896};
  t.accent = {0xFFB020};
  t.on_accent = {0x14171C};
  t.changed = {0xFF7A59};
  //             unseen      fresh       sink        recent      merged      kept        evicted     unread
  t.category = {{{0x1B1F26}, {0xFFFFFF}, {0xC54FA8}, {0x46E5F5}, {0xE7AE45}, {0x70A2F0}, {0x51565D}, {0x583800}}};
  t.evicted_outline = {0x8A929C};
  t.sequential = kSequentialDark;
  t.damage = kDamageDark;
  t.diverging = kDivergingDark;
  t.runs = {{{0x6DB3F2}, {0xF0B429}, {0x3DD6A8}, {0xF08BC4}, {0xFFFFFF}, {0x779018}}};
  t.text_tint = 0.36;
  return t;
}

Theme make_light() {
  Theme t;
  t.dark = false;
  t.window = {0xFFFFFF};
  t.panel = {0xF5F7F9};
  t.raised = {0xFFFFFF};
  t.line = {0xD5DBE2};
  t.text = {0x1B1F26};
  t.secondary = {0x4A5361};
  t.disabled = {0x6B7480};
  t.accent = {0x8A5200};
  t.on_accent = {0xFFFFFF};
  t.changed = {0xC2410C};
  t.category = {{{0xF5F7F9}, {0x14171C}, {0x956ECC}, {0x27A588}, {0xD89C40}, {0x074C94}, {0xC2CBD2}, {0x904058}}};
  t.evicted_outline = {0x8A929C};
  t.sequential = kSequentialLight;
  t.damage = kDamageLight;
  t.diverging = kDivergingLight;
  t.runs = {{{0x0072B2}, {0xB26A00}, {0x007D5B}, {0xB0487F}, {0x14171C}, {0x575422}}};
  t.text_tint = 0.30;
  return t;
}

}  // namespace

const Theme& dark_theme() {
  static const Theme theme = make_dark();
  return theme;
}

const Theme& light_theme() {
  static const Theme theme = make_light();
  return theme;
}

Rgb ramp(std::span<const Rgb> colours, double t) {
  if (colours.empty()) return {};
  if (!(t > 0)) return colours.front();  // NaN too
  if (t >= 1) return colours.back();
  const double x = t * static_cast<double>(colours.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(x), colours.size() - 2);
  const double f = x - static_cast<double>(i);
  const Rgb a = colours[i], b = colours[i + 1];
  auto between = [f](int u, int v) { return static_cast<std::uint32_t>(std::lround(u + (v - u) * f)); };
  return {between(a.r(), b.r()) << 16 | between(a.g(), b.g()) << 8 | between(a.b(), b.b())};
}

}  // namespace kvscope::viz
