// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/host_device.h"
#include "core/vector_math.h"

namespace kvscope {

/// Partial sums that a normaliser is made of, as many threads of a device make one: slot i in the sum i mod this, those added up in halves.
inline constexpr int kMassSums = 256;

/// Slots M that become one, so that the attention mass predicted of them, and what they add to the output, stay what they were. Names as in
/// POLICIES.md section 5; on the host as on a device, the arrays are the caller's.
struct MassMerge {
  int n = 0, group = 1;
  const double* p = nullptr;                                       // [n] votes
  const double* extra = nullptr;                                   // [n]
  const double* lshat = nullptr;                                   // [n, group] predicted log-scores
  const double* log_Z = nullptr;                                   // [group]
  double *mu = nullptr, *w = nullptr, *T = nullptr, *m = nullptr;  // written: [n], [n], [group], [group]

  KVSCOPE_HOST_DEVICE double log_mass(int i, int g) const { return log_one(p[i]) + lshat[i * group + g] - log_Z[g]; }

  /// Returns P. In the log domain, so that tiny shares keep their ratio.
  KVSCOPE_HOST_DEVICE double make() const {
    double top_mass = log_mass(0, 0), sum = 0, P = 0;
    for (int i = 0; i < n; ++i)
      for (int g = 0; g < group; ++g) top_mass = top_mass < log_mass(i, g) ? log_mass(i, g) : top_mass;
    for (int i = 0; i < n; ++i) {
      w[i] = 0;
      for (int g = 0; g < group; ++g) w[i] += exp_one(log_mass(i, g) - top_mass);
      sum += w[i];
      P += p[i];
    }
    for (int i = 0; i < n; ++i) {
      mu[i] = w[i] * exp_one(top_mass) / group;
      w[i] /= sum;
    }
    for (int g = 0; g < group; ++g) {
      double top = lshat[g], mass = 0;
      for (int i = 1; i < n; ++i) top = top < lshat[i * group + g] ? lshat[i * group + g] : top;
      for (int i = 0; i < n; ++i) mass += p[i] * exp_one(lshat[i * group + g] - top);
      T[g] = top + log_one(mass / P);
      m[g] = 0;
      for (int i = 0; i < n; ++i) m[g] += w[i] * (lshat[i * group + g] - extra[i]);
    }
    return P;
  }
  /// Mean over g of T_g - m_g: what the merged slot's bias needs beside ln P.
  KVSCOPE_HOST_DEVICE double missing() const {
    double out = 0;
    for (int g = 0; g < group; ++g) out += (T[g] - m[g]) / group;
    return out;
  }
};

}  // namespace kvscope
