// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/forward.h"

namespace kvscope {

/// What the full cache computed in every step, for the lanes that are held against it, also those added later. Of a step stays the last
/// residual row: its distribution over the vocabulary, which is many times as large, is made of it again, bit by bit, when it is wanted.
class ReferenceSteps {
 public:
  ReferenceSteps(Backend& backend, Forward& forward, const ModelConfig& config) : backend_(backend), forward_(forward), config_(config) {}

  struct Distribution {
    std::vector<double> logits, log_p, p;  // [vocab_size]
    int top1 = 0;
  };

  int size() const { return static_cast<int>(steps_.size()); }
  /// residual: backend memory [dim] after the last layer; nullptr: it is not known, and the logits stay. hidden: residual stream after
  /// every layer [n_layers, dim]; empty: not measured.
  void add(std::span<const double> logits, const void* residual, std::span<const double> hidden);
  /// Only the first n_steps stay.
  void cut(int n_steps);
  /// No lane will ask for steps before this one.
  void forget_before(int step);
  /// Valid until the next call of at(), add() or cut().
  const Distribution& at(int step);
  std::vector<double> hidden(int step) const;

 private:
  struct Step {
    std::vector<std::byte> residual;   // [dim] of the backend's type
    std::vector<double> logits;        // where there is no residual
    std::vector<float> hidden;         // holds whatever a backend of 32 bits or fewer computes
    std::vector<double> hidden_exact;  // of one with 64
  };
  void set_current(int step, std::vector<double> logits);

  Backend& backend_;
  Forward& forward_;
  const ModelConfig& config_;
  std::vector<Step> steps_;
  int current_step_ = -1;
  Distribution current_;
};

}  // namespace kvscope
