// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/sweep_scale.h"

#include <algorithm>
#include <cmath>

#include "viz/draw/draw.h"

namespace kvscope {

namespace {

constexpr double kZeroLine = 0.1;  // of a logarithmic axis that shows a zero: the part below its lowest value

}  // namespace

AxisScale::AxisScale(const std::vector<double>& values, bool logarithmic, bool from_zero) {
  double low = INFINITY, high = -INFINITY;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    if (logarithmic && v <= 0) {
      m_zero = true;
      continue;
    }
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (!std::isfinite(low)) {
    m_zero = false;
    return;  // nothing to show: 0..1
  }
  m_log = logarithmic;
  if (m_log) {
    const double room = std::max(1.08, std::pow(high / low, 0.04));
    m_low = low / room;
    m_high = high * room;
    return;
  }
  const double span = std::max(high - (from_zero ? 0 : low), 1e-12);
  m_low = from_zero ? std::min(0.0, low) : low - 0.04 * span;
  m_high = high + 0.06 * span;
}

double AxisScale::at(double value) const {
  if (!m_log) return (value - m_low) / (m_high - m_low);
  const double foot = m_zero ? kZeroLine : 0;
  if (value <= 0) return 0;
  return foot + (1 - foot) * std::log(value / m_low) / std::log(m_high / m_low);
}

std::vector<double> AxisScale::ticks(int most) const {
  if (!m_log) return viz::nice_ticks(m_low, m_high, most);
  std::vector<double> out;
  // Powers of ten; below two of them also 2 and 5 in between.
  for (const bool fine : {false, true}) {
    out.clear();
    for (int e = static_cast<int>(std::floor(std::log10(m_low))); e <= static_cast<int>(std::ceil(std::log10(m_high))); ++e)
      for (const double factor : {1.0, 2.0, 5.0})
        if (const double v = factor * std::pow(10, e); (fine || factor == 1.0) && v >= m_low && v <= m_high) out.push_back(v);
    if (out.size() >= 3) break;
  }
  while (static_cast<int>(out.size()) > most) {
    std::vector<double> every_other;
    for (std::size_t i = 0; i < out.size(); i += 2) every_other.push_back(out[i]);
    out = every_other;
  }
  if (m_zero) out.insert(out.begin(), 0.0);
  return out;
}

}  // namespace kvscope
