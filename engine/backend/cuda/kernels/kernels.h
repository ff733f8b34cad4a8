// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the .cu files can do: each function adds launches of kernels to what is gathered (work.h). Pointers are device memory unless they
// say host. `type` is the dtype of activations and caches (f32, f16, bf16); sums are made in f32 or double, always in the same order.
// Launches are compared by the bytes of their arguments: in structs that kernels take by value a `no_padding` fills what would be a hole.

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>

#include "backend/slot_table.h"
#include "core/dtype.h"

namespace kvscope::cuda {

class Work;

/// A matrix or vector of weights in its own dtype.
struct Numbers {
  const void* data = nullptr;
  DType type = DType::f32;
};

// ---- rows.cu
void embed(Work& work, DType type, Numbers table, int width, const int* ids, int rows, void* x);
void rms_norm(Work& work, DType type, const void* x, Numbers weight, int width, double eps, int rows, void* y);
void silu_mul(Work& work, DType type, const void* gate, const void* up, long n, void* y);
/// out [rows] = the L2 norm of every row [rows, width], added up in double.
void row_norms(Work& work, DType type, const void* x, int rows, int width, double* out);
/// x [rows, n_heads, 2 * half] in place; cosines, sines [positions, half] of |positions[r]|.
void rope(Work& work, DType type, void* x, int rows, int n_heads, int half, const int* positions, const float* cosines, const float* sines);
void convert(Work& work, Numbers from, long n, DType to_type, void* to);
/// x = high + middle + low, each bf16, exact to 24 bits of mantissa; n numbers each, one array after the other.
void split_to_bf16(Work& work, const float* x, long n, void* parts);
/// The n numbers of a synthetic weight (backend/synthetic.h).
void synthesize(Work& work, DType type, long n, std::uint64_t seed, void* to);
/// One copy inside device memory.
struct CopyJob {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};
/// All at once: they may neither overlap nor depend on each other.
void copy_all(Work& work, const CopyJob* jobs, int n);

// ---- linear.cu
/// y [rows, out] (+)= x [rows, k] w [out, k]^T, for few rows. Strides count elements. A row's sums depend on k alone.
struct SkinnyArgs {
  const void* x = nullptr;
  long ldx = 0;
  int rows = 0;
  Numbers w;
  long ldw = 0;
  int out = 0, k = 0;
  void* y = nullptr;  // of `type`; f32 where y_is_float
  long ldy = 0;
  bool add = false;
  bool y_is_float = false;
};
void skinny_linear(Work& work, DType type, const SkinnyArgs& args);
/// out [rows, n_heads] = sum over o of |x[r, g] w[o, g]|: x [rows, n_heads, d], w [out, n_heads * d].
void wo_l1(Work& work, DType type, const void* x, Numbers w, int out, int n_heads, int d, int rows, double* result);

// ---- block_rows.cu: weights that stay in blocks (backend/device_blocks.h); how they lie in memory: blocks.h
struct BlockMatrix {
  const void* data = nullptr;
  DType type = DType::q4_k;
  int out = 0, in = 0;
};
/// to = the blocks as a file has them, in the order of a device; as many bytes.
void arrange_blocks(Work& work, const BlockMatrix& shape, const void* from, void* to);
/// Columns [first, first + width) of some rows, multiples of 4.
struct BlockRows {
  const int* ids = nullptr;  // [rows]; nullptr: first_row, first_row + 1, ...
  long first_row = 0;
  int rows = 0, first = 0, width = 0, no_padding = 0;
};
/// to [rows, width] = those numbers, each as dequantise() makes it, then rounded to the type.
void decode_blocks(Work& work, const BlockMatrix& m, const BlockRows& rows, DType to_type, void* to);
/// The blocks of a synthetic weight (backend/synthetic.h), as a file would have them.
void synthesize_blocks(Work& work, DType type, long blocks, std::uint64_t seed, void* to);

// ---- block_products.cu
/// y [rows, out] (+)= x [rows, in] w^T for few rows; x 16-byte aligned. A row's sums depend on w.in alone. From compute capability 8.0 on.
struct BlockProductArgs {
  const void* x = nullptr;
  int rows = 0;
  BlockMatrix w;
  void* y = nullptr;
  bool add = false;
};
void block_linear(Work& work, DType type, const BlockProductArgs& args);

// ---- attention.cu: one query row over the slots of one KV head
struct Segment {
  const void* k = nullptr;
  const void* v = nullptr;
  const int* key_rows = nullptr;  // row of its i-th slot in k; nullptr: i
  const int* value_rows = nullptr;
  const float* bias = nullptr;  // by row, beside the job's
  int begin = 0;                // its first slot
};
struct DecodeJob {
  const void* q = nullptr;        // [group, d]
  const float* bias = nullptr;    // [n] or nullptr
  void* out = nullptr;            // [group, d]
  void* probabilities = nullptr;  // [group, n] or nullptr
  void* logits = nullptr;         // [group, n] or nullptr
  // a slot beside those, another one for every query head: logits [group], values [group, d]; nullptr: none
  const float* further = nullptr;
  void* further_probabilities = nullptr;  // [group]
  int n = 0;
  int first_segment = 0, n_segments = 0;
  int first_item = 0, n_items = 0;  // chunks of slots
  long raw = 0;                     // where its biased logits [group, n] are in DecodeArgs::raw
};
struct DecodeItem {
  int job = 0, chunk = 0;
};
struct DecodeArgs {
  const DecodeJob* jobs = nullptr;
  const Segment* segments = nullptr;
  const DecodeItem* items = nullptr;
  int n_jobs = 0, n_items = 0, group = 0, d = 0;
  float* raw = nullptr;      // logits with bias of the jobs that want probabilities
  float* partial = nullptr;  // [n_items, group, d] sums of values of a chunk
  float* tops = nullptr;     // [n_items + n_jobs, group] largest logit of a chunk, then of a job
  float* sums = nullptr;     // [n_items + n_jobs, group] sum of exp(logit - top)
};
inline constexpr int kChunkSlots = 128;
void decode_attention(Work& work, DType type, const DecodeArgs& args, bool any_probabilities);
/// out [n, d] = the keys of the segments, slot j rotated to position j.
void rotate_keys(Work& work, DType type, const Segment* segments, int n_segments, int n, int d, const float* cosines, const float* sines,
                 void* out);

// ---- prompt.cu: many query rows of all heads
struct PromptArgs {
  const Segment* segments = nullptr;   // of all KV heads
  const int* first_segment = nullptr;  // [n_kv_heads + 1]
  int n_heads = 0, n_kv_heads = 0, d = 0, first = 0, rows = 0;
  int table = 0;            // not 0: by tiles on tensor cores, which look up rows in keys and values [n_kv_heads, table]
  const void* q = nullptr;  // [rows, n_heads, d]
  void* out = nullptr;      // [rows, n_heads, d]
  float* tops = nullptr;    // [n_heads, rows] written by prompt_attention, read by prompt_columns
  float* sums = nullptr;
  const void** keys = nullptr;  // for prompt_attention to write
  const void** values = nullptr;
};
inline constexpr int kPromptTable = 128;  // PromptArgs::table: a multiple of this
void prompt_attention(Work& work, DType type, const PromptArgs& args);

/// Sums over rows for one way to reduce a group; arrays start as zeros (hits too).
struct ColumnWant {
  bool largest = false;   // of the group's probabilities; else their sum
  double share = 1;       // times this
  double* sum = nullptr;  // [n_kv_heads, all]
  double* sum_sq = nullptr;
  int n_decayed = 0;
  const double* lambdas = nullptr;  // [n_decayed]
  double* decayed = nullptr;        // [n_decayed, n_kv_heads, all]
  int hit_rows = 0;
  std::uint64_t* hits = nullptr;  // [n_kv_heads, ceil(hit_rows / 64), all]
};
struct OutsideWant {
  int sinks = 0, recent = 0;
};
inline constexpr int kColumnTile = 32, kMostOutside = 4;
struct ColumnArgs {
  PromptArgs prompt;
  int row_begin = 0;  // the first row that somebody asks about
  int probability_rows = 0, logit_rows = 0;
  int n_sums = 0;  // arrays of sums in all wants
  const double* lambdas = nullptr;
  int n_lambdas = 0, no_padding = 0;  // in all wants
  const ColumnWant* wants = nullptr;
  int n_wants = 0;
  OutsideWant outside[kMostOutside];
  int n_outside = 0;
  double* outside_sums = nullptr;  // [n_kv_heads, column tiles, n_outside]
  void* probabilities = nullptr;   // [n_heads, probability_rows, all]
  void* logits = nullptr;          // [n_heads, logit_rows, all]
};
void prompt_columns(Work& work, DType type, const ColumnArgs& args);
// prompt_tiles.cu: the same where table is not 0; f16 or bf16, d a multiple of 8
void prompt_attention_tiles(Work& work, DType type, const PromptArgs& args);
void prompt_columns_tiles(Work& work, DType type, const ColumnArgs& args);
/// Bytes of shared memory that a block of them needs.
std::size_t shared_of_tiles(int d, int n_sums, int n_lambdas);

// ---- slots.cu
/// Rows leave the matrices k and v, in place; both begin with the first row that goes.
struct RemoveJob {
  void* k = nullptr;
  void* v = nullptr;
  int row_bytes = 0;
  int first_gone = 0, n_gone = 0;  // of `gone`: the i-th row that goes, less i
  int n = 0;                       // rows of k, and of v, that stay
};
/// row_bytes: what it can be divided by, that of every job can.
void remove_rows(Work& work, const RemoveJob* jobs, int n_jobs, int row_bytes, const int* gone);
/// Entries leave an order and follow those that stay.
struct OrderJob {
  int* order = nullptr;            // begins with the first entry that leaves
  int first_gone = 0, n_gone = 0;  // of `gone`: as above, then what those entries are
  int n = 0;                       // entries that stay
};
void move_back(Work& work, const OrderJob* jobs, int n_jobs, const int* gone);
/// Row i of `to` becomes row order[i] of `from`, another matrix.
struct GatherJob {
  void* to = nullptr;
  const void* from = nullptr;
  const int* order = nullptr;
  int row_bytes = 0;
  int n = 0;  // rows of `to`
};
/// They may neither overlap nor depend on each other; row_bytes: as of remove_rows().
void gather_rows(Work& work, const GatherJob* jobs, int n_jobs, int row_bytes);
struct CombineStep {
  void* rows = nullptr;  // keys or values [*, d]
  int target = 0, first_member = 0, n_members = 0, first_weight = 0;
  double scale = 1;
};
/// Steps of one cache run in order: those of cache c are [first_step[c], first_step[c + 1]).
void combine_slots(Work& work, DType type, const CombineStep* steps, const int* first_step, int n_caches, int d, const int* members,
                   const double* weights);
/// Keys of one cache, some of them compared with others.
struct PairJob {
  const void* k = nullptr;
  const int* rows = nullptr;  // [n] row of each slot in k; nullptr: in order
  int n = 0, n_from = 0, n_to = 0;
  const int *from = nullptr, *to = nullptr;  // to: nullptr: all slots but from[0]
  double* norms = nullptr;                   // [n], made by key_norms(); nearest() of single rows finds them by itself
  double* values = nullptr;                  // cosines [n_from, n_to], or the largest of each row [n_from]
  int* places = nullptr;                     // where that is
  bool places_are_slots = false;             // else in `to`
  bool by_product = false;                   // not divided by the norms
};
/// jobs in device memory; most_*: of the largest of them.
void key_norms(Work& work, DType type, const PairJob* jobs, int n_jobs, int most_n, int d);
void cosines(Work& work, DType type, const PairJob* jobs, int n_jobs, int most_from, int d);
void nearest(Work& work, DType type, const PairJob* jobs, int n_jobs, int most_from, int d);

// ---- slot_table.cu
/// A full cache and what is known of its slots (backend/slot_table.h). By row: what moves when a slot goes is the order alone.
struct TableHead {
  void *k = nullptr, *v = nullptr;  // [capacity, d]
  int* order = nullptr;             // [n] row of every slot
  double* cells = nullptr;          // [capacity] a statistic, or the last score
  int* positions = nullptr;         // [capacity] and behind them that of the next token
  void* attention = nullptr;        // [group, n]
  Displaced* displaced = nullptr;
  int n = 0;  // slots, that of the step's token with them
  int capacity = 0;
  int first = 0, end = 0;  // slots that may go
  // where rows of attention are the score, else nullptr
  double* rows = nullptr;  // [n_rows, capacity], row r in place r mod n_rows
  int* seen = nullptr;     // [capacity] how many of them the slot has seen; behind them how many there have been
  // where slots are joined, else nullptr
  const int* into = nullptr;       // [n_into] rows that may take what goes
  const char* collects = nullptr;  // [capacity] those are no others; nullptr: whatever stays
  int n_into = 0, no_padding = 0;
  int* votes = nullptr;          // [capacity]
  float* bias = nullptr;         // [capacity]
  const int* nearest = nullptr;  // which of `into` takes what went
  const double* cosine = nullptr;
  CombineStep* fusion = nullptr;  // [2] of keys and values
  int* members = nullptr;         // [2] of both
  double* weights = nullptr;      // [2] of both
  // where they are merged by predicted mass
  double threshold = 0;
  void* logits = nullptr;   // [group, n]
  double* extra = nullptr;  // [capacity]
  double* lS = nullptr;     // [capacity, group] statistics/log_ema.h
  int* times = nullptr;     // [capacity] it was scored
  double* merge = nullptr;  // [merge_doubles(group)] for a moment; first ln Z_g
};
inline int merge_doubles(int group) { return 5 * group + 6; }
struct TableRule {
  GroupReduce reduce = GroupReduce::mean;
  int group = 1, n_rows = 0, fills_mass = 0;
  double lambda = 1, vote_factor = 0;
  double ln_keep = 0, ln_new = 0;  // of the EMA
  const double* start = nullptr;   // [n_start] EmaStart; behind them 0
  long n_start = 0;
};
/// Row h of k and v becomes that of the last slot of heads[h].
void append_to_table(Work& work, const TableHead* heads, int n_heads, int row_bytes, const void* k, const void* v);
/// Where slots are merged by predicted mass, before anything goes: takes the step's logits in.
void predict_scores(Work& work, DType type, const TableHead* heads, int n_heads, const TableRule* rule);
void displace_lowest(Work& work, DType type, const TableHead* heads, int n_heads, std::optional<StatId> statistic, const TableRule* rule);
/// Then, where slots are joined and nearest() has found which: what is to be fused with it and how, for combine_slots().
void join_displaced(Work& work, const TableHead* heads, int n_heads, std::optional<StatId> statistic, const TableRule* rule);

}  // namespace kvscope::cuda
