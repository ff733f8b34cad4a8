// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kvscope::cpu {

std::vector<double> rope_frequencies(const ModelConfig& config) {
  const RopeScaling& s = config.rope_scaling;
  std::vector<double> out(static_cast<std::size_t>(config.head_dim / 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double plain = std::pow(config.rope_theta, -2.0 * static_cast<double>(i) / config.head_dim);
    out[i] = plain;
    if (s.kind == RopeScaling::Kind::linear) {
      out[i] = plain / s.factor;
    } else if (s.kind == RopeScaling::Kind::llama3) {
      const double turns = s.original_max_position * plain / (2.0 * std::numbers::pi);  // original length / wavelength
      if (turns < s.low_freq_factor) {
        out[i] = plain / s.factor;
      } else if (turns <= s.high_freq_factor) {
        const double mix = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
        out[i] = (1.0 - mix) * plain / s.factor + mix * plain;
      }
    }
  }
  return out;
}

template <class T>
void RopeTable<T>::reserve(int n) {
  if (n <= n_positions_) return;
  n = std::max({n, 2 * n_positions_, 256});
  const std::size_t half = frequencies_.size();
  cosines_.resize(static_cast<std::size_t>(n) * half);
  sines_.resize(static_cast<std::size_t>(n) * half);
  for (std::size_t p = static_cast<std::size_t>(n_positions_); p < static_cast<std::size_t>(n); ++p) {
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(p) * frequencies_[i];
      cosines_[p * half + i] = static_cast<T>(std::cos(angle));
      sines_[p * half + i] = static_cast<T>(std::sin(angle));
    }
  }
  n_positions_ = n;
}

template class RopeTable<float>;
template class RopeTable<double>;

}  // namespace kvscope::cpu
