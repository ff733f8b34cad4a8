// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/work.h"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "backend/cuda/check.h"

namespace kvscope::cuda {

namespace {

constexpr std::size_t kUnasked = 24 * 1024;  // with what a kernel declares itself more than this may be more than a device gives unasked
constexpr std::size_t kGrain = 256;          // an array that grows a little moves none behind it

/// Lets a kernel have so much shared memory. The limit belongs to the kernel, not to a launch, and is only ever raised: launches under a
/// higher one may still be waiting, here or in another engine.
void allow_shared(int device, const void* kernel, std::size_t bytes, const char* what) {
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, std::size_t> allowed;
  const std::lock_guard held(mutex);
  std::size_t& most = allowed[{device, kernel}];
  if (bytes <= most) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)), what);
  most = bytes;
}

}  // namespace

Work::Work(int device, cudaStream_t stream, void* arena, bool graphs)
    : device_(device), stream_(stream), arena_(static_cast<std::byte*>(arena)), graphs_(graphs) {}

void Work::launch(const char* what, const void* kernel, dim3 grid, dim3 block, std::size_t shared_bytes,
                  std::span<const Launches::Argument> arguments) {
  if (shared_bytes > kUnasked) allow_shared(device_, kernel, shared_bytes, what);
  list_.add(what, kernel, grid, block, shared_bytes, arguments);
  if (list_.size() >= kMost) start();
}

void Work::start() {
  if (!list_.empty()) {
    std::swap(list_, started_);
    list_.clear();
    if (sent_ < used_) {
      const std::size_t from = std::exchange(sent_, used_);
      check(cudaMemcpyAsync(arena_ + from, host_ + from, used_ - from, cudaMemcpyHostToDevice, stream_), "an upload");
      ring_.sent(stream_);
    }
    if (const cudaGraphExec_t graph = graphs_.of(started_)) {
      check(cudaGraphLaunch(graph, stream_), started_.what());
    } else {
      started_.start(stream_);
    }
  }
  if (places_in_use_ > 0) return;  // launches that are still to come read from there
  used_ = sent_ = 0;
  host_ = nullptr;
}

void Work::pause() {
  if (list_.size() >= kEnough) start();
}

const std::byte* Work::place(std::span<const std::byte> bytes) {
  if (used_ + bytes.size() > kArena) start();
  if (used_ + bytes.size() > kArena) return nullptr;
  if (!host_) host_ = ring_.next(kArena);
  if (!bytes.empty()) std::memcpy(host_ + used_, bytes.data(), bytes.size());
  ++places_in_use_;
  return arena_ + std::exchange(used_, round_up(used_ + bytes.size(), kGrain));
}

}  // namespace kvscope::cuda
