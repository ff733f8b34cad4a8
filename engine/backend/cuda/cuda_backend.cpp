// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/cuda_backend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "backend/cuda/check.h"
#include "backend/cuda/host_numbers.h"
#include "backend/cuda/types.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

Numbers numbers(const Weight& w) { return {w.data, w.dtype}; }

std::string name_of_device(int index) {
  cudaDeviceProp p = {};
  check(cudaGetDeviceProperties(&p, index), "asking for the device's name");
  return fmt::format("cuda, {}, {:.0f} GiB", p.name, static_cast<double>(p.totalGlobalMem) / 0x1p30);
}

}  // namespace

CudaBackend::CudaBackend(DType type, const ModelConfig& config, const CudaOptions& options)
    : dtype_(type), config_(config), pool_(options.n_threads), rope_(config) {
  if (config.n_heads <= 0 || config.n_kv_heads <= 0 || config.n_heads % config.n_kv_heads != 0 || config.head_dim <= 0 ||
      config.head_dim % 2 != 0 || config.head_dim > kMostHeadDim) {
    throw Error(
        fmt::format("cuda backend: expected heads that n_kv_heads divides and an even head_dim up to {}, got {} heads, {} KV heads, "
                    "head_dim {}; use --device cpu",
                    kMostHeadDim, config.n_heads, config.n_kv_heads, config.head_dim));
  }
  if (type == DType::f64) throw Error("cuda backend: expected activations in f32, f16 or bf16, got f64; use --device cpu");
  device_ = std::make_shared<Device>(options.device, type, config.head_dim, options.graphs);
  name_ = name_of_device(options.device);
}

CudaBackend::~CudaBackend() = default;

Buffer CudaBackend::allocate(std::size_t n) { return device_->allocate(n, "activations and caches"); }

void CudaBackend::upload(void* to, const void* from_host, std::size_t n) {
  const auto held = device_->lock();
  device_->upload(to, from_host, n);
}

void CudaBackend::download(void* to_host, const void* from, std::size_t n) {
  const auto held = device_->lock();
  device_->download(to_host, from, n);
}

void CudaBackend::copy(void* to, const void* from, std::size_t n) {
  const auto held = device_->lock();
  device_->copy(to, from, n);
}

Weight CudaBackend::weight(DType type, int out, int in, const void* host) {
  KVSCOPE_ASSERT(out >= 0 && in >= 0);
  const std::size_t n = static_cast<std::size_t>(out) * static_cast<std::size_t>(in);
  if (type == DType::f64 || is_quantised(type)) {
    const HostNumbers numbers = numbers_for_kernels(type, host, n, dtype_);
    return weight(numbers.type, out, in, numbers.bytes.data());
  }
  Weight w{type, out, in, nullptr, device_->allocate(n * size_of(type), "the model's weights")};
  upload(w.storage.data(), host, n * size_of(type));
  w.data = w.storage.data();
  return w;
}

Weight CudaBackend::synthetic_weight(DType type, int out, int in, std::uint64_t seed) {
  KVSCOPE_ASSERT(out >= 0 && in >= 0 && type != DType::f64);
  const std::size_t n = static_cast<std::size_t>(out) * static_cast<std::size_t>(in);
  Weight w{type, out, in, nullptr, device_->allocate(n * size_of(type), "the model's weights")};
  w.data = w.storage.data();
  const auto held = device_->lock();
  synthesize(work(), type, static_cast<long>(n), seed, w.storage.data());
  return w;
}

