// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/cuda_backend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cuda/check.h"
#include "backend/cuda/host_numbers.h"
#include "backend/device_blocks.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

std::string name_of_device(int index) {
  cudaDeviceProp p = {};
  check(cudaGetDeviceProperties(&p, index), "asking for the device's name");
  return fmt::format("cuda, {}, {:.0f} GiB", p.name, static_cast<double>(p.totalGlobalMem) / 0x1p30);
}

constexpr const char* kWeights = "the model's weights";

}  // namespace

CudaBackend::CudaBackend(DType type, const ModelConfig& config, const CudaOptions& options) : config_(config), pool_(options.n_threads) {
  if (config.n_heads <= 0 || config.n_kv_heads <= 0 || config.n_heads % config.n_kv_heads != 0 || config.head_dim <= 0 ||
      config.head_dim % 2 != 0 || config.head_dim > kMostHeadDim) {
    throw Error(
        fmt::format("cuda backend: expected heads that n_kv_heads divides and an even head_dim up to {}, got {} heads, {} KV heads, "
                    "head_dim {}; use --device cpu",
                    kMostHeadDim, config.n_heads, config.n_kv_heads, config.head_dim));
  }
  if (type == DType::f64) throw Error("cuda backend: expected activations in f32, f16 or bf16, got f64; use --device cpu");
  device_ = std::make_shared<Device>(options.device, type, config.head_dim, options.graphs);
  rotations_ = std::make_unique<Rotations>(*device_, config);
  sums_ = std::make_unique<SumsUnderWay>();
  name_ = name_of_device(options.device);
}

Buffer CudaBackend::allocate(std::size_t n) { return device_->allocate(n, "activations and caches"); }

void CudaBackend::upload(void* to, const void* from_host, std::size_t n) {
  const auto held = device_->lock();
  device_->upload(to, from_host, n);
}

void CudaBackend::download(void* to_host, const void* from, std::size_t n) {
  if (n == 0) return;
  if (const std::byte* const there = device_->brought(from, n)) {
    std::memcpy(to_host, there, n);
    return;
  }
  const auto held = device_->lock();
  device_->download(to_host, from, n);
}

void CudaBackend::expect_downloads(std::span<const Area> areas) {
  std::vector<Mirrors::Piece> pieces;
  for (const Area& area : areas)
    if (area.bytes > 0) pieces.push_back({area.data, area.bytes});
  const auto held = device_->lock();
  device_->bring(std::move(pieces));
}

void CudaBackend::copy(void* to, const void* from, std::size_t n) {
  const auto held = device_->lock();
  device_->copy(to, from, n);
}

void CudaBackend::copy_rows(std::span<const RowsJob> jobs, std::size_t row_bytes, int stride) {
  const auto held = device_->lock();
  device_->copy_rows(jobs, row_bytes, stride);
}

Weight CudaBackend::weight(DType type, int out, int in, const void* host) {
  KVSCOPE_ASSERT(out >= 0 && in >= 0);
  const std::size_t n = static_cast<std::size_t>(out) * static_cast<std::size_t>(in);
  if (device_->has_tensor_cores() && stays_in_blocks(type, out, in)) {
    const Buffer as_in_file = device_->allocate(bytes_of(type, n), kWeights);
    upload(const_cast<void*>(as_in_file.data()), host, as_in_file.bytes());
    return arranged(type, out, in, as_in_file);
  }
  if (type == DType::f64 || is_quantised(type)) {
    const HostNumbers numbers = numbers_for_kernels(type, host, n, dtype());
    return weight(numbers.type, out, in, numbers.bytes.data());
  }
  Weight w{type, out, in, nullptr, device_->allocate(n * size_of(type), kWeights)};
  upload(w.storage.data(), host, n * size_of(type));
  w.data = w.storage.data();
  return w;
}

Weight CudaBackend::arranged(DType type, int out, int in, const Buffer& as_in_file) {
  Weight w{type, out, in, nullptr, device_->allocate(as_in_file.bytes(), kWeights)};
  w.data = w.storage.data();
  const auto held = device_->lock();
  arrange_blocks(device_->work(), {.type = type, .out = out, .in = in}, as_in_file.data(), w.storage.data());
  return w;
}

