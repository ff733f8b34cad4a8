// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace kvscope::cuda {

/// Throws Error "cuda: WHAT failed: ...": what the call was for. Out of memory says what can be chosen instead.
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);

}  // namespace kvscope::cuda
