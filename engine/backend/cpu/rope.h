// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
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

/// Cosines and sines of position * frequency, computed in double and rounded to T, for positions [0, n).
template <class T>
struct RopeRows {
  int n = 0;
  std::size_t half = 0;
  std::vector<T> all_cosines, all_sines;  // [n, half]

  const T* cosines(int position) const { return all_cosines.data() + static_cast<std::size_t>(position) * half; }
  const T* sines(int position) const { return all_sines.data() + static_cast<std::size_t>(position) * half; }
};

/// Of every position, made as they are asked for.
template <class T>
class RopeTable {
 public:
  explicit RopeTable(const ModelConfig& config, int table = 0) : frequencies_(rope_frequencies(config, table)) {}

  int half() const { return static_cast<int>(frequencies_.size()); }
  /// Those of positions [0, n), and perhaps more. From any thread: what others have stays as it is.
  std::shared_ptr<const RopeRows<T>> rows(int n);

 private:
  const std::vector<double> frequencies_;
  std::mutex mutex_;
  std::shared_ptr<const RopeRows<T>> rows_ = std::make_shared<RopeRows<T>>();
};

}  // namespace kvscope::cpu
