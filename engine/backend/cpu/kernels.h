// SPDX-License-Identifier: Apache-2.0
#pragma once

// The inner loops of the CPU backend, compiled once per instruction set. Plain pointers only: these tables are the whole border between
// code that needs a certain processor and code that runs everywhere. Nothing here allocates, throws or uses threads.

#include <cstddef>
#include <vector>

#include "core/dtype.h"

namespace kvscope::cpu {

enum class Isa { portable, avx2, avx2_vnni, avx512, avx512_vnni };

/// y[r][c] (+)= sum_i x[r][i] w[c][i]. Strides count elements. The sum of one (r, c) pair is always made in the same order: `lanes`
/// partial sums, lane l taking i = l, l + lanes, ...; then lanes are added in halves. So it depends on neither `rows` nor `cols`. Quantised
/// weights are decoded on the way, k in whole blocks: the sums have the bits of those over dequantised weights.
template <class T>
struct Dots {
  const T* x = nullptr;  // [rows, k]
  long ldx = 0;
  int rows = 0;
  const void* w = nullptr;  // [cols, k] of w_type
  DType w_type = DType::f32;
  long ldw = 0;
  int cols = 0;
  int k = 0;
  T* y = nullptr;  // [rows, cols]
  long ldy = 0;
  bool add = false;
  void* scratch = nullptr;  // kDotsScratch bytes, aligned to 64; only used where rows > kDirectRows or w is quantised
};

inline constexpr int kDirectRows = 12;  // up to here weights are converted in registers, beyond in a panel that stays in the L1 cache
inline constexpr std::size_t kDotsScratch = 512 * 1024;

/// y[r][c] (+)= sum_i x[r][i] w[c][i] with quantised weights, in products of whole numbers. whole_row() has made x of them: each number is
/// kept to 2^-22 of the largest in its 256 neighbours, so errors are of the size of float's own, but the bits are not those of dots(). Like
/// there a sum depends on neither `rows` nor `cols`.
struct WholeDots {
  const void* x = nullptr;  // [rows] of whole_bytes(k) each, made for w_type
  int rows = 0;
  const void* w = nullptr;  // [cols, k] of w_type
  DType w_type = DType::q8_0;
  int cols = 0;
  int k = 0;
  float* y = nullptr;  // [rows, cols]
  long ldy = 0;
  bool add = false;
  void* scratch = nullptr;  // whole_scratch(k) bytes, aligned to 64
};

/// Column sums of a tile of query rows. abar_r[j] = share * (sum or, where `largest`, maximum over g of factors[g][r] * x[g][r][j]),
/// everything in double. Sums are made over the rows in order and overwrite their array of n numbers; nullptr: not wanted.
template <class T>
struct ColumnTile {
  const T* x = nullptr;  // [group, rows, ldx]
  long ldx = 0;
  int group = 0;
  int rows = 0;                     // at most kColumnRows
  int n = 0;                        // columns, a multiple of kColumnStep
  const double* factors = nullptr;  // [group, rows]
  double share = 1;
  bool largest = false;
  double* sum = nullptr;     // of abar_r[j]
  double* sum_sq = nullptr;  // of abar_r[j]^2
  int n_decayed = 0;
  const double* lambdas = nullptr;  // [n_decayed]
  double* decayed = nullptr;        // [n_decayed, ld_decayed], of lambda^(rows - 1 - r) abar_r[j]
  long ld_decayed = 0;
  double* hits = nullptr;              // of 2^r where abar_r[j] >= thresholds[r]
  const double* thresholds = nullptr;  // [rows]
};

inline constexpr int kColumnRows = 12;
inline constexpr int kColumnStep = 16;

template <class T>
struct Kernels {
  Isa isa;
  const char* name;  // for people
  int lanes;         // of one vector

  void (*dots)(const Dots<T>& args);
  /// dots() against columns packed in blocks of `lanes`: packed[block][i][lane] = w[block * lanes + lane][i]. The same sums in the same
  /// order, so the same bits, but without the additions across a vector: for many rows and short k. y gets n_blocks * lanes columns.
  /// Only where packs(k).
  void (*dots_packed)(const T* x, long ldx, int rows, const T* packed, int n_blocks, int k, T* y, long ldy);
  bool (*packs)(int k);
  /// out[r][i] += sum_j p[r][j] v[j][i], j ascending, one rounding chain per (r, i). v [n, width] contiguous.
  void (*add_weighted_rows)(const T* p, long ldp, int rows, const T* v, int n, int width, T* out, long ldo);

  /// z = z * scale, stored to `logits` where asked; then z += bias where given (host doubles). Returns max z.
  T (*scale_bias_max)(T* z, int n, T scale, const double* bias, T* logits);
  /// z = cap * tanh(z * scale / cap).
  void (*soft_cap)(T* z, int n, T scale, T cap);
  /// z = exp(z - top). Returns the sum, made in lanes. The float exp is within 2 units in the last place where the result is normal.
  T (*exp_sum)(T* z, int n, T top);
  void (*divide)(const T* x, int n, T divisor, T* y);

  void (*convert)(const void* from, DType type, int n, T* to);
  /// sum x^2 in double.
  double (*sum_of_squares)(const T* x, int n);
  /// sum x and sum |x| in double.
  double (*sum)(const T* x, int n);
  double (*sum_of_sizes)(const T* x, int n);
  void (*column_sums)(const ColumnTile<T>& args);
  /// Largest x[i] y[i], NaN left out; -inf where there is none. And the first i from `begin` on with x[i] y[i] >= bound, n where there is
  /// none.
  double (*largest_product)(const double* x, const double* y, int n);
  int (*next_product)(const double* x, const double* y, int begin, int n, double bound);
  /// y = x * scale * w; scale in double, the products rounded to T once each.
  void (*scale_by_weight)(const T* x, double scale, const void* w, DType w_type, int n, T* y);
  /// y = gate / (1 + exp(-gate)) * up.
  void (*silu_mul)(const T* gate, const T* up, int n, T* y);
  /// y = gate / (1 + exp(-2 sqrt(2 / pi) (gate + 0.044715 gate^3))) * up.
  void (*gelu_mul)(const T* gate, const T* up, int n, T* y);
  /// Half-split rotation of one row: (a, b) -> (a c - b s, b c + a s), a = x[i], b = x[half + i]. In place allowed.
  void (*rotate)(const T* x, int half, const T* cosines, const T* sines, T* y);

  /// Whether weights of a type are multiplied as whole numbers: quantised ones by floats, where the processor has instructions for that.
  bool (*is_whole)(DType type) = [](DType) { return false; };
  std::size_t (*whole_bytes)(int k) = nullptr;
  std::size_t (*whole_scratch)(int k) = nullptr;
  void (*whole_row)(const T* x, int k, DType type, void* to) = nullptr;  // `to` aligned to 64
  void (*whole_dots)(const WholeDots& args) = nullptr;
};

/// Built in and able to run here, best last.
std::vector<Isa> usable_isas();
inline Isa best_isa() { return usable_isas().back(); }

template <class T>
const Kernels<T>& kernels(Isa isa);  // of usable_isas()

}  // namespace kvscope::cpu
