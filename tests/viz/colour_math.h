// SPDX-License-Identifier: Apache-2.0
#pragma once

// Colour differences as people with and without colour-vision deficiencies see them.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "viz/draw/theme.h"

namespace kvscope::viz::testing {

using Vec3 = std::array<double, 3>;
using Mat3 = std::array<Vec3, 3>;

enum class Vision : std::uint8_t { normal, protan, deutan, tritan };

inline Vec3 linear(Rgb c) {
  const auto f = [](int v) {
    const double u = v / 255.0;
    return u <= 0.04045 ? u / 12.92 : std::pow((u + 0.055) / 1.055, 2.4);
  };
  return {f(c.r()), f(c.g()), f(c.b())};
}

inline Vec3 times(const Mat3& m, const Vec3& v) {
  Vec3 r{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) r[i] += m[i][k] * v[k];
  }
  return r;
}

/// Machado, Oliveira, Fernandes 2009, severity 1.0, on linear sRGB.
inline Vec3 seen_as(const Vec3& rgb, Vision vision) {
  static constexpr Mat3 kProtan = {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
  static constexpr Mat3 kDeutan = {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
  static constexpr Mat3 kTritan = {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};
  if (vision == Vision::normal) return rgb;
  Vec3 r = times(vision == Vision::protan ? kProtan : vision == Vision::deutan ? kDeutan : kTritan, rgb);
  for (double& v : r) v = std::clamp(v, 0.0, 1.0);
  return r;
}

inline double luminance(Rgb c) {
  const Vec3 l = linear(c);
  return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
}

/// WCAG 2 contrast ratio, 1 to 21.
inline double contrast(Rgb a, Rgb b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

/// CIE L*a*b*, D65.
inline Vec3 lab(const Vec3& rgb) {
  static constexpr Mat3 kXyz = {{{0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}}};
  const Vec3 xyz = times(kXyz, rgb), white = {0.95047, 1.0, 1.08883};
  Vec3 f{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double t = xyz[i] / white[i];
    f[i] = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  }
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

inline double lightness(Rgb c) { return lab(linear(c))[0]; }

/// CIEDE2000 (Sharma, Wu, Dalal 2005).
inline double ciede2000(const Vec3& p, const Vec3& q) {
  constexpr double kPi = std::numbers::pi, kDegree = kPi / 180;
  const double c1 = std::hypot(p[1], p[2]), c2 = std::hypot(q[1], q[2]), mean = (c1 + c2) / 2;
  const double g = 0.5 * (1 - std::sqrt(std::pow(mean, 7) / (std::pow(mean, 7) + std::pow(25, 7))));
  const double a1 = (1 + g) * p[1], a2 = (1 + g) * q[1];
  const double k1 = std::hypot(a1, p[2]), k2 = std::hypot(a2, q[2]);
  const auto hue = [&](double a, double b) { return a == 0 && b == 0 ? 0 : std::fmod(std::atan2(b, a) + 2 * kPi, 2 * kPi); };
  const double h1 = hue(a1, p[2]), h2 = hue(a2, q[2]);
  double dh = h2 - h1;
  if (k1 * k2 == 0)
    dh = 0;
  else if (dh > kPi)
    dh -= 2 * kPi;
  else if (dh < -kPi)
    dh += 2 * kPi;
  const double dL = q[0] - p[0], dC = k2 - k1, dH = 2 * std::sqrt(k1 * k2) * std::sin(dh / 2);
  const double l = (p[0] + q[0]) / 2, c = (k1 + k2) / 2;
  double h = h1 + h2;
  if (k1 * k2 != 0) {
    if (std::abs(h1 - h2) > kPi) h += h < 2 * kPi ? 2 * kPi : -2 * kPi;
    h /= 2;
  }
  const double t = 1 - 0.17 * std::cos(h - 30 * kDegree) + 0.24 * std::cos(2 * h) + 0.32 * std::cos(3 * h + 6 * kDegree) -
                   0.20 * std::cos(4 * h - 63 * kDegree);
  const double sl = 1 + 0.015 * (l - 50) * (l - 50) / std::sqrt(20 + (l - 50) * (l - 50));
  const double sc = 1 + 0.045 * c, sh = 1 + 0.015 * c * t;
  const double turn = 30 * kDegree * std::exp(-std::pow((h / kDegree - 275) / 25, 2));
  const double rt = -2 * std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + std::pow(25, 7))) * std::sin(2 * turn);
  return std::sqrt(std::pow(dL / sl, 2) + std::pow(dC / sc, 2) + std::pow(dH / sh, 2) + rt * (dC / sc) * (dH / sh));
}

inline double difference(Rgb a, Rgb b, Vision vision) {
  return ciede2000(lab(seen_as(linear(a), vision)), lab(seen_as(linear(b), vision)));
}

}  // namespace kvscope::viz::testing
