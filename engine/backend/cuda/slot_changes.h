// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backend/cuda/kernels/kernels.h"

namespace kvscope::cuda {

class Device;

/// What changes in the slots of many caches at once: one launch for all of them instead of one for each. They may neither overlap nor
/// depend on each other.
class SlotChanges {
 public:
  /// Memory gets what the host has.
  void set(void* to, std::span<const std::byte> bytes);
  /// The rows `gone` (ascending) leave matrices k and v of n rows; those behind them move up.
  void remove(void* k, void* v, std::size_t row_bytes, std::span<const int> gone, int n);
  /// The entries `gone` (ascending) of an order of n slots, which are `entries`, go behind those that stay.
  void move_back(int* order, std::span<const int> gone, std::span<const int> entries, int n);
  /// row `target` of `rows` becomes scale * sum_i weights[i] * row row_of(members[i]); begins_cache: the steps so far are another cache's.
  template <class RowOf>
  void combine(bool begins_cache, void* rows, int target, std::span<const int> members, const RowOf& row_of,
               std::span<const double> weights, double scale) {
    if (!begins_cache) first_step_.pop_back();
    steps_.push_back(
        {rows, target, static_cast<int>(members_.size()), static_cast<int>(members.size()), static_cast<int>(weights_.size()), scale});
    for (const int member : members) members_.push_back(row_of(member));
    weights_.insert(weights_.end(), weights.begin(), weights.end());
    first_step_.push_back(static_cast<int>(steps_.size()));
  }

  /// Starts all of it. Late work has been flushed.
  void start(Device& device, DType type, int head_dim) const;

 private:
  /// Adds to gone_; returns how many rows stay from the first that goes on.
  int add_gone(std::span<const int> gone, int n);
  void start_sets(Device& device) const;

  std::vector<CopyJob> sets_;  // from: not known yet
  std::vector<std::byte> values_;
  std::vector<RemoveJob> removals_;
  std::size_t removed_row_bytes_ = 0;  // of all of them, or-ed: what divides it divides each
  std::vector<OrderJob> orders_;
  std::vector<int> gone_;  // of removals and orders
  std::vector<CombineStep> steps_;
  std::vector<int> first_step_ = {0}, members_;
  std::vector<double> weights_;
};

}  // namespace kvscope::cuda
