// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/buffer.h"
#include "backend/slot_table.h"
#include "core/config.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/group_reduce.h"

namespace kvscope {

/// A weight matrix [out, in] or a vector [in] (out = 1), row-major, in its own dtype, of whole blocks in each row. A view or owned by
/// `storage`.
struct Weight {
  DType dtype = DType::f32;
  int out = 0;
  int in = 0;
  const void* data = nullptr;  // memory of the backend
  Buffer storage;              // empty where the backend reads the file's own bytes
};

/// Keys and values of one (lane, layer, KV head): backend memory, `dtype()` of the backend, one row of head_dim per slot.
/// A plain value: its owner hands it to Backend's kv functions.
struct HeadKv {
  Buffer k;  // [capacity, head_dim]
  Buffer v;  // [capacity, head_dim]
  int n_slots = 0;
  int capacity = 0;
  /// L2 norms of the first keys, as far as they have been asked for and where the backend keeps them. Code that writes to k itself clears
  /// them.
  mutable std::vector<double> key_norms = {};
  /// Where a backend leaves rows in place when others go (a device): slot i is row order[i] of k and v, and order[n_slots], ... are the
  /// rows that slots to come will take. [capacity]; empty: slot i is row i.
  std::vector<int> order = {};
  Buffer order_in_backend = {};  // the same, int [capacity]

