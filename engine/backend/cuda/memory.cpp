// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory.h"

#include "backend/cuda/check.h"

namespace kvscope::cuda {

Event::Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event"); }

std::byte* PinnedMemory::bytes(std::size_t n) {
  if (n > size_) {
    cudaFreeHost(data_);
    data_ = nullptr;
    size_ = 0;
    check(cudaMallocHost(&data_, n + n / 2), "taking page-locked host memory");
    size_ = n + n / 2;
  }
  return static_cast<std::byte*>(data_);
}

std::byte* PinnedRing::next(std::size_t bytes) {
  newest_ = (newest_ + 1) % n_;
  if (newest().used) check(cudaEventSynchronize(newest().done.get()), "waiting for an upload");
  newest().used = false;
  return newest().host.bytes(bytes);
}

void PinnedRing::sent(cudaStream_t stream) {
  check(cudaEventRecord(newest().done.get(), stream), "marking an upload");
  newest().used = true;
}

}  // namespace kvscope::cuda
