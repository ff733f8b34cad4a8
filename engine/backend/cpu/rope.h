// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/config.h"

namespace kvscope::cpu {

/// Rotary angle per position of each of the rotated pairs, in radians: theta^(-2i / dims), then changed by the table's scaling, all as in
/// Hugging Face transformers, modeling_rope_utils.py. linear: every frequency divided by factor (= positions divided by it). llama3:
/// wavelengths below original_max_position / high_freq_factor stay, those above original_max_position / low_freq_factor are divided by
/// factor, between them the two are mixed linearly in 1 / wavelength. yarn (arXiv:2309.00071; paper, section 3.2): pairs before the one
/// that makes beta_fast turns in original_max_position stay, those behind the one of beta_slow turns are divided by factor, between them
/// the two are mixed linearly in the number of the pair. longrope (arXiv:2402.13753): each frequency has a divisor of its own.
std::vector<double> rope_frequencies(const ModelConfig& config, int table = 0);

/// Cosines and sines of position * frequency, computed in double and rounded to T, for positions [0, n_positions()).
template <class T>
class RopeTable {
 public:
  explicit RopeTable(const ModelConfig& config, int table = 0) : frequencies_(rope_frequencies(config, table)) {}

  int half() const { return static_cast<int>(frequencies_.size()); }
  int n_positions() const { return n_positions_; }
  /// Makes rows [0, n) available. Not while another thread reads.
  void reserve(int n);
  const T* cosines(int position) const { return cosines_.data() + static_cast<std::size_t>(position) * frequencies_.size(); }
  const T* sines(int position) const { return sines_.data() + static_cast<std::size_t>(position) * frequencies_.size(); }

 private:
  std::vector<double> frequencies_;
  std::vector<T> cosines_, sines_;  // [n_positions, half]
  int n_positions_ = 0;
};

}  // namespace kvscope::cpu
