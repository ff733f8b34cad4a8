// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda_module.h"

#include "backend/cuda/factory.h"

extern "C" __attribute__((visibility("default"))) const kvscope::CudaModule* kvscope_cuda_module() {
  static constexpr kvscope::CudaModule kModule{kvscope::kCudaModuleStamp, kvscope::cuda::status, kvscope::cuda::make};
  return &kModule;
}
