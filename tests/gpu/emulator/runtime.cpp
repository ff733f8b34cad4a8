// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "backend/cuda/kernels/types.h"
#include "cublas_v2.h"

namespace {

using kvscope::cuda::Bfloat;
using kvscope::cuda::Half;

// Device memory: counted, filled with NaN, of its exact size, so that AddressSanitizer sees what goes beyond.
std::mutex mutex;
std::map<void*, std::size_t> blocks;
std::size_t limit = std::size_t{1} << 32, used = 0;
int devices = 1, capability = 90;
std::atomic<long> n_allocations{0}, n_pinned{0};

cudaError_t take(void** p, std::size_t bytes) {
  ++n_allocations;
  const std::lock_guard lock(mutex);
  if (bytes > limit - used) return cudaErrorMemoryAllocation;
  *p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!*p) return cudaErrorMemoryAllocation;
  std::memset(*p, emulator::idle() ? 0 : 0xff, bytes);
  blocks[*p] = bytes;
  used += bytes;
  return cudaSuccess;
}

cudaError_t give(void* p) {
  if (!p) return cudaSuccess;
  const std::lock_guard lock(mutex);
  const auto at = blocks.find(p);
  if (at == blocks.end()) std::abort();  // freed twice, or never allocated
  used -= at->second;
  blocks.erase(at);
  std::free(p);
  return cudaSuccess;
}

float number(const void* p, cudaDataType type, long i) {
  if (type == CUDA_R_32F) return static_cast<const float*>(p)[i];
  if (type == CUDA_R_16F) return to_float(static_cast<const Half*>(p)[i]);
  return to_float(static_cast<const Bfloat*>(p)[i]);
}

}  // namespace

namespace emulator {

void set_memory(std::size_t bytes) { limit = bytes; }
void set_devices(int n) { devices = n; }
void set_capability(int wanted) { capability = wanted; }
std::size_t memory_in_use() { return used; }
std::pair<long, long> allocations_so_far() { return {n_allocations, n_pinned}; }

}  // namespace emulator

const char* cudaGetErrorString(cudaError_t e) {
  return e == cudaSuccess                      ? "no error"
         : e == cudaErrorInvalidValue          ? "invalid argument"
         : e == cudaErrorMemoryAllocation      ? "out of memory"
         : e == cudaErrorInvalidDeviceFunction ? "invalid device function"
                                               : "no CUDA-capable device is detected";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* n) {
  *n = devices;
  return devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = {"emulated", capability / 10, capability % 10, 1, limit};
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = capability / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = capability % 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(emulator::kSharedAtMost);
      break;
    case cudaDevAttrMultiProcessorCount:
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
  }
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  *available = limit - used;
  *total = limit;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaMalloc(void** p, std::size_t bytes) { return take(p, bytes); }
cudaError_t cudaFree(void* p) { return give(p); }
cudaError_t cudaMallocHost(void** p, std::size_t bytes) {
  ++n_pinned;
  *p = emulator::idle() ? std::calloc(1, bytes) : std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* p) {
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  static char place = 0;
  *pool = reinterpret_cast<cudaMemPool_t>(&place);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMallocFromPoolAsync(void** p, std::size_t bytes, cudaMemPool_t, cudaStream_t) { return take(p, bytes); }
struct cublasContext {
  cudaStream_t stream = nullptr;
};

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType a_type, int lda, const void* b, cudaDataType b_type, int ldb, const void* beta,
                            void* c, cudaDataType c_type, int ldc, cublasComputeType_t, cublasGemmAlgo_t) {
  // What cuBLAS wants (its manual, cublasGemmEx): equal input types, the same or f32 for the result.
  if (a_type != b_type || (c_type != CUDA_R_32F && c_type != a_type)) return CUBLAS_STATUS_INVALID_VALUE;
  if (emulator::idle()) return CUBLAS_STATUS_SUCCESS;
  const float scale = *static_cast<const float*>(alpha), keep = *static_cast<const float*>(beta);
  emulator::enqueue(handle->stream, [=] {
    for (int col = 0; col < n; ++col) {
      for (int row = 0; row < m; ++row) {
        float sum = 0;
        for (int i = 0; i < k; ++i) {
          sum += number(a, a_type, a_op == CUBLAS_OP_T ? static_cast<long>(row) * lda + i : static_cast<long>(i) * lda + row) *
                 number(b, b_type, b_op == CUBLAS_OP_T ? static_cast<long>(i) * ldb + col : static_cast<long>(col) * ldb + i);
        }
        const long at = static_cast<long>(col) * ldc + row;
        const float y = scale * sum + (keep == 0 ? 0.0f : keep * number(c, c_type, at));
        if (c_type == CUDA_R_32F) static_cast<float*>(c)[at] = y;
        if (c_type == CUDA_R_16F) static_cast<Half*>(c)[at] = kvscope::cuda::from_float<Half>(y);
        if (c_type == CUDA_R_16BF) static_cast<Bfloat*>(c)[at] = kvscope::cuda::from_float<Bfloat>(y);
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}
