// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

namespace kvscope::cuda {

/// cuda_status() and make_cuda_backend() as the module has them. backend.h says what they do.
CudaStatus status();
std::unique_ptr<Backend> make(DType dtype, const ModelConfig& config, const CudaOptions& options);

}  // namespace kvscope::cuda
