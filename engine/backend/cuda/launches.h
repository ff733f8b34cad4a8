// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvscope::cuda {

/// Launches of kernels in a row, with copies of their arguments: to be made now, as a graph, or to be compared with others.
class Launches {
 public:
  /// One parameter of a kernel: `bytes` bytes at `data`, aligned to 16 bytes at most.
  struct Argument {
    const void* data = nullptr;
    std::size_t bytes = 0;
  };

  /// what: for messages, a literal. The arguments are copied.
  void add(const char* what, const void* kernel, dim3 grid, dim3 block, std::size_t shared_bytes, std::span<const Argument> arguments);
  void clear();
  bool empty() const { return launches_.empty(); }
  std::size_t size() const { return launches_.size(); }
  /// Of the first launch.
  const char* what() const { return launches_.front().what; }

  /// One after the other. Throws Error with the name of the one that cannot be started.
  void start(cudaStream_t stream) const;
  /// As a graph in which each waits for the one before it; to be destroyed by the caller. nullptr: no memory for it. Throws Error.
  cudaGraphExec_t graph() const;

  /// The same kernels with the same arguments, bit by bit.
  bool operator==(const Launches& other) const;
  std::uint64_t hash() const;

 private:
  struct Launch {
    const char* what = nullptr;
    const void* kernel = nullptr;
    dim3 grid, block;
    unsigned shared_bytes = 0;
    unsigned first_place = 0;  // of its arguments in places_
  };
  /// What the runtime wants to be given for all of them: pointers to arguments.
  std::vector<void*> parameters() const;

  std::vector<Launch> launches_;
  std::vector<std::byte> arguments_;
  std::vector<std::uint32_t> places_;  // of each argument in arguments_
};

}  // namespace kvscope::cuda
