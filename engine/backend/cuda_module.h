// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

namespace kvscope {

/// What the CUDA module offers to the program that opens it. Both are built together: the stamp says whether they were.
struct CudaModule {
  const char* stamp;
  CudaStatus (*status)();
  std::unique_ptr<Backend> (*make)(DType, const ModelConfig&, const CudaOptions&);
};

inline constexpr const char* kCudaModuleFunction = "kvscope_cuda_module";  // const CudaModule* ()
inline constexpr const char* kCudaModuleStamp = KVSCOPE_BUILD_STAMP;

}  // namespace kvscope