  int row(int slot) const { return order.empty() ? slot : order[static_cast<std::size_t>(slot)]; }
};

/// A run of consecutive slots in backend memory.
struct KvSegment {
  const void* k = nullptr;  // [n, head_dim]
  const void* v = nullptr;  // [n, head_dim]
  int n = 0;
  const int* rows = nullptr;    // [n] backend memory: slot i is row rows[i] of k and v, which have more then; nullptr: row i
  const float* bias = nullptr;  // backend memory, by row: beside the job's; of a SlotTable only
};

/// Slots for which there is room when n have to find it: an eighth more, so that a cache that grows by one slot a step stays near what it
/// needs.
inline int grown_capacity(int capacity, int n) { return std::max({n, capacity + std::max(capacity / 8, 16), 1}); }

/// All slots of a cache, until something is done to it.
inline KvSegment slots_of(const HeadKv& kv) { return {kv.k.data(), kv.v.data(), kv.n_slots, kv.order_in_backend.as<int>()}; }

/// A slot beside those of a cache that is another one for every query head.
struct FurtherSlot {
  std::vector<double> logits;  // [group] host, bias inside; -inf: nothing is there
  std::vector<double> values;  // [group, head_dim] host
  Buffer probabilities;        // [group] of dtype() in backend memory, written
};

/// One query row over the slots of one KV head: softmax(z + bias) v for the `group` query heads that share it, z as LogitRule says.
struct AttentionJob {
  std::span<const KvSegment> slots;  // in order of pos
  const void* q = nullptr;           // [group, head_dim]
  const double* bias = nullptr;      // [n] host; nullptr: all zero
  void* out = nullptr;               // [group, head_dim]
  void* probabilities = nullptr;     // [group, n] of dtype(), or nullptr: not written
  void* logits = nullptr;            // [group, n] of dtype(), z without bias; or nullptr
  bool rotate_by_index = false;      // keys are stored unrotated: rotate the key in cache index j to j before use (q is already rotated)
  bool reads_out = false;            // a hint: the host is going to download `out`, as it does probabilities and logits
  bool rows_stay = false;            // a hint: it is not going to download those
  LogitRule rule = {};
  int rope = 0;                    // the table that rotate_by_index means
  FurtherSlot* further = nullptr;  // takes part in the softmax; probabilities and logits are without it
};

/// Sums over the M query rows of one prompt attention, for every slot j of every KV head. abar_r[j] is row r's probability of slot j, its
/// group of query heads reduced to one; 0 where row r does not see j. Host arrays [n_kv_heads, stride], stride >= first + M; a sum goes on
/// from what is there.
struct ColumnSums {
  GroupReduce reduce = GroupReduce::mean;
  std::size_t stride = 0;
  double* sum = nullptr;     // sum_j += sum over r of abar_r[j]; nullptr: not wanted
  double* sum_sq = nullptr;  // the same of abar_r[j]^2
  struct Decayed {
    double lambda = 1;
    double* sum = nullptr;  // d_j = lambda^M d_j + sum over r of lambda^(M - 1 - r) abar_r[j]
  };
  std::span<const Decayed> decayed = {};
  int hit_rows = 0;               // the last so many rows are looked at for hits: abar_r[j] >= 1 / (slots that row r sees)
  std::uint64_t* hits = nullptr;  // [n_kv_heads, ceil(hit_rows / 64), stride], written: bit b of word w is row M - hit_rows + 64 w + b
};

/// Probability outside a row's first `sinks` and last `recent` slots, summed over the rows and the group.
struct OutsideSum {
  int sinks = 0, recent = 0;
  double* sum = nullptr;  // [n_kv_heads] host, goes on from what is there
};

/// Causal attention of M consecutive query rows of one layer, all heads, over the keys seen so far (their own included).
struct PromptAttentionJob {
  std::span<const std::vector<KvSegment>> slots;  // [n_kv_heads], each at least first + M slots long
  int first = 0;                  // position of the first query row; row r sees slots [0, first + r], of them those of the layer's window
  int rows = 0;                   // M
  const void* q = nullptr;        // [M, n_heads, head_dim], rotated
  void* out = nullptr;            // [M, n_heads, head_dim]
  int probability_rows = 0;       // how many of the last rows get their probabilities written
  void* probabilities = nullptr;  // [n_heads, probability_rows, first + M] of dtype(), zero for what a row does not see
  int logit_rows = 0;
  void* logits = nullptr;  // [n_heads, logit_rows, first + M] of dtype(), -inf for what a row does not see
  std::span<const ColumnSums> columns = {};
  std::span<const OutsideSum> outside = {};
  LayerConfig layer = {};  // its rule of logits and its window
  /// Given: columns and outside may be there only when this is called, by this attend_prompt(), the next one or finish_sums(). What they
  /// point to has to stay until then.
  std::function<void()> sums_done = {};
  int first_slot(int row) const { return layer.first_seen(first + row); }
};

/// For every i in `from` the place in `to` of the j with the largest cos(k_i, k_j), of equal ones the first, and that cosine: made in
/// double, 0 where a vector is zero. by_product: the same with k_i . k_j.
struct NearestJob {
  const HeadKv* kv = nullptr;
  std::span<const int> from, to;  // to: empty: all slots that are not in `from` (there are some); places are slots then
  std::span<int> places;          // [from] host
  std::span<double> cosines;      // [from] host; or products
  bool by_product = false;
};

/// n rows to places one after the other.
struct RowsJob {
  void* to = nullptr;
  const void* from = nullptr;
  int n = 0;
};

/// Key rows of some slots.
struct KeyRowsJob {
  const HeadKv* kv = nullptr;
  std::span<const int> slots;
  std::span<double> out;  // [slots, head_dim] host
};

/// row `target` of k (and v) becomes scale * sum_i weights[i] * row members[i]; the other rows stay.
struct CombineJob {
  HeadKv* kv = nullptr;
  int target = 0;
  std::span<const int> members;
  std::span<const double> key_weights;  // empty: keys stay
  double key_scale = 1.0;
  std::span<const double> value_weights;  // empty: values stay
};

/// Slots that leave a cache. No two jobs of one call for the same cache.
struct RemovalJob {
  HeadKv* kv = nullptr;
  std::span<const int> gone = {};  // ascending
};

/// sum over the output dimension of |x[g] W_O^(g)|, per query head.
struct WoNormJob {
  const void* x = nullptr;     // [rows, n_heads, head_dim]
  const Weight* wo = nullptr;  // [dim, n_heads * head_dim]
  int rows = 0;
  std::span<double> out = {};  // [rows, n_heads] host
};

/// The primitives the runtime is made of. Policy-free: kernels know bias, coefficients and slot lists, never why.
/// Activations are row-major arrays of dtype() in backend memory. Functions may return before the work is done (devices) but keep their
/// order; download() waits. Every function is deterministic for any number of threads. A row's result never depends on the other rows of a
/// call, but for linear() of more than 32 rows on a CUDA device: there it may depend, in its last bits, on how many they are.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;  // for people: "cpu, AVX-512, 2 threads"
  virtual DType dtype() const = 0;       // of activations and caches
  virtual Buffer allocate(std::size_t bytes) = 0;
  virtual void upload(void* to, const void* from_host, std::size_t bytes) = 0;
  virtual void download(void* to_host, const void* from, std::size_t bytes) = 0;
  /// A hint: the host is going to download these, whole or piece by piece, before they are written again.
  struct Area {
    const void* data = nullptr;
    std::size_t bytes = 0;
  };
  virtual void expect_downloads(std::span<const Area> /*areas*/) {}
  /// Between two places of backend memory that do not overlap.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Rows of so many bytes, each `stride` rows behind the one before it. They may neither overlap nor depend on each other.
  virtual void copy_rows(std::span<const RowsJob> jobs, std::size_t row_bytes, int stride) {
    const std::size_t step = row_bytes * static_cast<std::size_t>(stride);
    for (const RowsJob& job : jobs)
      for (std::size_t i = 0; i < static_cast<std::size_t>(job.n); ++i)
        copy(static_cast<std::byte*>(job.to) + row_bytes * i, static_cast<const std::byte*>(job.from) + step * i, row_bytes);
  }
  /// Weights as the file has them: F32, F16, BF16 and quantised ones (on a device: of device_blocks.h) stay so in memory. `host` must
  /// outlive the result where the backend keeps a view.
  virtual Weight weight(DType dtype, int out, int in, const void* host) = 0;
  /// A weight for measuring speed: numbers that look random (synthetic.h), about 0.018 in size, the same on every backend; f32, f16, bf16,
  /// or blocks (has_synthetic_blocks()) in rows of whole chunks (device_blocks.h).
  virtual Weight synthetic_weight(DType dtype, int out, int in, std::uint64_t seed) = 0;
  /// Values given in host doubles to backend dtype and back (n numbers).
  virtual void from_double(void* to, std::span<const double> host) = 0;
  virtual void to_double(std::span<double> host, const void* from) = 0;

