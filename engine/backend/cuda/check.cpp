// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/check.h"

#include <fmt/core.h>

#include "core/error.h"

namespace kvscope::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // errors that do not stick are not to be found again by a later call
  if (status == cudaErrorMemoryAllocation) {
    std::size_t available = 0, total = 0;
    const bool known = cudaMemGetInfo(&available, &total) == cudaSuccess;
    throw Error(fmt::format("cuda memory: no room for {}{}; use fewer runs, a shorter text, a smaller model or --device cpu", what,
                            known ? fmt::format(" ({:.2f} of {:.2f} GiB are free)", static_cast<double>(available) / 0x1p30,
                                                static_cast<double>(total) / 0x1p30)
                                  : ""));
  }
  throw Error(fmt::format("cuda: {} failed: {} ({}); use --device cpu", what, cudaGetErrorString(status), static_cast<int>(status)));
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(fmt::format("cuda: {} failed: cuBLAS status {}; use --device cpu", what, static_cast<int>(status)));
}

}  // namespace kvscope::cuda
