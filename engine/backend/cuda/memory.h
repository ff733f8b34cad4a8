// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

#include "backend/buffer.h"

namespace kvscope::cuda {

inline std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

class Event {
 public:
  Event();
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Page-locked host memory: the device can read and write it by itself.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  ~PinnedMemory() { cudaFreeHost(data_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  /// At least so many bytes; what was there is lost when it has to grow.
  std::byte* bytes(std::size_t n);

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Page-locked areas that take turns, so that the host can fill one while copies from others are under way.
class PinnedRing {
 public:
  explicit PinnedRing(int n) : n_(n), areas_(std::make_unique<Area[]>(static_cast<std::size_t>(n))) {}
  /// The next area, of at least so many bytes; waits for what was sent from it.
  std::byte* next(std::size_t bytes);
  /// A copy from the newest area was put on this stream.
  void sent(cudaStream_t stream);

 private:
  struct Area {
    PinnedMemory host;
    Event done;
    bool used = false;
  };
  Area& newest() { return areas_[static_cast<std::size_t>(newest_)]; }

  int n_, newest_ = 0;
  std::unique_ptr<Area[]> areas_;
};

}  // namespace kvscope::cuda