  /// body(i) for every i in [0, n), perhaps at the same time on several host threads. Backend functions may be called inside, on memory
  /// that no other body touches.
  virtual void for_each(int n, const std::function<void(int)>& body) = 0;
  /// Threads of for_each() that do the work of what is called inside themselves, each on what its own caches hold; 0: a device does it, and
  /// does it best in few large calls.
  virtual int workers() const = 0;

  /// Rows of a prompt that it does best in one go; a run can be stopped between them, and between their layers.
  virtual int prompt_rows() const = 0;

  // ---- rows: x [M, width]
  virtual void embed(const Weight& table, std::span<const int> ids, void* x) = 0;                 // x [M, table.in]
  virtual void rms_norm(const void* x, const Weight& weight, double eps, int rows, void* y) = 0;  // y = x / rms(x) * weight
  virtual void linear(const void* x, const Weight& w, int rows, void* y, bool add) = 0;           // y (+)= x w^T
  virtual void silu_mul(const void* gate, const void* up, int rows, int width, void* y) = 0;      // y = silu(gate) * up
  /// ||x||_2 of every row [rows, width], made in double, into backend memory [rows]. reads_out: a hint, the host is going to download them
  /// now.
  virtual void row_norms(const void* x, int rows, int width, double* out, bool reads_out) = 0;
  /// Rotary embedding, half-split layout (Hugging Face), in place: x [M, n_heads, head_dim]; row r by positions[r] (negative: back), with
  /// a table of ModelConfig::ropes (without its gain).
  virtual void rope(void* x, int rows, int n_heads, std::span<const int> positions, int table = 0) = 0;

  // ---- rows of models that not every backend runs: Error where this one does not
  /// y = gelu(gate) * up, gelu in its tanh form: gelu(x) = x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3))).
  virtual void gelu_mul(const void* /*gate*/, const void* /*up*/, int /*rows*/, int /*width*/, void* /*y*/) { lacks("GELU"); }
  /// x [M, row.in] += row
  virtual void add_to_rows(void* /*x*/, const Weight& /*row*/, int /*rows*/) { lacks("biases"); }
  /// The first numbers of every row: x [M, width], x[r][i] *= factor for i < first.
  virtual void scale(void* /*x*/, int /*rows*/, int /*width*/, int /*first*/, double /*factor*/) { lacks("scales"); }
  /// y += factor x
  virtual void add_scaled(void* /*y*/, const void* /*x*/, std::size_t /*n*/, double /*factor*/) { lacks("norms after a sum"); }

  // ---- attention
  virtual void attend(std::span<const AttentionJob> jobs) = 0;
  virtual void attend_prompt(const PromptAttentionJob& job) = 0;
  /// What attend_prompt() has left for later.
  virtual void finish_sums() {}