Weight CudaBackend::synthetic_weight(DType type, int out, int in, std::uint64_t seed) {
  KVSCOPE_ASSERT(out >= 0 && in >= 0 && type != DType::f64);
  const std::size_t n = static_cast<std::size_t>(out) * static_cast<std::size_t>(in);
  if (is_quantised(type)) {
    if (!device_->has_tensor_cores() || !stays_in_blocks(type, out, in))
      throw Error(fmt::format("{}: expected synthetic weights of a type and shape that stay in blocks, got {} of {} x {}", name_,
                              name_of(type), out, in));
    const Buffer as_in_file = device_->allocate(bytes_of(type, n), kWeights);
    const auto held = device_->lock();
    synthesize_blocks(device_->work(), type, static_cast<long>(n / block_of(type).numbers), seed, const_cast<void*>(as_in_file.data()));
    return arranged(type, out, in, as_in_file);
  }
  Weight w{type, out, in, nullptr, device_->allocate(n * size_of(type), kWeights)};
  w.data = w.storage.data();
  const auto held = device_->lock();
  synthesize(device_->work(), type, static_cast<long>(n), seed, w.storage.data());
  return w;
}

void CudaBackend::for_each(int n, const std::function<void(int)>& body) {
  pool_.parallel_for(n, 1, [&body](int begin, int end) {
    for (int i = begin; i < end; ++i) body(i);
  });
}

void CudaBackend::finish_sums() {
  const auto held = device_->lock();
  sums_->finish();
}

void CudaBackend::embed(const Weight& table, std::span<const int> ids, void* x) {
  for (const int id : ids) KVSCOPE_ASSERT(id >= 0 && id < table.out);
  const auto held = device_->lock();
  Upload up(*device_);
  const std::size_t place = up.add(ids);
  up.send();
  device_->flush();
  device_->writes(x, device_->bytes(ids.size() * static_cast<std::size_t>(table.in)));
  cuda::embed(*device_, table, up.at<int>(place), static_cast<int>(ids.size()), x);
}

void CudaBackend::rms_norm(const void* x, const Weight& weight, double eps, int rows, void* y) {
  if (rows <= 0) return;
  const auto held = device_->lock();
  device_->flush();
  device_->writes(y, device_->bytes(static_cast<std::size_t>(rows) * static_cast<std::size_t>(weight.in)));
  cuda::rms_norm(device_->work(), dtype(), x, numbers(weight), weight.in, eps, rows, y);
}

void CudaBackend::silu_mul(const void* gate, const void* up, int rows, int width, void* y) {
  const auto held = device_->lock();
  const long n = static_cast<long>(rows) * width;
  device_->flush();
  device_->writes(y, device_->bytes(static_cast<std::size_t>(n)));
  cuda::silu_mul(device_->work(), dtype(), gate, up, n, y);
}

void CudaBackend::row_norms(const void* x, int rows, int width, double* out, bool reads_out) {
  if (rows <= 0) return;
  const auto held = device_->lock();
  const std::size_t size = static_cast<std::size_t>(rows) * sizeof(double);
  device_->flush();
  device_->writes(out, size);
  cuda::row_norms(device_->work(), dtype(), x, rows, width, out);
  if (reads_out) device_->bring({{out, size}});
}

void CudaBackend::rope(void* x, int rows, int n_heads, std::span<const int> positions, int table) {
  KVSCOPE_ASSERT(positions.size() == static_cast<std::size_t>(rows) && table == 0);  // models with more tables are not opened on a device
  if (rows == 0) return;
  int most = 0;
  for (const int p : positions) most = std::max(most, std::abs(p));
  const auto held = device_->lock();
  rotations_->reserve(most + 1);
  Upload up(*device_);
  const std::size_t place = up.add(positions);
  up.send();
  device_->flush();
  device_->writes(x, device_->row_bytes() * static_cast<std::size_t>(rows) * static_cast<std::size_t>(n_heads));
  cuda::rope(device_->work(), dtype(), x, rows, n_heads, rotations_->half(), up.at<int>(place), rotations_->cosines(), rotations_->sines());
}

}  // namespace kvscope::cuda
