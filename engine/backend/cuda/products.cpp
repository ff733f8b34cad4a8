// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/products.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/cuda/check.h"
#include "backend/cuda/host_numbers.h"
#include "backend/device_blocks.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

cudaDataType cublas_type(DType t) { return t == DType::f32 ? CUDA_R_32F : t == DType::f16 ? CUDA_R_16F : CUDA_R_16BF; }

constexpr long kSlab = 32 << 20;  // numbers of a matrix that are decoded at once: enough to keep a device busy

/// y [rows, out] (+)= x [rows, in] w [out, in]^T, rows of y `ldy` numbers apart. cuBLAS counts by columns: its matrices are the transposes
/// of ours.
void multiply(cublasHandle_t cublas, const void* x, const void* w, DType type, int out, int in, int rows, void* y, DType y_type, int ldy,
              bool add) {
  const float one = 1, keep = add ? 1.0f : 0.0f;
  check(cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, out, rows, in, &one, w, cublas_type(type), in, x, cublas_type(type), in, &keep, y,
                     cublas_type(y_type), ldy, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "a matrix product");
}

/// Products for many rows: cuBLAS, which wants both factors in one type. Sums are f32.
void gemm(Device& device, const void* x, Numbers w, int out, int in, int rows, void* y, bool add) {
  const DType type = device.type();
  const auto n_x = static_cast<std::size_t>(rows) * static_cast<std::size_t>(in),
             n_y = static_cast<std::size_t>(rows) * static_cast<std::size_t>(out),
             n_w = static_cast<std::size_t>(out) * static_cast<std::size_t>(in);
  if (type == w.type) return multiply(device.cublas(), x, w.data, w.type, out, in, rows, y, type, out, add);
  if (type == DType::f32 && w.type == DType::bf16) {
    // f32 is the sum of three bf16: three products on the tensor cores, exact but for the sums, and no copy of the weights
    auto* const parts = device.scratch_of<std::uint16_t>(Device::Use::gemm, 3 * n_x);
    split_to_bf16(device.work(), static_cast<const float*>(x), static_cast<long>(n_x), parts);
    for (int part = 2; part >= 0; --part)  // the smallest first
      multiply(device.cublas(), parts + static_cast<std::size_t>(part) * n_x, w.data, w.type, out, in, rows, y, type, out,
               add || part != 2);
    return;
  }
  // other mixtures: everything to f32
  auto* const wide = device.scratch_of<float>(Device::Use::gemm, n_w + n_x + n_y);
  convert(device.work(), w, static_cast<long>(n_w), DType::f32, wide);
  convert(device.work(), {x, type}, static_cast<long>(n_x), DType::f32, wide + n_w);
  float* const sum = type == DType::f32 ? static_cast<float*>(y) : wide + n_w + n_x;
  if (add && type != DType::f32) convert(device.work(), {y, type}, static_cast<long>(n_y), DType::f32, sum);
  multiply(device.cublas(), wide + n_w, wide, DType::f32, out, in, rows, sum, DType::f32, out, add);
  if (type != DType::f32) convert(device.work(), {sum, DType::f32}, static_cast<long>(n_y), type, y);
}

BlockMatrix blocks(const Weight& w) { return {w.data, w.dtype, w.out, w.in}; }

/// Some columns of some rows as numbers of the device's type, until the next use of this memory.
void* decoded(Device& device, const Weight& w, const BlockRows& rows) {
  void* const out =
      device.scratch(Device::Use::gemm, device.bytes(static_cast<std::size_t>(rows.rows) * static_cast<std::size_t>(rows.width)));
  decode_blocks(device.work(), blocks(w), rows, device.type(), out);
  return out;
}

/// Products of many rows with weights in blocks, a slab of the matrix after the other.
void gemm_of_blocks(Device& device, const void* x, const Weight& w, int rows, void* y, bool add) {
  const int slab = static_cast<int>(std::clamp<long>(kSlab / w.in, 1, w.out));
  for (int first = 0; first < w.out; first += slab) {
    const int n = std::min(slab, w.out - first);
    const void* const numbers = decoded(device, w, {.first_row = first, .rows = n, .width = w.in});
    multiply(device.cublas(), x, numbers, device.type(), n, w.in, rows,
             static_cast<std::byte*>(y) + device.bytes(static_cast<std::size_t>(first)), device.type(), w.out, add);
  }
}

