// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace kvscope::cpu {

namespace {

/// The pair, as a real number, whose wavelength fits `turns` times into the original length.
double pair_of(double turns, const Rope& rope, int dims) {
  return dims * std::log(rope.scaling.original_max_position / (turns * 2.0 * std::numbers::pi)) / (2.0 * std::log(rope.theta));
}

void stretch_as_yarn(std::vector<double>& frequencies, const Rope& rope, int dims) {
  const RopeScaling& s = rope.scaling;
  double low = pair_of(s.beta_fast, rope, dims), high = pair_of(s.beta_slow, rope, dims);
  if (s.whole_bounds) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / s.factor * stretched + frequencies[i] * (1.0 - stretched);
  }
}

double as_llama3(double plain, const RopeScaling& s) {
  const double turns = s.original_max_position * plain / (2.0 * std::numbers::pi);  // original length / wavelength
  if (turns < s.low_freq_factor) return plain / s.factor;
  if (turns > s.high_freq_factor) return plain;
  const double mix = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1.0 - mix) * plain / s.factor + mix * plain;
}

}  // namespace

std::vector<double> rope_frequencies(const ModelConfig& config, int table) {
  const Rope& rope = config.ropes[static_cast<std::size_t>(table)];
  const RopeScaling& s = rope.scaling;
  const int dims = rope.dims > 0 ? rope.dims : config.head_dim;
  std::vector<double> out(static_cast<std::size_t>(dims / 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double plain = std::pow(rope.theta, -2.0 * static_cast<double>(i) / dims);
    out[i] = s.kind == RopeScaling::Kind::linear     ? plain / s.factor
             : s.kind == RopeScaling::Kind::llama3   ? as_llama3(plain, s)
             : s.kind == RopeScaling::Kind::longrope ? plain / s.divisors[i]
                                                     : plain;
  }
  if (s.kind == RopeScaling::Kind::yarn) stretch_as_yarn(out, rope, dims);
  return out;
}

template <class T>
std::shared_ptr<const RopeRows<T>> RopeTable<T>::rows(int n) {
  const std::lock_guard lock(mutex_);
  if (n <= rows_->n) return rows_;
  const std::size_t half = frequencies_.size(), first = static_cast<std::size_t>(rows_->n);
  auto more = std::make_shared<RopeRows<T>>(*rows_);
  more->n = std::max({n, 2 * rows_->n, 256});
  more->half = half;
  more->all_cosines.resize(static_cast<std::size_t>(more->n) * half);
  more->all_sines.resize(static_cast<std::size_t>(more->n) * half);
  for (std::size_t p = first; p < static_cast<std::size_t>(more->n); ++p) {
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(p) * frequencies_[i];
      more->all_cosines[p * half + i] = static_cast<T>(std::cos(angle));
      more->all_sines[p * half + i] = static_cast<T>(std::sin(angle));
    }
  }
  rows_ = std::move(more);
  return rows_;
}

template class RopeTable<float>;
template class RopeTable<double>;

}  // namespace kvscope::cpu
