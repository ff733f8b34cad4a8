// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "backend/cuda/device.h"
#include "core/dtype.h"

namespace kvscope::cuda {

/// Numbers in host memory in a type that kernels have.
struct HostNumbers {
  DType type;
  std::vector<std::byte> bytes;
};

/// n weights of a type that no kernel has: f64 becomes f32, blocks become numbers of the type that the device computes in.
HostNumbers numbers_for_kernels(DType type, const void* host, std::size_t n, DType computes_in);

/// Between doubles of the host and numbers of the device's type.
void from_double(Device& device, void* to, std::span<const double> host);
void to_double(Device& device, std::span<double> host, const void* from);

/// What came back of all jobs goes to each of them, in their order.
template <class Job>
void scatter(const std::vector<double>& all, std::span<const Job> jobs) {
  const double* at = all.data();
  for (const Job& job : jobs) {
    std::copy_n(at, job.out.size(), job.out.data());
    at += job.out.size();
  }
}

}  // namespace kvscope::cuda
