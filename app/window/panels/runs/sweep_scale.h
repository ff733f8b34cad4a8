// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace kvscope {

/// One axis of a chart: values to 0..1, linear from zero or logarithmic. A zero on a logarithmic axis lies on a line of its own at the low
/// end.
class AxisScale {
 public:
  /// values: all that will be shown; NaN and infinities are left out. `logarithmic`: where some are positive.
  AxisScale(const std::vector<double>& values, bool logarithmic, bool from_zero);

  double at(double value) const;
  bool logarithmic() const { return m_log; }
  bool has_zero() const { return m_zero; }
  double low() const { return m_low; }
  double high() const { return m_high; }
  /// Values worth a label, ascending, at most `most`; zero among them where it has its line.
  std::vector<double> ticks(int most) const;

 private:
  bool m_log = false, m_zero = false;
  double m_low = 0, m_high = 1;
};

}  // namespace kvscope
