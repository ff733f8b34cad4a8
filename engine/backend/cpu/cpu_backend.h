// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/memory.h"
#include "backend/cpu/rope.h"
#include "core/thread_pool.h"

namespace kvscope::cpu {

/// The reference implementation of Backend: T is the type of activations and caches (float or double). What runs in parallel is always
/// split between results (rows, columns, heads, jobs), never inside a sum.
template <class T>
class CpuBackend final : public Backend {
 public:
  CpuBackend(const ModelConfig& config, const CpuOptions& options, Isa isa);

  std::string name() const override;
  DType dtype() const override { return sizeof(T) == 4 ? DType::f32 : DType::f64; }
  Buffer allocate(std::size_t bytes) override { return allocate_aligned(bytes); }
  void upload(void* to, const void* from_host, std::size_t bytes) override;
  void download(void* to_host, const void* from, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  Weight weight(DType dtype, int out, int in, const void* host) override;
  Weight synthetic_weight(DType dtype, int out, int in, std::uint64_t seed) override;
  void from_double(void* to, std::span<const double> host) override;
  void to_double(std::span<double> host, const void* from) override;

  int workers() const override { return pool_.n_threads(); }
  int prompt_rows() const override { return 64; }  // activations of a row's layer stay in the caches
  void for_each(int n, const std::function<void(int)>& body) override {
    pool_.parallel_for(n, 1, [&body](int begin, int end) {
      for (int i = begin; i < end; ++i) body(i);
    });
  }

  void embed(const Weight& table, std::span<const int> ids, void* x) override;
  void rms_norm(const void* x, const Weight& weight, double eps, int rows, void* y) override;
  void linear(const void* x, const Weight& w, int rows, void* y, bool add) override;
  void silu_mul(const void* gate, const void* up, int rows, int width, void* y) override;
  void row_norms(const void* x, int rows, int width, double* out, bool reads_out) override;
  void rope(void* x, int rows, int n_heads, std::span<const int> positions, int table) override;
  void gelu_mul(const void* gate, const void* up, int rows, int width, void* y) override;
  void add_to_rows(void* x, const Weight& row, int rows) override;
  void scale(void* x, int rows, int width, int first, double factor) override;
  void add_scaled(void* y, const void* x, std::size_t n, double factor) override;

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
  void remove_rows(HeadKv& kv, std::span<const int> gone);
  Weight synthetic_blocks(DType type, int out, int in, std::uint64_t seed);
  bool linear_in_whole_numbers(const void* x, const Weight& w, int rows, void* y, bool add);
  void wo_l1_of(const void* x, const Weight& wo, int rows, std::span<double> out);
  void attend_one(const AttentionJob& job, Scratch& scratch);
  void nearest_of(const NearestJob& job);
  bool pack_keys(const PromptAttentionJob& job);
  void prompt_logits(const PromptAttentionJob& job, int head, int first_row, int rows, bool packed, T* z, long ldz);
  T logits_of(const LogitRule& rule, T* z, int n, const double* bias, T* logits) const;
  void add_further(FurtherSlot& slot, int head, T top, T& sum, T* out) const;
  void weigh_values(const PromptAttentionJob& job, int head, int first_row, int rows, const T* z, long row, T* out) const;
  void attend_rows(const PromptAttentionJob& job, int head, int first_row, int rows, bool packed, T* z, long row, T* sums);
  void prepare_column_sums(const PromptAttentionJob& job);
  void sum_columns_of_tile(const PromptAttentionJob& job, int kv_head, int tile, int rows, const T* z, long ldz, const T* sums);
  void sum_columns(const PromptAttentionJob& job);
  void combine_one(const CombineJob& job, std::vector<const T*>& rows);
  std::size_t width() const { return static_cast<std::size_t>(config_.head_dim); }

  ModelConfig config_;
  const Kernels<T>& kernels_;
  std::deque<RopeTable<T>> ropes_;
  ThreadPool pool_;
  std::vector<Scratch> scratch_;  // one per worker
  Scratch packed_keys_;           // of one attend_prompt call: [n_kv_heads, blocks, head_dim, lanes]
  Scratch tile_sums_;             // of one attend_prompt call: doubles [n_kv_heads, tiles, statistics, slots], see cpu_columns.cpp
};

/// Query rows of prompt attention that share one pass over keys and values. Where column sums are wanted, fewer for a large group, whose
/// probabilities of these rows stay in the cache together; the sums of a tile are made first, so their bits depend on it.
inline constexpr int kPromptRows = kColumnRows;
inline int prompt_tile_rows(bool sums_columns, int group) { return sums_columns ? std::clamp(48 / group, 1, kPromptRows) : kPromptRows; }

/// Result chunk of at least this many multiply-adds, so that small loops do not pay for threads.
inline constexpr double kMinimumWork = 16 * 1024;

/// A multiple of `tile` items that cost `work_per_item` each and together at least kMinimumWork.
int grain_for(double work_per_item, int tile);

/// make_cpu_backend with a chosen instruction set: for tests and benchmarks. `isa` of usable_isas().
std::unique_ptr<Backend> make_cpu_backend_for(DType dtype, const ModelConfig& config, const CpuOptions& options, Isa isa);

}  // namespace kvscope::cpu
