// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/factory.h"

#include <fmt/core.h>

#include <cstdlib>
#include <string_view>

#include "backend/cuda/check.h"
#include "backend/cuda/cuda_backend.h"
#include "core/error.h"
#include "core/machine_memory.h"

namespace kvscope::cuda {

namespace {

constexpr int kOldestCapability = 75;

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

double gib(std::size_t bytes) { return static_cast<double>(bytes) / 0x1p30; }

}  // namespace

CudaStatus status() {
  CudaStatus s;
  cudaDriverGetVersion(&s.driver);
  cudaRuntimeGetVersion(&s.runtime);
  int n = 0;
  const cudaError_t error = cudaGetDeviceCount(&n);
  cudaGetLastError();
  if (s.driver == 0) {
    s.why_not = "no NVIDIA driver is installed";
  } else if (error == cudaErrorInsufficientDriver) {
    s.why_not = fmt::format("the NVIDIA driver is for CUDA {}, this build needs one for {}; update the driver", version_text(s.driver),
                            version_text(s.runtime));
  } else if (error == cudaErrorNoDevice || (error == cudaSuccess && n == 0)) {
    s.why_not = "no CUDA device is there";
  } else if (error != cudaSuccess) {
    s.why_not = fmt::format("CUDA does not start: {}", cudaGetErrorString(error));
  }
  if (!s.why_not.empty()) return s;
  cudaDeviceProp p = {};
  if (const cudaError_t e = cudaGetDeviceProperties(&p, 0); e != cudaSuccess) {
    s.why_not = fmt::format("the CUDA device does not answer: {}", cudaGetErrorString(e));
    return s;
  }
  s.device = p.name;
  s.capability = 10 * p.major + p.minor;
  s.total_bytes = p.totalGlobalMem;
  if (s.capability < kOldestCapability) {
    s.why_not = fmt::format("{} has compute capability {}.{}, this build needs 7.5", p.name, p.major, p.minor);
  } else if (cudaSetDevice(0) != cudaSuccess || cudaMemGetInfo(&s.free_bytes, &s.total_bytes) != cudaSuccess) {
    cudaGetLastError();
    s.why_not = fmt::format("{} cannot be used; another program may have it for itself", p.name);
  }
  s.usable = s.why_not.empty();
  return s;
}

std::unique_ptr<Backend> make(DType dtype, const ModelConfig& config, const CudaOptions& options) {
  const CudaStatus s = status();
  if (!s.usable) throw Error(fmt::format("device cuda: {}; use --device cpu", s.why_not));
  if (options.needed_bytes > s.free_bytes) {
    throw Error(fmt::format("device cuda: {} needs {:.1f} GiB, {:.1f} free on {}: choose a smaller model, --precision bf16 or --device cpu",
                            config.name.empty() ? "the model" : config.name, gib(options.needed_bytes), gib(s.free_bytes), s.device));
  }
  CudaOptions now = options;
  if (const char* graphs = std::getenv("KVSCOPE_CUDA_GRAPHS"); graphs && std::string_view(graphs) == "0") now.graphs = false;
  take_memory_in_large_pieces();  // many threads record what a device does in a few milliseconds
  return std::make_unique<CudaBackend>(dtype, config, now);
}

}  // namespace kvscope::cuda
