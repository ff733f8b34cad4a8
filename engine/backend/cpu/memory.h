// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "backend/buffer.h"

namespace kvscope::cpu {

inline constexpr std::size_t kAlignment = 64;  // one cache line, one AVX-512 vector

/// Throws Error when the memory is not there. 0 bytes give a valid empty buffer.
Buffer allocate_aligned(std::size_t bytes);

/// Uninitialised working memory that only grows; one per worker, so kernels need no allocation of their own.
class Scratch {
 public:
  void* bytes(std::size_t n) {
    if (buffer_.bytes() < n) buffer_ = allocate_aligned(n + n / 2);
    return buffer_.data();
  }
  template <class T>
  T* of(std::size_t n) {
    return static_cast<T*>(bytes(n * sizeof(T)));
  }

 private:
  Buffer buffer_;
};

}  // namespace kvscope::cpu