/// The matrix as numbers that kernels read; of blocks a copy that lasts until the next use of that memory.
Numbers numbers_now(Device& device, const Weight& w) {
  return is_quantised(w.dtype) ? Numbers{decoded(device, w, {.rows = w.out, .width = w.in}), device.type()} : Numbers{w.data, w.dtype};
}

}  // namespace

void embed(Device& device, const Weight& table, const int* ids, int rows, void* x) {
  if (is_quantised(table.dtype))
    return decode_blocks(device.work(), blocks(table), {.ids = ids, .rows = rows, .width = table.in}, device.type(), x);
  embed(device.work(), device.type(), {table.data, table.dtype}, table.in, ids, rows, x);
}

void linear(Device& device, const void* x, const Weight& w, int rows, void* y, bool add) {
  if (rows <= 0 || w.out <= 0) return;
  const auto held = device.lock();
  device.flush();
  device.writes(y, device.bytes(static_cast<std::size_t>(rows) * static_cast<std::size_t>(w.out)));
  if (is_quantised(w.dtype)) {
    if (rows <= kSkinnyRows) return block_linear(device.work(), device.type(), {.x = x, .rows = rows, .w = blocks(w), .y = y, .add = add});
    return gemm_of_blocks(device, x, w, rows, y, add);
  }
  if (rows <= kSkinnyRows) {
    skinny_linear(
        device.work(), device.type(),
        {.x = x, .ldx = w.in, .rows = rows, .w = numbers(w), .ldw = w.in, .out = w.out, .k = w.in, .y = y, .ldy = w.out, .add = add});
  } else {
    gemm(device, x, numbers(w), w.out, w.in, rows, y, add);
  }
}

void wo_l1(Device& device, const ModelConfig& config, std::span<const WoNormJob> jobs) {
  std::size_t n = 0;
  for (const WoNormJob& job : jobs) {
    KVSCOPE_ASSERT(job.wo->in == config.q_dim() &&
                   job.out.size() == static_cast<std::size_t>(job.rows) * static_cast<std::size_t>(config.n_heads));
    n += job.out.size();
  }
  if (n == 0) return;
  const auto held = device.lock();
  device.flush();
  auto* const results = device.scratch_of<double>(Device::Use::results, n);
  double* result = results;
  const Weight* matrix = nullptr;
  Numbers wo;
  for (const WoNormJob& job : jobs) {
    if (job.rows > 0) {
      if (job.wo != std::exchange(matrix, job.wo)) wo = numbers_now(device, *job.wo);
      wo_l1(device.work(), device.type(), job.x, wo, job.wo->out, config.n_heads, device.head_dim(), job.rows, result);
    }
    result += job.out.size();
  }
  std::vector<double> host(n);
  device.download(host.data(), results, n * sizeof(double));
  scatter(host, jobs);
}

void wo_rows(Device& device, const void* x, int stride, const Weight& wo, int head, int rows, std::span<double> out) {
  KVSCOPE_ASSERT((head + 1) * device.head_dim() <= wo.in &&
                 out.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(wo.out));
  if (out.empty()) return;
  const auto held = device.lock();
  device.flush();
  auto* const result = device.scratch_of<float>(Device::Use::results, out.size());
  // of blocks the columns of the head, in whole fours
  const int column = head * device.head_dim(), first = column / 4 * 4, end = (column + device.head_dim() + 3) / 4 * 4;
  const bool in_blocks = is_quantised(wo.dtype);
  const Numbers w =
      in_blocks ? Numbers{decoded(device, wo, {.rows = wo.out, .first = first, .width = end - first}), device.type()} : numbers(wo);
  const std::size_t offset = static_cast<std::size_t>(in_blocks ? column - first : column) * size_of(w.type);
  skinny_linear(device.work(), device.type(),
                {.x = x,
                 .ldx = stride,
                 .rows = rows,
                 .w = {static_cast<const std::byte*>(w.data) + offset, w.type},
                 .ldw = in_blocks ? end - first : wo.in,
                 .out = wo.out,
                 .k = device.head_dim(),
                 .y = result,
                 .ldy = wo.out,
                 .y_is_float = true});
  std::vector<float> host(out.size());
  device.download(host.data(), result, host.size() * sizeof(float));
  std::copy(host.begin(), host.end(), out.begin());
}

}  // namespace kvscope::cuda
