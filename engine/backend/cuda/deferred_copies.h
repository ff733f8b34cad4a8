// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/ranges.h"

namespace kvscope::cuda {

class Device;

/// Copies that are made later, together with others: one launch for the caches of all heads instead of one for each. What depends on each
/// other is not gathered.
class DeferredCopies {
 public:
  struct Area {
    const void* data = nullptr;
    std::size_t bytes = 0;
  };

  /// What reads and writes this must not be added, or done, before what is here is done.
  bool depends(std::span<const Area> reads, std::span<const Area> writes) const;
  bool empty() const { return copies_.empty() && gathers_.empty(); }
  bool full() const;

  void copy(void* to, const void* from, std::size_t bytes);
  /// Row i of `to` becomes row order[i] of `from`, n times: a copy.
  void gather(void* to, const Area& from, std::size_t row_bytes, const Area& order, int n);
  /// Copies that may only wait with others of their kind, which nobody looks through for dependencies.
  void append(std::span<const CopyJob> copies);
  bool only_appends() const { return n_appends_ == copies_.size() && gathers_.empty(); }

  /// Starts all of it.
  void start(Device& device);

 private:
  Ranges reads_, writes_;
  std::vector<CopyJob> copies_;
  std::size_t n_appends_ = 0;  // of them: all or none
  std::vector<GatherJob> gathers_;
  std::size_t gathered_row_bytes_ = 0;  // or-ed
};

}  // namespace kvscope::cuda
