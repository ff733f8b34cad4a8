// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

#include "backend/cuda/graphs.h"
#include "backend/cuda/launches.h"
#include "backend/cuda/memory.h"

namespace kvscope::cuda {

/// Launches of kernels and the small arrays that they read, gathered until start(): then the arrays travel in one transfer and the launches
/// follow, as a graph where they came in this very form before (graphs.h). Everything is done on one stream in the order in which it was
/// asked for, as if each launch had been made at once. Whoever puts anything else on the stream calls start() first.
class Work {
 public:
  static constexpr std::size_t kArena = 2 << 20;  // bytes of arrays that are gathered
  static constexpr std::size_t kMost = 64;        // launches that are gathered
  static constexpr std::size_t kEnough = 8;       // launches that the device should not wait for any longer at a pause()

  /// arena: kArena bytes of device memory that are used by nobody else. device: index of the current device.
  Work(int device, cudaStream_t stream, void* arena, bool graphs);

  /// kernel: of the toolkit's kind; throws Error where a device cannot give it so much shared memory.
  void launch(const char* what, const void* kernel, dim3 grid, dim3 block, std::size_t shared_bytes,
              std::span<const Launches::Argument> arguments);
  /// Throws Error where a kernel cannot be started; nothing is gathered any more then either.
  void start();
  /// A place that the same steps come by again and again: a good one to cut what is gathered into lists that come again.
  void pause();

  /// Where these bytes will be on the device for the launches from now on, until leave() has been called for every place(): an address
  /// that depends on nothing but the calls since the last start() that found no place in use. nullptr: there is no room for them.
  const std::byte* place(std::span<const std::byte> bytes);
  void leave() { --places_in_use_; }

 private:
  int device_;
  cudaStream_t stream_;
  std::byte* arena_;
  Launches list_, started_;
  Graphs graphs_;
  PinnedRing ring_{4};
  std::byte* host_ = nullptr;        // what the arena is going to have; nullptr: nothing yet
  std::size_t used_ = 0, sent_ = 0;  // bytes of it that have their place, that were sent
  int places_in_use_ = 0;
};

}  // namespace kvscope::cuda
