// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/dtype.h"

namespace kvscope::cuda {

/// Numbers in host memory in a type that kernels have.
struct HostNumbers {
  DType type;
  std::vector<std::byte> bytes;
};

/// n weights of a type that no kernel has: f64 becomes f32, blocks become numbers of the type that the device computes in.
HostNumbers numbers_for_kernels(DType type, const void* host, std::size_t n, DType computes_in);

}  // namespace kvscope::cuda
