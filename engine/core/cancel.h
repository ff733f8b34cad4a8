// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "core/error.h"

namespace kvscope {

/// Asked at layer boundaries. Owned by the caller that may cancel; outlives the work.
class CancelToken {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  void reset() { cancelled_.store(false, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  /// Throws Cancelled.
  void check() const {
    if (cancelled()) throw Cancelled();
  }

 private:
  std::atomic<bool> cancelled_ = false;
};

}  // namespace kvscope
