// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "backend/cuda/memory.h"

namespace kvscope::cuda {

class Device;

/// Results that the host is going to read, on their way to it while the device goes on: gathered by the stream that made them, brought by a
/// stream of their own. What is written again is forgotten.
class Mirrors {
  struct Transfer;

 public:
  struct Piece {
    const void* data = nullptr;
    std::size_t bytes = 0;
  };

  Mirrors();
  ~Mirrors();
  Mirrors(const Mirrors&) = delete;
  Mirrors& operator=(const Mirrors&) = delete;

  /// Disjoint pieces, as everything that was asked of the device so far leaves them. They travel together.
  void bring(Device& device, std::vector<Piece> pieces);
  /// What is under way: there once wait() has returned, until `from` is written again. wait() asks for no lock.
  struct Coming {
    const std::byte* data = nullptr;  // nullptr: not under way, or not all of it
    Transfer* transfer = nullptr;
  };
  Coming find(const void* from, std::size_t bytes);
  /// For this transfer alone.
  static void wait(Transfer& transfer);
  void forget(const void* p, std::size_t bytes);
  /// Gives device memory back; nothing may be under way.
  void release(Device& device);

 private:
  struct Transfer {
    PinnedMemory host;
    Buffer gathered;
    Event ready, done;
    std::atomic<bool> under_way = false;
    int n_pieces = 0;  // that may still be read; 0: free for others
  };
  struct Place {
    std::size_t bytes = 0, offset = 0;
    Transfer* transfer = nullptr;
  };

  Transfer& unused();

  cudaStream_t stream_ = nullptr;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::map<std::uintptr_t, Place> places_;  // by address, disjoint
};

}  // namespace kvscope::cuda
