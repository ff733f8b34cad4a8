// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "backend/cuda/kernels.h"
#include "backend/cuda/ranges.h"

namespace kvscope::cuda {

class Device;

/// Small work on slots that is done later, together with others: one launch for the caches of all heads instead of one for each. It is done
/// in the order combine, set, remove, copy; what depends on each other in another way is not gathered.
class LateWork {
 public:
  enum class Kind { combine, set, remove, copy };
  struct Area {
    const void* data = nullptr;
    std::size_t bytes = 0;
  };

  /// Work of this kind must not be added before what is here is done.
  bool depends(Kind kind, std::span<const Area> reads, std::span<const Area> writes) const;
  bool empty() const;
  bool full() const;

  void copy(void* to, const void* from, std::size_t bytes);
  /// Copies what the host has.
  void set(void* to, std::span<const std::byte> bytes);
  /// The rows `gone` (ascending) leave matrices k and v of n rows; those behind them move up. v: nullptr where there is but one.
  void remove(void* k, void* v, std::size_t row_bytes, std::span<const int> gone, int n);
  /// The entries `gone` (ascending) of an order of n slots, which are `entries`, go behind those that stay.
  void move_back(int* order, std::span<const int> gone, std::span<const int> entries, int n);
  /// Row i of `to` becomes row order[i] of `from`, n times: a copy.
  void gather(void* to, const Area& from, std::size_t row_bytes, const Area& order, int n);
  /// Steps of one cache, in order; members and weights are counted from the first of them.
  void combine(std::span<const CombineStep> steps, std::span<const int> members, std::span<const double> weights,
               std::span<const Area> caches);

  /// Starts all of it.
  void start(Device& device, DType type, int head_dim);

 private:
  struct Removals {
    std::vector<RemoveJob> jobs;
    std::size_t row_bytes = 0;  // of all of them, or-ed: what divides it divides each
  };

  /// Adds to gone_; returns how many rows stay from the first that goes on.
  int add_gone(std::span<const int> gone, int n);
  void start_sets(Device& device) const;
  Ranges& reads(Kind kind) { return reads_[static_cast<std::size_t>(kind)]; }
  Ranges& writes(Kind kind) { return writes_[static_cast<std::size_t>(kind)]; }

  std::array<Ranges, 4> reads_, writes_;  // of each kind
  std::vector<CopyJob> copies_;
  std::vector<CopyJob> sets_;  // from: not known yet
  std::vector<std::byte> values_;
  std::array<Removals, 2> removals_;  // from one matrix, from two
  std::vector<OrderJob> orders_;
  std::vector<int> gone_;  // of removals and orders
  std::vector<GatherJob> gathers_;
  std::size_t gathered_row_bytes_ = 0;  // or-ed
  std::vector<CombineStep> steps_;
  std::vector<int> first_step_ = {0}, members_;
  std::vector<double> weights_;
};

}  // namespace kvscope::cuda