void CudaBackend::from_double(void* to, std::span<const double> host) {
  with_host_type(dtype_, [&](auto t) {
    using T = decltype(t);
    std::vector<T> values(host.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = from_float<T>(static_cast<float>(host[i]));
    upload(to, values.data(), values.size() * sizeof(T));
  });
}

void CudaBackend::to_double(std::span<double> host, const void* from) {
  with_host_type(dtype_, [&](auto t) {
    using T = decltype(t);
    const auto values = std::make_unique_for_overwrite<T[]>(host.size());
    download(values.get(), from, host.size() * sizeof(T));
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<double>(to_float(values[i]));
  });
}

void CudaBackend::for_each(int n, const std::function<void(int)>& body) {
  pool_.parallel_for(n, 1, [&body](int begin, int end) {
    for (int i = begin; i < end; ++i) body(i);
  });
}

void CudaBackend::embed(const Weight& table, std::span<const int> ids, void* x) {
  for (const int id : ids) KVSCOPE_ASSERT(id >= 0 && id < table.out);
  const auto held = device_->lock();
  Upload up(*device_);
  const std::size_t place = up.add(ids);
  up.send();
  device_->flush();
  device_->writes(x, bytes(ids.size() * static_cast<std::size_t>(table.in)));
  cuda::embed(work(), dtype_, numbers(table), table.in, up.at<int>(place), static_cast<int>(ids.size()), x);
}

void CudaBackend::rms_norm(const void* x, const Weight& weight, double eps, int rows, void* y) {
  if (rows <= 0) return;
  const auto held = device_->lock();
  device_->flush();
  device_->writes(y, bytes(static_cast<std::size_t>(rows) * static_cast<std::size_t>(weight.in)));
  cuda::rms_norm(work(), dtype_, x, numbers(weight), weight.in, eps, rows, y);
}

void CudaBackend::linear(const void* x, const Weight& w, int rows, void* y, bool add) {
  if (rows <= 0 || w.out <= 0) return;
  const auto held = device_->lock();
  device_->flush();
  device_->writes(y, bytes(static_cast<std::size_t>(rows) * static_cast<std::size_t>(w.out)));
  if (rows <= kSkinnyRows) {
    skinny_linear(
        work(), dtype_,
        {.x = x, .ldx = w.in, .rows = rows, .w = numbers(w), .ldw = w.in, .out = w.out, .k = w.in, .y = y, .ldy = w.out, .add = add});
  } else {
    gemm(x, dtype_, numbers(w), w.out, w.in, rows, y, dtype_, add);
  }
}

void CudaBackend::silu_mul(const void* gate, const void* up, int rows, int width, void* y) {
  const auto held = device_->lock();
  const long n = static_cast<long>(rows) * width;
  device_->flush();
  device_->writes(y, bytes(static_cast<std::size_t>(n)));
  cuda::silu_mul(work(), dtype_, gate, up, n, y);
}

void CudaBackend::row_norms(const void* x, int rows, int width, double* out, bool reads_out) {
  if (rows <= 0) return;
  const auto held = device_->lock();
  const std::size_t size = static_cast<std::size_t>(rows) * sizeof(double);
  device_->flush();
  device_->writes(out, size);
  cuda::row_norms(work(), dtype_, x, rows, width, out);
  if (reads_out) device_->bring({{out, size}});
}

/// Cosines and sines of positions [0, n) on the device, made on the host in double as the CPU backend makes them.
void CudaBackend::reserve_rotations(int n) {
  if (n <= rope_.n_positions() && cosines_) return;
  rope_.reserve(n);
  const std::size_t size = static_cast<std::size_t>(rope_.n_positions()) * static_cast<std::size_t>(rope_.half()) * sizeof(float);
  cosines_ = device_->allocate(size, "rotary tables");
  sines_ = device_->allocate(size, "rotary tables");
  device_->upload(cosines_.data(), rope_.cosines(0), size);
  device_->upload(sines_.data(), rope_.sines(0), size);
}

void CudaBackend::rope(void* x, int rows, int n_heads, std::span<const int> positions, int table) {
  KVSCOPE_ASSERT(positions.size() == static_cast<std::size_t>(rows) && table == 0);  // models with more tables are not opened on a device
  if (rows == 0) return;
  int most = 0;
  for (const int p : positions) most = std::max(most, std::abs(p));
  const auto held = device_->lock();
  reserve_rotations(most + 1);
  Upload up(*device_);
  const std::size_t place = up.add(positions);
  up.send();
  device_->flush();
  device_->writes(x, row_bytes() * static_cast<std::size_t>(rows) * static_cast<std::size_t>(n_heads));
  cuda::rope(work(), dtype_, x, rows, n_heads, rope_.half(), up.at<int>(place), cosines_.as<float>(), sines_.as<float>());
}

void CudaBackend::wo_l1(std::span<const WoNormJob> jobs) {
  std::size_t n = 0;
  for (const WoNormJob& job : jobs) {
    KVSCOPE_ASSERT(job.wo->in == config_.q_dim() &&
                   job.out.size() == static_cast<std::size_t>(job.rows) * static_cast<std::size_t>(config_.n_heads));
    n += job.out.size();
  }
  if (n == 0) return;
  const auto held = device_->lock();
  device_->flush();
  auto* const results = device_->scratch_of<double>(Device::Use::results, n);
  double* result = results;
  for (const WoNormJob& job : jobs) {
    if (job.rows > 0)
      cuda::wo_l1(work(), dtype_, job.x, numbers(*job.wo), job.wo->out, config_.n_heads, config_.head_dim, job.rows, result);
    result += job.out.size();
  }
  std::vector<double> host(n);
  device_->download(host.data(), results, n * sizeof(double));
  scatter(host, jobs);
}

void CudaBackend::wo_rows(const void* x, int stride, const Weight& wo, int head, int rows, std::span<double> out) {
  KVSCOPE_ASSERT(wo.in == config_.q_dim() && out.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(wo.out));
  if (out.empty()) return;
  const auto held = device_->lock();
  device_->flush();
  auto* const result = device_->scratch_of<float>(Device::Use::results, out.size());
  const std::size_t offset = static_cast<std::size_t>(head) * static_cast<std::size_t>(config_.head_dim) * size_of(wo.dtype);
  skinny_linear(work(), dtype_,
                {.x = x,
                 .ldx = stride,
                 .rows = rows,
                 .w = {static_cast<const std::byte*>(wo.data) + offset, wo.dtype},
                 .ldw = wo.in,
                 .out = wo.out,
                 .k = config_.head_dim,
                 .y = result,
                 .ldy = wo.out,
                 .y_is_float = true});
  std::vector<float> host(out.size());
  device_->download(host.data(), result, host.size() * sizeof(float));
  std::copy(host.begin(), host.end(), out.begin());
}

}  // namespace kvscope::cuda