  // ---- slots
  virtual HeadKv make_kv(int capacity) = 0;
  /// The same slots in memory of their own, which has room for `capacity` slots, if not for more; rows are in order.
  virtual HeadKv copy_kv(const HeadKv& kv, int capacity) = 0;
  HeadKv clone_kv(const HeadKv& kv) { return copy_kv(kv, kv.n_slots); }
  /// Until slots go the next time, slot i is row i: for callers that read or write rows of k and v themselves.
  void in_order(HeadKv& kv) {
    if (!kv.order.empty()) kv = copy_kv(kv, kv.capacity);
  }
  virtual void append_kv(HeadKv& kv, const void* k, const void* v, int n) = 0;  // n rows [n, head_dim], grows if needed
  /// The token of a step: row h of k and v [heads, head_dim], which are no cache's rows, comes to the end of each cache.
  virtual void append_rows(std::span<HeadKv* const> heads, const void* k, const void* v) = 0;
  virtual void remove_slots(std::span<const RemovalJob> jobs) = 0;
  void remove_slots(HeadKv& kv, std::span<const int> gone) {
    const RemovalJob job{.kv = &kv, .gone = gone};
    remove_slots({&job, 1});
  }
  virtual void combine(std::span<const CombineJob> jobs) = 0;  // in order
  /// nullptr: the host keeps account of slots and statistics.
  virtual std::unique_ptr<SlotTable> keep_slots(const SlotTable::Setup& /*setup*/) { return nullptr; }
  /// cos(k_i, k_j) for i in from, j in to, result [from, to] in host doubles; 0 where a vector is zero.
  virtual void cosines(const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<double> out) = 0;
  /// A device does best with the questions of many heads in one call.
  virtual void nearest(std::span<const NearestJob> jobs) = 0;
  virtual void key_rows(std::span<const KeyRowsJob> jobs) = 0;
  /// Key rows as host doubles [n_slots, head_dim].
  virtual void keys(const HeadKv& kv, std::span<double> out) = 0;

  /// The norm behind CriticalKV's perturbation (paper, section 3) and local_l1_wo. A device waits once for all jobs.
  virtual void wo_l1(std::span<const WoNormJob> jobs) = 0;
  void wo_l1(const void* x, const Weight& wo, int rows, std::span<double> out) {
    const WoNormJob job{x, &wo, rows, out};
    wo_l1({&job, 1});
  }
  /// x W_O^(g) of one query head g: x rows of head_dim, `stride` elements apart, wo [dim, n_heads * head_dim] -> host [rows, dim].
  virtual void wo_rows(const void* x, int stride, const Weight& wo, int head, int rows, std::span<double> out) = 0;

 private:
  /// The second line of defence: who opens a model says so before (devices.h).
  [[noreturn]] void lacks(const char* what) const { throw Error(name() + ": it has no " + what + "; use --device cpu"); }
};

struct CpuOptions {
  int n_threads = 0;  // 0: one per core
};

/// float32 (SIMD picked at run time) or float64, the same code. Throws Error for other dtypes. The config gives head counts and rope
/// tables.
std::unique_ptr<Backend> make_cpu_backend(DType dtype, const ModelConfig& config, const CpuOptions& options = {});

/// What this machine and this program have of CUDA.
struct CudaStatus {
  bool usable = false;
  std::string why_not;          // not usable: a sentence without full stop, "no NVIDIA driver is installed"
  std::string device;           // "NVIDIA H200"
  int capability = 0;           // 90: compute capability 9.0
  int driver = 0, runtime = 0;  // 13000: CUDA 13.0
  std::size_t total_bytes = 0, free_bytes = 0;
};
/// Never throws and leaves no device memory taken.
CudaStatus cuda_status();

struct CudaOptions {
  int device = 0;
  int n_threads = 0;             // host threads of for_each(); 0: one per core
  std::size_t needed_bytes = 0;  // of device memory: the least that the caller is going to take
  /// Launches that come again in the same form are started as CUDA graphs. No result depends on it. The environment variable
  /// KVSCOPE_CUDA_GRAPHS=0 says no for the whole program.
  bool graphs = true;
};

/// One CUDA device; dtype f32, f16 or bf16 of activations and caches, sums in f32 or more. Throws Error with the reason where that cannot
/// be: no module, no driver, no device, shapes or too little memory ("needs X GiB, Y free: ...").
std::unique_ptr<Backend> make_cuda_backend(DType dtype, const ModelConfig& config, const CudaOptions& options = {});

}  // namespace kvscope
