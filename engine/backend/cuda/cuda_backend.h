// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backend/backend.h"
#include "backend/cuda/attention.h"
#include "backend/cuda/cache_rows.h"
#include "backend/cuda/device.h"
#include "backend/cuda/host_numbers.h"
#include "backend/cuda/key_questions.h"
#include "backend/cuda/products.h"
#include "backend/cuda/rotations.h"
#include "backend/cuda/slot_table.h"
#include "core/thread_pool.h"

namespace kvscope::cuda {

/// Backend on one CUDA device: everything on one stream, in order, but for what the host is going to read (mirrors.h). Kernels are gathered
/// and started together, those of decode steps as graphs (work.h); that shows in no result. Sums are made in f32 or double in an order that
/// depends on shapes alone. linear() of more than kSkinnyRows rows is cuBLAS: there the last bits of a row may
/// depend on how many rows there are.
class CudaBackend final : public Backend {
 public:
  static constexpr int kMostHeadDim = 256;

  /// dtype f32, f16 or bf16. Throws Error where it, the shape or the device cannot be used.
  CudaBackend(DType dtype, const ModelConfig& config, const CudaOptions& options);

  std::string name() const override { return name_; }
  DType dtype() const override { return device_->type(); }
  Buffer allocate(std::size_t bytes) override;
  void upload(void* to, const void* from_host, std::size_t bytes) override;
  void download(void* to_host, const void* from, std::size_t bytes) override;
  void expect_downloads(std::span<const Area> areas) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void copy_rows(std::span<const RowsJob> jobs, std::size_t row_bytes, int stride) override;
  Weight weight(DType dtype, int out, int in, const void* host) override;
  Weight synthetic_weight(DType dtype, int out, int in, std::uint64_t seed) override;
  void from_double(void* to, std::span<const double> host) override { cuda::from_double(*device_, to, host); }
  void to_double(std::span<double> host, const void* from) override { cuda::to_double(*device_, host, from); }
  int workers() const override { return 0; }
  int prompt_rows() const override { return device_->prompt_rows(); }
  void for_each(int n, const std::function<void(int)>& body) override;

  void embed(const Weight& table, std::span<const int> ids, void* x) override;
  void rms_norm(const void* x, const Weight& weight, double eps, int rows, void* y) override;
  void linear(const void* x, const Weight& w, int rows, void* y, bool add) override { cuda::linear(*device_, x, w, rows, y, add); }
  void silu_mul(const void* gate, const void* up, int rows, int width, void* y) override;
  void row_norms(const void* x, int rows, int width, double* out, bool reads_out) override;
  void rope(void* x, int rows, int n_heads, std::span<const int> positions, int table) override;

  void attend(std::span<const AttentionJob> jobs) override { cuda::attend(*device_, config_.group(), *rotations_, jobs); }
  void attend_prompt(const PromptAttentionJob& job) override { cuda::attend_prompt(*device_, config_, *sums_, job); }
  void finish_sums() override;

  HeadKv make_kv(int capacity) override { return cuda::make_kv(*device_, capacity); }
  HeadKv copy_kv(const HeadKv& kv, int capacity) override { return cuda::copy_kv(*device_, kv, capacity); }
  void append_kv(HeadKv& kv, const void* k, const void* v, int n) override { cuda::append_kv(*device_, kv, k, v, n); }
  void append_rows(std::span<HeadKv* const> heads, const void* k, const void* v) override { cuda::append_rows(*device_, heads, k, v); }
  using Backend::remove_slots;
  void remove_slots(std::span<const RemovalJob> jobs) override { cuda::remove_slots(*device_, pool_, jobs); }
  void combine(std::span<const CombineJob> jobs) override { cuda::combine(*device_, jobs); }
  std::unique_ptr<SlotTable> keep_slots(const SlotTable::Setup& setup) override {
    if (!DeviceSlotTable::can(setup)) return nullptr;
    return std::make_unique<DeviceSlotTable>(device_, config_.n_kv_heads, config_.group(), setup);
  }
  void cosines(const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<double> out) override {
    cuda::cosines(*device_, kv, from, to, out);
  }
  void nearest(std::span<const NearestJob> jobs) override { cuda::nearest(*device_, jobs); }
  void key_rows(std::span<const KeyRowsJob> jobs) override { cuda::key_rows(*device_, jobs); }
  void keys(const HeadKv& kv, std::span<double> out) override { cuda::keys(*device_, kv, out); }

  using Backend::wo_l1;
  void wo_l1(std::span<const WoNormJob> jobs) override { cuda::wo_l1(*device_, config_, jobs); }
  void wo_rows(const void* x, int stride, const Weight& wo, int head, int rows, std::span<double> out) override {
    cuda::wo_rows(*device_, x, stride, wo, head, rows, out);
  }

 private:
  /// From blocks in device memory as a file has them.
  Weight arranged(DType type, int out, int in, const Buffer& as_in_file);

  ModelConfig config_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Rotations> rotations_;
  std::unique_ptr<SumsUnderWay> sums_;
  std::string name_;
  ThreadPool pool_;
};

}  // namespace kvscope::cuda
