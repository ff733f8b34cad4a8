// SPDX-License-Identifier: Apache-2.0
// Products with weight matrices for many rows: cuBLAS, which wants both factors in one type. Sums are f32.
#include "backend/cuda/check.h"
#include "backend/cuda/cuda_backend.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

cudaDataType cublas_type(DType t) { return t == DType::f32 ? CUDA_R_32F : t == DType::f16 ? CUDA_R_16F : CUDA_R_16BF; }

/// y [rows, out] (+)= x [rows, in] w [out, in]^T. cuBLAS counts by columns: its matrices are the transposes of ours.
void multiply(cublasHandle_t cublas, const void* x, const void* w, DType type, int out, int in, int rows, void* y, DType y_type, bool add) {
  const float one = 1, keep = add ? 1.0f : 0.0f;
  check(cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, out, rows, in, &one, w, cublas_type(type), in, x, cublas_type(type), in, &keep, y,
                     cublas_type(y_type), out, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "a matrix product");
}

}  // namespace

void CudaBackend::gemm(const void* x, DType x_type, Numbers w, int out, int in, int rows, void* y, DType y_type, bool add) {
  const auto n_x = static_cast<std::size_t>(rows) * static_cast<std::size_t>(in),
             n_y = static_cast<std::size_t>(rows) * static_cast<std::size_t>(out),
             n_w = static_cast<std::size_t>(out) * static_cast<std::size_t>(in);
  if (x_type == w.type) return multiply(device_->cublas(), x, w.data, w.type, out, in, rows, y, y_type, add);
  if (x_type == DType::f32 && w.type == DType::bf16) {
    // f32 is the sum of three bf16: three products on the tensor cores, exact but for the sums, and no copy of the weights
    auto* const parts = device_->scratch_of<std::uint16_t>(Device::Use::gemm, 3 * n_x);
    split_to_bf16(work(), static_cast<const float*>(x), static_cast<long>(n_x), parts);
    for (int part = 2; part >= 0; --part)  // the smallest first
      multiply(device_->cublas(), parts + static_cast<std::size_t>(part) * n_x, w.data, w.type, out, in, rows, y, y_type, add || part != 2);
    return;
  }
  // other mixtures: everything to f32
  auto* const wide = device_->scratch_of<float>(Device::Use::gemm, n_w + n_x + n_y);
  convert(work(), w, static_cast<long>(n_w), DType::f32, wide);
  convert(work(), {x, x_type}, static_cast<long>(n_x), DType::f32, wide + n_w);
  float* const sum = y_type == DType::f32 ? static_cast<float*>(y) : wide + n_w + n_x;
  if (add && y_type != DType::f32) convert(work(), {y, y_type}, static_cast<long>(n_y), DType::f32, sum);
  multiply(device_->cublas(), wide + n_w, wide, DType::f32, out, in, rows, sum, DType::f32, add);
  if (y_type != DType::f32) convert(work(), {sum, DType::f32}, static_cast<long>(n_y), y_type, y);
}

}  // namespace kvscope::cuda
