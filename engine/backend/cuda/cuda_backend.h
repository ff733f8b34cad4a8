// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/rope.h"
#include "backend/cuda/device.h"
#include "core/thread_pool.h"

namespace kvscope::cuda {

/// Backend on one CUDA device: everything on one stream, in order, but for what the host is going to read (mirrors.h). Kernels are gathered
/// and started together, those of decode steps as graphs (work.h); that shows in no result. Sums are made in f32 or double in an order that
/// depends on shapes alone. linear() of more than kSkinnyRows rows is cuBLAS: there the last bits of a row may
/// depend on how many rows there are.
class CudaBackend final : public Backend {
 public:
  static constexpr int kSkinnyRows = 32;
  static constexpr int kMostHeadDim = 256;

  /// dtype f32, f16 or bf16. Throws Error where it, the shape or the device cannot be used.
  CudaBackend(DType dtype, const ModelConfig& config, const CudaOptions& options);
  ~CudaBackend() override;

  std::string name() const override { return name_; }
  DType dtype() const override { return dtype_; }
  Buffer allocate(std::size_t bytes) override;
  void upload(void* to, const void* from_host, std::size_t bytes) override;
  void download(void* to_host, const void* from, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  Weight weight(DType dtype, int out, int in, const void* host) override;
  Weight synthetic_weight(DType dtype, int out, int in, std::uint64_t seed) override;
  void from_double(void* to, std::span<const double> host) override;
  void to_double(std::span<double> host, const void* from) override;
  int workers() const override { return 0; }
  int prompt_rows() const override { return 512; }  // fewer rows leave matrix products waiting for their weights
  void for_each(int n, const std::function<void(int)>& body) override;

  void embed(const Weight& table, std::span<const int> ids, void* x) override;
  void rms_norm(const void* x, const Weight& weight, double eps, int rows, void* y) override;
  void linear(const void* x, const Weight& w, int rows, void* y, bool add) override;
  void silu_mul(const void* gate, const void* up, int rows, int width, void* y) override;
  void row_norms(const void* x, int rows, int width, double* out, bool reads_out) override;
  void rope(void* x, int rows, int n_heads, std::span<const int> positions, int table) override;

  void attend(std::span<const AttentionJob> jobs) override;
  void attend_prompt(const PromptAttentionJob& job) override;

  HeadKv make_kv(int capacity) override;
  HeadKv copy_kv(const HeadKv& kv, int capacity) override;
  void append_kv(HeadKv& kv, const void* k, const void* v, int n) override;
  void append_rows(std::span<HeadKv* const> heads, const void* k, const void* v) override;
  using Backend::remove_slots;
  void remove_slots(std::span<const RemovalJob> jobs) override;
  void combine(std::span<const CombineJob> jobs) override;
  void cosines(const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<double> out) override;
  void nearest(std::span<const NearestJob> jobs) override;
  void key_rows(std::span<const KeyRowsJob> jobs) override;
  void keys(const HeadKv& kv, std::span<double> out) override;

  using Backend::wo_l1;
  void wo_l1(std::span<const WoNormJob> jobs) override;
  void wo_rows(const void* x, int stride, const Weight& wo, int head, int rows, std::span<double> out) override;

 private:
  std::size_t bytes(std::size_t elements) const { return elements * size_of(dtype_); }
  std::size_t row_bytes() const { return bytes(static_cast<std::size_t>(config_.head_dim)); }
  Work& work() { return device_->work(); }
  void gemm(const void* x, DType x_type, Numbers w, int out, int in, int rows, void* y, DType y_type, bool add);
  void reserve_rotations(int n);
  void retire(HeadKv& kv, std::span<const int> gone, SlotChanges& changes);
  void add_steps(HeadKv& kv, std::span<const CombineJob* const> jobs, SlotChanges& changes);
  void sum_columns(const PromptAttentionJob& job, const PromptArgs& args);

  DType dtype_;
  ModelConfig config_;
  std::shared_ptr<Device> device_;
  std::string name_;
  ThreadPool pool_;
  cpu::RopeTable<float> rope_;
  Buffer cosines_, sines_;  // [rope_.n_positions(), head_dim / 2] f32
};

/// What came back of all jobs goes to each of them, in their order.
template <class Job>
void scatter(const std::vector<double>& all, std::span<const Job> jobs) {
  const double* at = all.data();
  for (const Job& job : jobs) {
    std::copy_n(at, job.out.size(), job.out.data());
    at += job.out.size();
  }
}

}  // namespace kvscope::cuda
